// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gateway is the port through which the agent's own container reaches the registry
// and other agents, over loopback. The gateway adds the sidecar's identity, which the agent
// itself never receives: the registry gets the sidecar's ServiceAccount token, and each agent
// gets a token that no other agent accepts. Remote agents do not get this identity, because
// the gateway passes their requests to Remotes.
//
// The gateway reaches no other host. A URL consists of two names, which must be DNS labels,
// and a template that the agent cannot change. The gateway calls only agents that the
// registry lists for these names. It does not follow or return redirects, and it drops the
// credentials that the agent sends.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/remotecredentials"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/kit/headervalue"
)

// headerTask is the header with the id of the task for which the agent makes the request.
const headerTask = "A2A-Task-Id"

// taskOf returns the id of the task for which the agent makes a request, "" for none. The agent has got the encoded id with its turn.
func taskOf(h http.Header) string { return headervalue.Decode(h.Get(headerTask)) }

// Handler forwards /registry/... to the registry and /agents/{namespace}/{name}/... to
// agents. The Endpoints serve all other paths.
type Handler struct {
	config    atomic.Pointer[Config]
	proxy     *httputil.ReverseProxy
	schemes   *schemes
	listings  *listings
	tokens    *agenttokens.Source
	endpoints Endpoints
	options   Options
}

// Options are the dependencies of a gateway. All fields but Tracer and Turns are required.
type Options struct {
	// Tracer starts the spans of calls. Nil starts none.
	Tracer *tracing.Tracer
	// Turns has the subjects of the agent's running turns. Nil has none.
	Turns *delegation.Turns
	// Transport sends the requests to the registry and the agents. It must ignore the proxies
	// in the environment.
	Transport http.RoundTripper
	// Remotes calls remote agents.
	Remotes Remotes
	// Deny answers a request for an agent with an error, in the shape of the request's protocol.
	// The path of the given request is the path that the agent would see.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
	// ObserveExchange is called after each token exchange, with its error or nil. It must not
	// block.
	ObserveExchange func(error)
	// Bodies is the memory budget of requests and responses that the gateway changes.
	Bodies *limit.Budget
	// MaxCards bounds the bytes of all cards in the cache of lookups, 8 MiB by default.
	MaxCards int
	Log      *slog.Logger
	Now      func() time.Time
}

// New returns a handler. If c is nil, it denies all requests until Swap.
func New(c *Config, options Options) *Handler {
	h := &Handler{
		schemes:  &schemes{RoundTripper: options.Transport, now: options.Now, known: map[string]scheme{}},
		listings: &listings{transport: options.Transport, now: options.Now, maxCards: cmp.Or(options.MaxCards, maxCards), known: map[string]*listing{}},
		tokens: agenttokens.New(agenttokens.Options{
			Transport: options.Transport, Observe: options.ObserveExchange, Now: options.Now,
		}),
		options: options,
	}
	h.listings.credentials = remotecredentials.New(remotecredentials.Options{Transport: options.Transport, Registry: h.credentialService, Now: options.Now})
	h.config.Store(c)
	h.proxy = &httputil.ReverseProxy{
		Transport:      h.schemes,
		Rewrite:        rewrite,
		ModifyResponse: h.modify,
		// Each event of a stream is forwarded at once.
		FlushInterval: -1,
		ErrorHandler:  h.failed,
		ErrorLog:      slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
	return h
}

// credentialService returns the registry's service for credentials.
func (h *Handler) credentialService() (remotecredentials.Registry, error) {
	config := h.config.Load()
	if config == nil {
		return remotecredentials.Registry{}, errMisconfigured
	}
	text, err := os.ReadFile(config.TokenFile)
	if err != nil {
		return remotecredentials.Registry{}, fmt.Errorf("%w: %w", errToken, err)
	}
	return remotecredentials.Registry{URL: config.CredentialURL, Token: strings.TrimSpace(string(text)), Client: config.Client}, nil
}

// ResourceToken returns a token for the MCP server at a URL that the spec of the agent lets learn of its callers. The token names the
// subject and the agent, or for nil the agent alone. reject drops a token that the server has refused from the cache. Its errors are those of agenttokens.Source.Token, and failures of this package.
func (h *Handler) ResourceToken(ctx context.Context, url string, subject *a2a.Subject) (token string, reject func(), err error) {
	config := h.config.Load()
	if config == nil {
		return "", nil, errMisconfigured
	}
	own, err := os.ReadFile(config.TokenFile)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errToken, err)
	}
	asked := agenttokens.Request{
		URL: config.TokenURL, Token: strings.TrimSpace(string(own)), Client: config.Client, Resource: url, Subject: subject,
	}
	key := asked.Key()
	token, err = h.tokens.Token(ctx, asked)
	return token, func() { h.tokens.Reject(key, token) }, err
}

// Tokens returns the number of cached tokens for agents.
func (h *Handler) Tokens() int { return h.tokens.Len() }

// Swap replaces the configuration.
func (h *Handler) Swap(c *Config) { h.config.Store(c) }

// ServeHTTP forwards a request, or serves it by an endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to := parseDestination(r)
	r = r.WithContext(to.in(r.Context()))
	if to.kind == kindAgent {
		ctx, span := h.options.Tracer.StartCall(r.Context(), r.Header, to.agent(), taskOf(r.Header))
		if span != nil {
			r = r.WithContext(ctx)
			to.span = span
			defer to.end()
		}
	}
	config := h.config.Load()
	switch {
	case !local(r):
		h.refuse(w, r, refusalNotLocal)
		return
	case to.kind == kindEndpoint && h.serveSessions(w, r):
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
	to.registryToken = strings.TrimSpace(string(token))
	to.rewrites = to.readdressing(r)
	defer func() { _ = r.Body.Close() }() // prepareCall may replace the body
	if to.kind == kindAgent && !h.prepareCall(w, r, config, to) {
		return
	}
	// Without full duplex, an HTTP/1 server closes the body of a request when its response begins. The transport would then fail
	// to read the end of the body, and would abort the response. Recorders of tests have no connection and return an error.
	_ = http.NewResponseController(w).EnableFullDuplex()
	to.result.serve(r.Context(), func() { h.proxy.ServeHTTP(w, r) })
}

// prepareCall looks up the agent of a request and gets a token for the agent. It returns true
// if the proxy must forward the request. It returns false if the request was answered
// already, by an error or by Remotes.
func (h *Handler) prepareCall(w http.ResponseWriter, r *http.Request, config *Config, to *destination) bool {
	subject, problem := h.subjectOf(r)
	if problem != nil {
		h.deny(w, r, problem)
		return false
	}
	listed, err := h.listings.find(r.Context(), config, to)
	switch {
	case err != nil:
		h.failed(w, r, err)
		return false
	case listed.agent != nil:
		h.serveRemote(w, r, listed.agent, to, subject)
		return false
	}
	to.listed = listed
	isMessage, err := h.addParentTask(w, r, to)
	if err != nil {
		h.failed(w, r, err)
		return false
	}
	if to.rewrites == rewriteNone && !isMessage {
		if to.rewrites, err = to.readdressingRPC(r); err != nil {
			h.deny(w, r, &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: err.Error()})
			return false
		}
	}
	asked := agenttokens.Request{URL: config.TokenURL, Token: to.registryToken, Client: config.Client, Audience: to.expand(config.Audience), Subject: subject}
	to.agentTokenKey = asked.Key()
	to.agentToken, err = h.tokens.Token(r.Context(), asked)
	if err != nil {
		h.failed(w, r, err)
		return false
	}
	return true
}

// errNoTurn is the error for a request that names a task of which no turn runs. The request may belong to a user, so it must not have the rights of
// the agent itself.
var errNoTurn = &a2a.Error{
	Reason: a2a.ReasonInvalidRequest,
	Message: headerTask + " names a task of which no turn runs in this pod, or turns of several callers: send the header of the turn to which the request belongs, before the turn ends, " +
		"or leave it out to call as the agent itself",
}

// subjectOf returns the subject for whom the agent makes a request: the one that this process names, or that of the running turn whose task
// the agent's container names. It returns nil for a request of the agent for itself, and an error if the turn does not run.
func (h *Handler) subjectOf(r *http.Request) (*a2a.Subject, *a2a.Error) {
	if subject, isNamed := delegation.Named(r.Context()); isNamed {
		return subject, nil
	}
	task := taskOf(r.Header)
	if task == "" || h.options.Turns == nil {
		return nil, nil
	}
	subject, isRunning := h.options.Turns.Of(task)
	if !isRunning {
		return nil, errNoTurn
	}
	return subject, nil
}

// Mount sets the endpoints. It must be called before the first request.
func (h *Handler) Mount(e Endpoints) { h.endpoints = e }

// serveSessions serves a request of the agent's container for its sessions, and reports whether it was one.
func (h *Handler) serveSessions(w http.ResponseWriter, r *http.Request) bool {
	if h.endpoints.Sessions == nil || !strings.HasPrefix(r.URL.Path, SessionsPrefix) {
		return false
	}
	sessions := h.endpoints.Sessions()
	if sessions == nil {
		return false
	}
	sessions.ServeHTTP(w, r)
	return true
}

func (h *Handler) serveEndpoint(w http.ResponseWriter, r *http.Request) {
	next := h.endpoints.Agent
	if r.URL.Path == MCPPath {
		next = h.endpoints.MCP
		// A call of a tool cancels its task on behalf of the subject, also when the turn has ended.
		if task := taskOf(r.Header); task != "" && h.options.Turns != nil {
			if subject, isRunning := h.options.Turns.Of(task); isRunning {
				r = r.WithContext(delegation.ToCancel(r.Context(), subject))
			}
		}
	}
	if next == nil {
		h.refuse(w, r, refusalNoSuchPath)
		return
	}
	next.ServeHTTP(w, r)
}

// serveRemote passes a request to Remotes. It removes the id of the calling agent's task,
// because only agents of the cluster may receive this id.
func (h *Handler) serveRemote(w http.ResponseWriter, r *http.Request, agent *Remote, to *destination, subject *a2a.Subject) {
	out := to.seenByAgent(r)
	out = out.WithContext(delegation.With(out.Context(), h.userOf(r.Context(), agent, subject)))
	out.Header.Del(headerTask)
	if to.span != nil {
		w = &statusWriter{ResponseWriter: w, result: &to.result}
	}
	to.result.serve(r.Context(), func() { h.options.Remotes.ServeRemote(w, out, agent, to.base()) })
}

// userOf returns the subject for whom a remote agent is called if the agent needs a token of its users, and nil otherwise: nothing of a subject
// leaves the cluster then.
func (h *Handler) userOf(ctx context.Context, agent *Remote, subject *a2a.Subject) *a2a.Subject {
	if subject == nil {
		return nil
	}
	exchanges, err := h.listings.credentials.Exchanges(ctx, agent.Namespace, agent.Name, client.OriginOf(agent.URL))
	if errors.Is(err, remotecredentials.ErrNotShared) || err == nil && !exchanges {
		return nil
	}
	return subject // another error is that of the credential, too, which the call needs
}

// local reports whether a program in the pod made the request. It returns false for requests
// of web pages: a page whose host name was rebound to loopback (DNS rebinding) sends its own
// name as Host, and the requests of other pages have an Origin that is not loopback.
func local(r *http.Request) bool {
	if !card.IsLoopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && card.IsLoopback(u.Host)
}
