// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/agenttools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/directory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// toolsets returns the tools of a model, and adds the MCP servers to b.
func (s *Server) toolsets(b *Backend, agent sidecarconfig.Agent, m *sidecarconfig.Model, connect time.Duration) ([]model.Toolset, error) {
	all := s.skillTools()
	for i := range m.MCP {
		server, err := s.mcpServer(&m.MCP[i], m.ClusterDomain, connect)
		if err != nil {
			return nil, err
		}
		b.servers = append(b.servers, server)
		b.required[server] = m.MCP[i].Required
		all = append(all, server)
	}
	if agents := s.agents(agent, m); agents != nil {
		all = append(all, agents)
	}
	return all, nil
}

// agents returns the tools of agents, nil for none.
func (s *Server) agents(agent sidecarconfig.Agent, m *sidecarconfig.Model) *agenttools.Agents {
	if len(m.Agents) == 0 && m.Discover == nil || s.Agents == nil {
		return nil
	}
	o := agenttools.Options{Namespace: agent.Namespace, Now: s.Now}
	for _, each := range m.Agents {
		o.Agents = append(o.Agents, agenttools.Agent{
			Agent: directory.Agent{Namespace: each.Namespace, Name: each.Name}, NeedsApproval: each.NeedsApproval,
		})
	}
	if m.Discover != nil {
		o.Discover = true
		o.DiscoverNeedsApproval = m.Discover.NeedsApproval
	}
	return s.Agents(o)
}

// mcpServer returns the tools of an MCP server. One outside of the pod is called through a guard, as the model server is.
func (s *Server) mcpServer(c *sidecarconfig.MCPServer, clusterDomain string, connect time.Duration) (*mcptools.Server, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("URL of an MCP server: %w", err)
	}
	var transport http.RoundTripper = localTransport()
	if !sidecarconfig.IsLoopback(u.Hostname()) {
		if transport, err = s.guard("MCP server "+c.URL, c.URL, clusterDomain, connect); err != nil {
			return nil, err
		}
	}
	o := mcptools.Options{
		URL: c.URL, Transport: withHeaders{transport, s, c.Headers}, Allow: c.Allow, Deny: c.Deny, Timeout: c.Timeout.Or(0), IsRequired: c.Required,
		Approval: c.Approval, ApproveWrites: c.ApproveWrites, Memory: s.Memory, Version: version.Get().Version, Log: s.Log,
	}
	if c.ForwardCaller {
		o.TokenFor = s.tokenFor(c.URL)
	}
	return mcptools.New(o)
}

// tokenFor returns the function that gets the tokens for the MCP server at a URL.
func (s *Server) tokenFor(url string) func(context.Context, *a2a.Subject) (mcptools.Token, error) {
	return func(ctx context.Context, subject *a2a.Subject) (mcptools.Token, error) {
		if s.TokenFor == nil {
			return mcptools.Token{}, errors.New("forwardCaller needs the registry of an operator, which this sidecar does not have")
		}
		token, reject, err := s.TokenFor(ctx, url, subject)
		if errors.Is(err, agenttokens.ErrUnproven) {
			return mcptools.Token{}, mcptools.ErrNoCaller
		}
		return mcptools.Token{Value: token, Reject: reject}, err
	}
}

// withHeaders is a transport that adds headers whose values are files, so that a changed value takes effect with the next request.
type withHeaders struct {
	next    http.RoundTripper
	server  *Server
	headers []sidecarconfig.HeaderFile
}

// RoundTrip implements http.RoundTripper.
func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(t.headers) == 0 {
		return t.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	for _, h := range t.headers {
		value, err := t.server.secret(h.File)
		if err != nil {
			return nil, fmt.Errorf("%w: header %s: %w", mcptools.ErrNotSent, h.Name, err)
		}
		r.Header.Set(h.Name, value)
	}
	return t.next.RoundTrip(r)
}
