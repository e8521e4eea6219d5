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

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/mcptools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/http1"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Backend runs turns with a model, with the connections that it uses.
type Backend struct {
	*model.Backend
	clients []*completions.Client
	servers []*mcptools.Server
	// required has the servers without which the agent cannot work.
	required map[*mcptools.Server]bool
}

// Check checks whether the first model server responds.
func (b *Backend) Check(ctx context.Context) error { return b.clients[0].Check(ctx) }

// Close closes idle connections, and ends the sessions with MCP servers.
func (b *Backend) Close() {
	for _, client := range b.clients {
		client.Close()
	}
	for _, server := range b.servers {
		server.Close()
	}
}

// Backend returns the backend for an agent, whose model server is inside or outside of the pod.
func (s *Server) Backend(agent sidecarconfig.Agent, c *sidecarconfig.Backend, limits stream.Limits) (*Backend, error) {
	b := &Backend{required: map[*mcptools.Server]bool{}}
	if err := s.assemble(b, agent, c, limits); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (s *Server) assemble(b *Backend, agent sidecarconfig.Agent, c *sidecarconfig.Backend, limits stream.Limits) error {
	m := &c.Model
	options := model.Options{
		Instructions: (&model.Instructions{Text: func() string { return s.text(m) }, Name: agent.Name, Now: s.Now}).For,
		HidesSteps:   m.HidesSteps, Ways: s.Ways, Tracer: s.Tracer, Log: s.Log, Now: s.Now,
		Limits: model.Limits{
			Steps: m.Limits.Steps, Parallel: m.Limits.ParallelCalls, ResultBytes: m.Limits.ResultBytes, ContextTokens: m.Limits.ContextTokens,
			TaskTokens: m.Limits.TaskTokens, Approval: m.Approval.Or(0), Turn: c.Timeouts.Turn.Or(0),
		},
	}
	if len(m.Schema) > 0 {
		schema, err := model.NewSchema(m.Schema)
		if err != nil {
			return fmt.Errorf("backend.model.schema (spec.model.output.schema): %w", err)
		}
		options.Schema = schema
	}
	if len(m.FileHosts) > 0 {
		files := egress.New(egress.Options{Policy: &egress.Policy{Hosts: m.FileHosts, ClusterDomain: m.ClusterDomain}, Protected: s.Protected})
		options.CheckFile = func(url string) error { return files.Check("", url) }
	}
	if err := s.addModels(b, c, limits); err != nil {
		return err
	}
	options.Models = b.clients
	toolsets, err := s.toolsets(b, agent, m, limits.Connect)
	if err != nil {
		return err
	}
	options.Toolsets = toolsets
	b.Backend, err = model.New(options)
	if err != nil {
		return fmt.Errorf("create the backend of a model: %w", err)
	}
	return nil
}

// text returns the instructions: those of a file, or those of the configuration.
func (s *Server) text(m *sidecarconfig.Model) string {
	if text := s.instructions.Load(); text != nil {
		return *text
	}
	return m.Instructions
}

// addModels adds the clients of the model server and of the further ones.
func (s *Server) addModels(b *Backend, c *sidecarconfig.Backend, limits stream.Limits) error {
	first := completions.Options{URL: c.URL, Limits: limits, Model: c.Model.Name, Key: s.currentKey, RefreshKey: s.refreshKey, Headers: headersOf(c.Model.Headers)}
	if c.External() {
		guard, err := s.guard("--backend-url (spec.model.url)", c.URL, c.Model.ClusterDomain, limits.Connect)
		if err != nil {
			return err
		}
		first.Transport = transport{guard, &s.Health, "spec.model.url"}
		first.CloseIdle = guard.CloseIdleConnections
		s.Health.refused.Store(nil)
		first.Refused = s.Health.refuse
	}
	all := []completions.Options{first}
	for i, server := range c.Model.Fallbacks {
		field := fmt.Sprintf("spec.model.fallbacks[%d].url", i)
		guard, err := s.guard(field, server.URL, c.Model.ClusterDomain, limits.Connect)
		if err != nil {
			return err
		}
		key := func() string {
			if server.KeyFile == "" {
				return ""
			}
			key, err := s.secret(server.KeyFile)
			if err != nil {
				s.Log.Error("API key of a model server not read", "field", field, "error", err)
			}
			return key
		}
		all = append(all, completions.Options{
			URL: server.URL, Limits: limits, Model: server.Name, Key: key, RefreshKey: key, Headers: headersOf(server.Headers),
			Transport: transport{guard, &Health{}, field}, CloseIdle: guard.CloseIdleConnections,
		})
	}
	for i, options := range all {
		options.Limits.Once = i < len(all)-1 // the next server is called instead of waiting for this one
		client, err := completions.New(options)
		if err != nil {
			return err
		}
		b.clients = append(b.clients, client)
	}
	return nil
}

func headersOf(headers []sidecarconfig.Header) (all []completions.Header) {
	for _, h := range headers {
		all = append(all, completions.Header{Name: h.Name, Value: h.Value})
	}
	return all
}

// guard returns a transport to the host of a URL outside of the pod. field is the name of the URL in errors.
func (s *Server) guard(field, address, clusterDomain string, connect time.Duration) (*egress.Guard, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New(field + " is not a URL")
	}
	host, err := egress.Host(u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return egress.New(egress.Options{
		Policy:         &egress.Policy{Configured: []string{host}, ClusterDomain: clusterDomain, Local: s.Local},
		Protected:      s.Protected,
		ConnectTimeout: connect, MaxIdle: maxIdle, IdleTimeout: idleTimeout,
		Roots: s.Roots, Proxy: s.Proxy, Cleartext: http1.Wrap,
	}), nil
}

// localTransport returns a transport to a container of the pod.
func localTransport() *http.Transport {
	return responseheader.Bound(&http.Transport{MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout})
}
