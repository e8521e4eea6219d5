// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import "net/http"

// MCPPath is the path of the MCP server.
const MCPPath = "/mcp"

// Endpoints are the handlers that the gateway itself serves to its own pod. They call agents
// and the registry through the gateway's Handler.
type Endpoints struct {
	// Agent is the directory as an A2A agent. It serves all paths except those of the registry,
	// of agents and of MCP. If it is nil, these paths are not served.
	Agent http.Handler
	// MCP is the MCP server, or nil to serve none.
	MCP http.Handler
}
