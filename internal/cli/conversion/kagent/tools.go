// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"cmp"
	"regexp"
	"slices"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// maxModelTools bounds spec.model.tools, and maxPatterns the patterns of one MCP server.
const (
	maxModelTools = 32
	maxPatterns   = 64
)

var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_./*-]{1,128}$`)

// tools converts the tools of a declarative Agent, and returns their names.
func (k *conversionOf) tools(d *declarativeAgent, model *a2av1alpha1.AgentModel) []string {
	var names []string
	for i := range d.Tools {
		tool := &d.Tools[i]
		here := func(more ...any) []any { return append([]any{"spec", "declarative", "tools", i}, more...) }
		isAgent := tool.Agent != nil && (tool.Type == "Agent" || tool.Type == "" || tool.McpServer == nil)
		switch {
		case isAgent:
			k.LeftOut("the tool is an agent", conversion.NothingToDo, here("mcpServer")...)
			k.LeftOut("each task of a sub-agent has the context of its parent task", conversion.NothingToDo, here("isolateSessions")...)
			k.LeftOut("the sidecar calls agents with an identity of its own", conversion.NothingToDo, here("headersFrom")...)
			k.agentTool(model, tool.Agent.Name, tool.Agent.Namespace, here())
			names = append(names, tool.Agent.Name)
		case tool.McpServer != nil:
			k.LeftOut("the tool is an MCP server", conversion.NothingToDo, here("agent")...)
			k.LeftOut("the tool is an MCP server", conversion.NothingToDo, here("isolateSessions")...)
			names = append(names, tool.McpServer.ToolNames...)
			k.mcpTool(model, tool, here)
		default:
			k.LeftOut("the tool has neither mcpServer nor agent", conversion.NothingToDo, here()...)
		}
	}
	k.Drop("spec", "declarative", "tools")
	return names
}

// agentTool adds another agent as a tool.
func (k *conversionOf) agentTool(model *a2av1alpha1.AgentModel, name, namespace string, path []any) {
	to := &a2av1alpha1.AgentTool{Name: conversion.AgentName(name)}
	if namespace != "" && namespace != k.from.Namespace {
		to.Namespace = namespace
		k.Check("an Agent admits the callers of its own namespace, and others by rules", "admit this Agent in spec.access of the Agent "+namespace+"/"+to.Name, path...)
	}
	if len(model.Tools) >= maxModelTools || slices.ContainsFunc(model.Tools, func(t a2av1alpha1.ModelTool) bool {
		return t.Agent != nil && t.Agent.Name == to.Name && t.Agent.Namespace == to.Namespace
	}) {
		k.LeftOut("a model has at most 32 tools, and each agent once", conversion.NothingToDo, path...)
		return
	}
	model.Tools = append(model.Tools, a2av1alpha1.ModelTool{Agent: to})
	k.Drop(path...)
}

// mcpTool adds an MCP server as tools.
func (k *conversionOf) mcpTool(model *a2av1alpha1.AgentModel, t *tool, here func(...any) []any) {
	from := t.McpServer
	k.LeftOut("the sidecar forwards no headers of the caller to tools", "set spec.model.tools[].mcp.forwardCaller, and let the server verify the token of the registry", here("mcpServer", "allowedHeaders")...)
	headers := headersFrom(k.Source, t.HeadersFrom, true, here("headersFrom")...)
	s := k.servers[serverKey(from.Kind, cmp.Or(from.Namespace, k.from.Namespace), from.Name)]
	if s == nil {
		what := cmp.Or(from.Kind, kindRemoteServer) + " " + cmp.Or(from.Namespace, k.from.Namespace) + "/" + from.Name
		k.LeftOut("the manifests have no "+what, "add it to the manifests, or set spec.model.tools[].mcp.url by hand", here()...)
		return
	}
	to, no := k.mcp(s)
	if no != nil {
		k.LeftOut(no.because, no.do, here()...)
		return
	}
	for _, h := range headers { // the headers of the tool replace those of the server
		to.HeadersFrom = slices.DeleteFunc(to.HeadersFrom, func(o a2av1alpha1.HeaderFromSecret) bool { return o.Name == h.Name })
		to.HeadersFrom = append(to.HeadersFrom, h)
	}
	to.Allow = k.patterns(from.ToolNames, here("mcpServer", "toolNames"))
	to.Approval = k.patterns(from.RequireApproval, here("mcpServer", "requireApproval"))
	k.addMCP(model, to, here())
	k.Drop(here()...)
}

// addMCP adds an MCP server, or joins it with an entry for the same server.
func (k *conversionOf) addMCP(model *a2av1alpha1.AgentModel, to *a2av1alpha1.MCPTool, path []any) {
	for _, other := range model.Tools {
		if o := other.MCP; o != nil && o.URL == to.URL && o.Port == to.Port {
			if len(o.Allow) == 0 || len(to.Allow) == 0 {
				o.Allow = nil
			} else {
				o.Allow = joined(o.Allow, to.Allow)
			}
			o.Approval = joined(o.Approval, to.Approval)
			return
		}
	}
	if len(model.Tools) >= maxModelTools {
		k.LeftOut("a model has at most 32 tools", "split the agent", path...)
		return
	}
	model.Tools = append(model.Tools, a2av1alpha1.ModelTool{MCP: to})
}

func joined(a, b []a2av1alpha1.ToolPattern) []a2av1alpha1.ToolPattern {
	for _, p := range b {
		if !slices.Contains(a, p) && len(a) < maxPatterns {
			a = append(a, p)
		}
	}
	return a
}

// patterns returns the names of tools as patterns, and reports names that are none.
func (k *conversionOf) patterns(names []string, path []any) []a2av1alpha1.ToolPattern {
	var out []a2av1alpha1.ToolPattern
	for i, name := range names {
		if !toolPattern.MatchString(name) || len(out) == maxPatterns {
			k.LeftOut("a pattern has letters, digits and _ . / * -, and a server has at most 64", "correct the name at the server", append(slices.Clone(path), i)...)
			continue
		}
		if !slices.Contains(out, a2av1alpha1.ToolPattern(name)) {
			out = append(out, a2av1alpha1.ToolPattern(name))
		}
	}
	return out
}
