// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"fmt"
	"path"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/kit/hosturl"
)

// MCPServer is an MCP server (streamable HTTP) whose tools the model may call.
type MCPServer struct {
	URL string `json:"url"`
	// Allow and Deny are patterns of tools, as of path.Match. Without Allow, all tools are allowed.
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	// Approval selects the tools whose calls a person must approve.
	Approval Approval `json:"approval"`
	// ApprovalNames are patterns of further tools whose calls a person must approve.
	ApprovalNames []string `json:"approvalNames"`
	// Timeout bounds a call, 2 min by default.
	Timeout Duration `json:"timeout"`
	// Required is true if no turn may run without the server.
	Required bool `json:"required"`
}

// Approval selects the tools whose calls a person must approve.
type Approval string

// The values of Approval.
const (
	// ApprovalNone selects none.
	ApprovalNone Approval = "None"
	// ApprovalAlways selects all tools.
	ApprovalAlways Approval = "Always"
	// ApprovalAnnotated selects the tools that the server does not mark as read-only.
	ApprovalAnnotated Approval = "Annotated"
)

// Approvals lists all values of Approval.
var Approvals = []Approval{ApprovalNone, ApprovalAlways, ApprovalAnnotated}

// Limits of the MCP servers of an agent.
const (
	maxMCPServers = 16
	maxPatterns   = 64
)

func (c *Chat) validateTools(refuse func(field, format string, args ...any)) {
	if len(c.MCP) > maxMCPServers {
		refuse("backend.chat.mcp", "has %d servers, must have at most %d", len(c.MCP), maxMCPServers)
	}
	seen := map[string]bool{}
	for i, server := range c.MCP {
		field := fmt.Sprintf("backend.chat.mcp[%d]", i)
		if _, err := hosturl.Parse(server.URL); err != nil {
			refuse(field+".url", "%w", err)
		}
		if seen[server.URL] {
			refuse(field+".url", "names %q a second time", server.URL)
		}
		seen[server.URL] = true
		if !slices.Contains(Approvals, server.Approval) {
			refuse(field+".approval", "is %q, must be one of %q", server.Approval, Approvals)
		}
		for name, patterns := range map[string][]string{"allow": server.Allow, "deny": server.Deny, "approvalNames": server.ApprovalNames} {
			validatePatterns(field+"."+name, patterns, refuse)
		}
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
