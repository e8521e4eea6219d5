// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/model/agenttools"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agentclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/directoryagent"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/mcpserver"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/registryclient"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/kit/inprocess"
	"github.com/a2a-operator/a2a-operator/internal/kit/responseheader"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/trust"
)

// newTranslator returns the translator through which the agent calls remote agents. events is the
// memory for events that are being read. The
// translator calls no address until the first configuration is in use.
func newTranslator(e *environment, limits *httpcall.Limits, events *limit.Budget) *translator.Translator {
	options := translator.Options{
		Protected: e.protected, Roots: e.trust.Roots, Proxy: e.trust.Proxy, Limits: limits, Memory: &e.memory, Events: events, Working: e.heap.Working, Log: e.log, Now: e.now,
		Unrecognized: func() { e.metrics.UnrecognizedEvent(metrics.ProtocolRemote) },
	}
	if own := e.trust.ClientCertificate(); own != nil {
		options.Certificate = own.Current
		options.PresentsTo = own.PresentsTo
	}
	t := translator.New(options)
	e.metrics.Gauge("a2a_remote_turns_in_flight", "Turns of remote agents that are running, which the agent began through the gateway.",
		func() float64 { return float64(t.Running()) })
	return t
}

// remotePolicy returns the policy with the allowed addresses of remote agents. The operator
// reads the cards of remote agents at the same addresses. remotePolicy returns nil without a
// gateway.
func remotePolicy(g *sidecarconfig.Gateway) (*egress.Policy, error) {
	if g == nil {
		return nil, nil // nil is a valid result: no policy
	}
	p := &egress.Policy{Hosts: []string{"*"}}
	for i, text := range g.RemoteAllow {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("remoteAllow[%d]: %w", i, err)
		}
		p.CIDRs = append(p.CIDRs, prefix)
	}
	// The domain of the cluster is the last part of the agents' host names.
	if u, err := url.Parse(strings.NewReplacer("{", "", "}", "").Replace(g.AgentURL)); err == nil {
		_, p.ClusterDomain, _ = strings.Cut(u.Hostname(), ".svc.")
	}
	return p, nil
}

func gatewayConfig(agent sidecarconfig.Agent, g *sidecarconfig.Gateway) *gateway.Config {
	if g == nil {
		return nil
	}
	itself := strings.NewReplacer("{name}", agent.Name, "{namespace}", agent.Namespace)
	return &gateway.Config{
		RegistryURL: g.RegistryURL, AgentURL: g.AgentURL, TokenFile: g.TokenFile,
		TokenURL: strings.TrimSuffix(g.RegistryURL, "/") + sidecarconfig.TokenPath, Client: itself.Replace(sidecarconfig.AgentAudience), Audience: sidecarconfig.AgentAudience,
		CredentialURL: strings.TrimSuffix(g.RegistryURL, "/") + sidecarconfig.RemoteCredentialPath,
	}
}

// newGatewayTransport returns a transport that ignores proxies in the environment. Before until, it tries again
// to open refused connections.
func newGatewayTransport(t *trust.Store, until time.Time, now func() time.Time) *http.Transport {
	return responseheader.Bound(&http.Transport{
		DialContext:           retryEarly(trust.Dial, until, now, earlyPause),
		DialTLSContext:        retryEarly(t.DialAgents(), until, now, earlyPause),
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	})
}

// newDirectoryAgent returns the directory agent, which the gateway serves at its root.
func newDirectoryAgent(e *environment, gateway http.Handler, limits *httpcall.Limits) *directoryagent.Handler {
	return directoryagent.New(directoryagent.Options{
		Registry: &registryclient.Client{Gateway: &inprocess.Transport{Handler: gateway}},
		Limits:   limits, Version: version.Get().Version, Log: e.log, Now: e.now,
	})
}

// newMCPServer returns the MCP server of the gateway, which calls agents through the gateway.
func newMCPServer(e *environment, gateway http.Handler, limits *httpcall.Limits) *mcpserver.Handler {
	bounded := *limits
	// The copies of a body in a call of a tool need a third more memory than its cost.
	bounded.MaxBody = func() int64 { return min(limits.MaxBody(), e.memory.MaxBody()/4*3) }
	h := mcpserver.New(mcpserver.Options{
		Gateway: &inprocess.Transport{Handler: gateway}, Limits: &bounded, Version: version.Get().Version, Log: e.log, Now: e.now,
		Observe: func(tool string, o mcpserver.Outcome) {
			e.heap.Working()
			e.metrics.ToolCalled(tool, string(o))
		},
	})
	e.metrics.Gauge("a2a_mcp_sessions", "Open sessions of the gateway's MCP server.", func() float64 { return float64(h.Sessions()) })
	return h
}

// agentTools returns a function that creates the tools with which a model calls agents through the gateway.
func agentTools(gateway http.Handler, limits *httpcall.Limits) func(agenttools.Options) *agenttools.Agents {
	transport := &inprocess.Transport{Handler: gateway}
	client := agentclient.New(agentclient.Options{Gateway: transport, Memory: limits.Answers, MaxWait: agentCallMaxWait})
	return func(o agenttools.Options) *agenttools.Agents {
		o.Gateway = fmt.Sprintf("http://127.0.0.1:%d", sidecarconfig.GatewayPort)
		o.Client = client
		o.Registry = &registryclient.Client{Gateway: transport}
		return agenttools.New(o)
	}
}

// agentCallMaxWait bounds the call of an agent by a model.
const agentCallMaxWait = time.Hour
