// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"path"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// MCPServer is an MCP server (streamable HTTP) whose tools the model may call.
type MCPServer struct {
	URL string `json:"url"`
	// Headers are sent to the server with each request. Their values are files.
	Headers []HeaderFile `json:"headers,omitempty"`
	// ForwardCaller is true if calls have a token of the registry that names the caller of the turn.
	ForwardCaller bool `json:"forwardCaller,omitempty"`
	// Allow and Deny are patterns of tools, as of path.Match. Without Allow, all tools are allowed.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	// Approval are patterns of the tools whose calls a person must approve.
	Approval []string `json:"approval"`
	// ApproveWrites is true if a person must also approve the calls of tools that the server does not mark as read-only.
	ApproveWrites bool `json:"approveWrites"`
	// Timeout bounds a call, 2 min by default.
	Timeout Duration `json:"timeout"`
	// Required is true if no turn may run without the server.
	Required bool `json:"required"`
}

// Limits of the tools of an agent.
const (
	maxTools    = 32
	maxPatterns = 64
)

// hasTools reports whether the model may call tools that a person may have to approve.
func (m *Model) hasTools() bool { return len(m.MCP)+len(m.Agents) > 0 || m.Discover != nil }

func (m *Model) validateTools(refuse func(field, format string, args ...any)) {
	if len(m.MCP) > maxTools || len(m.Agents) > maxTools {
		refuse("backend.model", "has %d MCP servers and %d agents, must have at most %d of each", len(m.MCP), len(m.Agents), maxTools)
	}
	seen := map[string]bool{}
	for i, server := range m.MCP {
		field := fmt.Sprintf("backend.model.mcp[%d]", i)
		if _, err := hosturl.Parse(server.URL); err != nil {
			refuse(field+".url", "%w", err)
		}
		if seen[server.URL] {
			refuse(field+".url", "names %q a second time", server.URL)
		}
		seen[server.URL] = true
		for _, h := range server.Headers {
			validateFile(field+".headers", h.File, refuse)
		}
		validatePatterns(field+".allow", server.Allow, refuse)
		validatePatterns(field+".deny", server.Deny, refuse)
		validatePatterns(field+".approval", server.Approval, refuse)
	}
	for i, agent := range m.Agents {
		field := fmt.Sprintf("backend.model.agents[%d]", i)
		name := agent.Namespace + "/" + agent.Name
		if agent.Namespace == "" || agent.Name == "" {
			refuse(field, "is %q, must have a namespace and a name", name)
		}
		if seen[name] {
			refuse(field, "names %q a second time", name)
		}
		seen[name] = true
	}
}

func validatePatterns(field string, patterns []string, refuse func(field, format string, args ...any)) {
	if len(patterns) > maxPatterns {
		refuse(field, "has %d patterns, must have at most %d", len(patterns), maxPatterns)
	}
	for i, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			refuse(fmt.Sprintf("%s[%d]", field, i), "is %q, must be a pattern such as update_*", pattern)
		}
	}
}
