// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "net/http"

// MCPPath is the path of the MCP server.
const MCPPath = "/mcp"

// Endpoints are what the gateway itself serves, for requests of its own pod. They call
// agents and the registry through the gateway's Handler.
type Endpoints struct {
	// Agent is the directory as an A2A agent. It serves all paths but those of the
	// registry, of agents and of MCP. A nil Agent serves none.
	Agent http.Handler
	// MCP is the MCP server; nil for none.
	MCP http.Handler
}
