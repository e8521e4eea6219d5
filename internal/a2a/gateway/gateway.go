// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the port through which the agent reaches the registry and other
// agents, over loopback, from its own container. It adds the sidecar's identity, which
// the agent itself never has: the registry gets the sidecar's ServiceAccount token, and
// each agent a token that no other agent accepts. Remote agents do not receive that
// identity: Remotes calls them.
//
// It reaches no other host. A URL consists of two names, which must be DNS labels, and a
// pattern that the agent cannot influence. It calls only agents that the registry lists
// for these names, follows and returns no redirect, and drops the credentials that the
// agent sends.
package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// Config says where the registry and the agents are.
type Config struct {
	// RegistryURL is the base of the registry's API.
	RegistryURL string
	// AgentURL is the base of an agent, with {name} and {namespace} in it.
	AgentURL string
	// TokenFile has the sidecar's token for the registry. It is read for every request,
	// because the kubelet replaces it.
	TokenFile string
	// TokenURL is where the registry exchanges that token for one for an agent.
	TokenURL string
	// Audience is the audience of an agent, with {name} and {namespace} in it.
	Audience string
}

// Handler serves /registry/... and /agents/{namespace}/{name}/..., and the Endpoints at
// all other paths.
type Handler struct {
	config    atomic.Pointer[Config]
	proxy     *httputil.ReverseProxy
	schemes   *schemes
	listings  *listings
	tokens    *agenttokens.Source
	endpoints Endpoints
	options   Options
}

// Options are the dependencies of a gateway.
type Options struct {
	// Transport is required, and must use no proxy from the environment.
	Transport http.RoundTripper
	// Remotes calls remote agents; nil for none.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the shape of the request's
	// protocol. The path of the request is the one that the agent would see. It is
	// required.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// ObserveExchange is called after each exchange of a token, with its error; nil for none.
	// It must not block.
	ObserveExchange func(error)
	// Bodies is the memory budget of requests that the gateway changes. It is required.
	Bodies *limit.Budget
	// Log and Now, the clock, are required.
	Log *slog.Logger
	Now func() time.Time
}

// New returns a handler. With a nil configuration it denies all requests.
func New(c *Config, options Options) *Handler {
	if options.ObserveExchange == nil {
		options.ObserveExchange = func(error) {}
	}
	h := &Handler{
		schemes:  &schemes{RoundTripper: options.Transport, now: options.Now, known: map[string]scheme{}},
		listings: &listings{transport: options.Transport, now: options.Now, known: map[string]*listing{}},
		tokens: agenttokens.New(agenttokens.Options{
			Transport: options.Transport, Observe: options.ObserveExchange, Now: options.Now,
		}),
		options: options,
	}
	h.config.Store(c)
	h.proxy = &httputil.ReverseProxy{
		Transport:      h.schemes,
		Rewrite:        rewrite,
		ModifyResponse: h.modify,
		// Events of a stream are forwarded one by one.
		FlushInterval: -1,
		ErrorHandler:  h.failed,
		ErrorLog:      slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
	return h
}

// Tokens returns the number of cached tokens for agents.
func (h *Handler) Tokens() int { return h.tokens.Len() }

// Swap replaces the configuration.
func (h *Handler) Swap(c *Config) { h.config.Store(c) }

// ServeHTTP forwards a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := parseDestination(r)
	r = r.WithContext(to.in(r.Context()))
	config := h.config.Load()
	switch {
	case !local(r):
		h.refuse(w, r, refusalNotLocal)
		return
	case config == nil:
		h.refuse(w, r, refusalNoGateway)
		return
	case to.kind == kindEndpoint:
		h.serveEndpoint(w, r)
		return
	case to.kind == kindNone:
		h.refuse(w, r, to.refusal)
		return
	case to.kind == kindRegistry && !slices.Contains(to.methods(), r.Method):
		w.Header().Set("Allow", strings.Join(to.methods(), ", "))
		h.refuse(w, r, refusalMethod)
		return
	}
	if err := to.resolve(config); err != nil {
		h.failed(w, r, err)
		return
	}
	token, err := os.ReadFile(config.TokenFile)
	if err != nil {
		h.failed(w, r, fmt.Errorf("%w: %w", errToken, err))
		return
	}
	to.token = strings.TrimSpace(string(token))
	to.rewrites = to.readdressing(r)
	defer func() { _ = r.Body.Close() }() // prepareCall may replace the body
	if to.kind != kindAgent || h.prepareCall(w, r, config, to) {
		h.proxy.ServeHTTP(w, r)
	}
}

// prepareCall looks up the agent of a request and gets a token for it. It returns false after it has answered the
// request, and true if the proxy is to forward it.
func (h *Handler) prepareCall(w http.ResponseWriter, r *http.Request, config *Config, to *destination) bool {
	listed, err := h.listings.find(r.Context(), config, to)
	switch {
	case err != nil:
		h.failed(w, r, err)
		return false
	case listed.agent != nil:
		h.serveRemote(w, r, listed.agent, to)
		return false
	}
	to.listed = listed
	if err := h.addParentTask(w, r, to); err != nil {
		h.failed(w, r, err)
		return false
	}
	if to.rewrites == rewriteNone {
		if to.rewrites, err = to.readdressingRPC(r); err != nil {
			h.deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: err.Error()})
			return false
		}
	}
	to.audience = to.expand(config.Audience)
	to.token, err = h.tokens.Token(r.Context(), agenttokens.Request{URL: config.TokenURL, SubjectToken: to.token, Audience: to.audience})
	if err != nil {
		h.failed(w, r, err)
		return false
	}
	return true
}
