// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelserver

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/chat"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// modelWithTools is a model with the connections that it uses.
type modelWithTools struct {
	*model.Backend
	*completions.Client
	servers []*mcptools.Server
}

// Close implements Backend.
func (m *modelWithTools) Close() {
	m.Client.Close()
	for _, server := range m.servers {
		server.Close()
	}
}

// withTools returns the backend for a model with the tools of MCP servers.
func (s *Server) withTools(b *sidecarconfig.Backend, options *chat.Options) (Backend, error) {
	client, err := completions.New(options.Options)
	if err != nil {
		return nil, err
	}
	with := &modelWithTools{Client: client}
	instructions := &model.Instructions{Text: b.Chat.SystemPrompt, Now: s.Now}
	all := model.Options{
		Models: []*completions.Client{client}, Instructions: instructions.For, CheckFile: options.CheckFile, Ways: s.Ways, Log: s.Log, Now: s.Now,
		Limits:   model.Limits{Turn: b.Timeouts.Turn.Or(0)},
		Toolsets: s.skillTools(),
	}
	for i := range b.Chat.MCP {
		server, err := s.mcpServer(&b.Chat.MCP[i], options.Limits.Connect)
		if err != nil {
			with.Close()
			return nil, err
		}
		with.servers = append(with.servers, server)
		all.Toolsets = append(all.Toolsets, server)
	}
	if with.Backend, err = model.New(all); err != nil {
		with.Close()
		return nil, fmt.Errorf("create the backend of a model with tools: %w", err)
	}
	return with, nil
}

// mcpServer returns the tools of an MCP server, which is called through a guard, as the model server is.
func (s *Server) mcpServer(c *sidecarconfig.MCPServer, connect time.Duration) (*mcptools.Server, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("URL of an MCP server: %w", err)
	}
	var transport http.RoundTripper
	if sidecarconfig.IsLoopback(u.Hostname()) {
		transport = &http.Transport{MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout}
	} else {
		host, err := egress.Host(u)
		if err != nil {
			return nil, fmt.Errorf("MCP server %s: %w", c.URL, err)
		}
		transport = egress.New(egress.Options{
			Policy:         &egress.Policy{Configured: []string{host}, Local: s.Local},
			Protected:      s.Protected,
			ConnectTimeout: connect, MaxIdle: maxIdle, IdleTimeout: idleTimeout,
			Roots: s.Roots, Proxy: s.Proxy, Cleartext: http1.Wrap,
		})
	}
	return mcptools.New(mcptools.Options{
		URL: c.URL, Transport: transport, Allow: c.Allow, Deny: c.Deny, Timeout: c.Timeout.Or(0), IsRequired: c.Required,
		Approval: mcptools.Approval{
			Names: c.ApprovalNames, Always: c.Approval == sidecarconfig.ApprovalAlways, Annotated: c.Approval == sidecarconfig.ApprovalAnnotated,
		},
		Version: version.Get().Version, Log: s.Log,
	})
}

var _ backend.Canceler = (*modelWithTools)(nil)
