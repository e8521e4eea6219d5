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

// Mount sets the endpoints. It must be called before the first request.
func (h *Handler) Mount(e Endpoints) { h.endpoints = e }

func (h *Handler) serveEndpoint(w http.ResponseWriter, r *http.Request) {
	next := h.endpoints.Agent
	if r.URL.Path == MCPPath {
		next = h.endpoints.MCP
	}
	if next == nil {
		h.refuse(w, r, refusalNoSuchPath)
		return
	}
	next.ServeHTTP(w, r)
}
