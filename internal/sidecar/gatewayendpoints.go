// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/directoryagent"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/mcpserver"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/version"
)

// newDirectoryAgent returns the directory agent, which the gateway serves at its root.
func newDirectoryAgent(e *environment, gateway http.Handler, limits *httpcall.Limits) *directoryagent.Handler {
	return directoryagent.New(directoryagent.Options{
		Registry: &registryclient.Client{Gateway: &inprocess.Transport{Handler: gateway}},
		Limits:   limits, Version: version.Get().Version, Log: e.log, Now: e.now,
	})
}

// newMCPServer returns the MCP server of the gateway, which calls agents through the gateway.
func newMCPServer(e *environment, gateway http.Handler, limits *httpcall.Limits) *mcpserver.Handler {
	h := mcpserver.New(mcpserver.Options{
		Gateway: &inprocess.Transport{Handler: gateway}, Limits: limits, Version: version.Get().Version, Log: e.log, Now: e.now,
		Observe: func(tool string, o mcpserver.Outcome) {
			e.heap.Working()
			e.metrics.ToolCalled(tool, string(o))
		},
	})
	e.metrics.Gauge("a2a_mcp_sessions", "Open sessions of the gateway's MCP server.", func() float64 { return float64(h.Sessions()) })
	return h
}
