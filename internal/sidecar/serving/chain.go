// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving contains everything between the sockets of a sidecar and its handlers:
// listeners, HTTP servers, the chain of handlers with its limits, probes, and graceful
// shutdown. It depends neither on how the handlers are created nor on the sidecar's
// flags.
package serving

import (
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// AgentOptions configure the handler of the A2A endpoint.
type AgentOptions struct {
	// Address is the address of the listener.
	Address net.Addr
	// Hosts returns the configured hosts, in the form of ConfiguredHosts.
	Hosts  func() map[string]bool
	Access func() *sidecarconfig.Access
	// Proxies returns the trusted proxies.
	Proxies func() sourceaddress.Proxies
	Gate    *auth.Gate
	// Tracer starts the spans of operations. Nil starts none.
	Tracer *tracing.Tracer
	Limits *Limits
	Routes Routes
	Drain  *Drainer
	Log    *slog.Logger
	Now    func() time.Time
}

// bindingOfCards is the value of Route.Binding for cards.
const bindingOfCards = "wellknown"

// NewAgentHandler returns the handler of the A2A endpoint. A request passes, in this
// order:
//
//	ofClient       replaces the address of a trusted proxy by that of its client
//	Drain.Handler  closes the connection after the response while the sidecar drains
//	withTrace      adds the trace id to the context, for the log
//	recoverPanic   recovers from a panic, so that only this request fails
//	checkHost      refuses unknown values of Host: at a loopback address, and in requests of
//	               browsers if callers without a credential are admitted
//	checkOrigin    refuses web pages of origins that are not allowed, except for public cards
//	limitRead      limits the time in which the request must arrive
//	route          chooses the handler; requests of public routes skip limitFailures, gate and Tracer.Serve
//	limitFailures  refuses addresses that sent too many wrong credentials
//	gate           authenticates the caller, before a byte of the body is read
//	Tracer.Serve   starts the span of the operation, except for cards
//	limitCaller    limits the rate of requests of the caller, or of an address without a credential
//	limitAll       limits the rate of whole requests of all callers, except for public routes
//	binding        limits the size; decodes; checks version, method and parameters
//	requestcheck   authorizes the caller, and checks the request against the card
func NewAgentHandler(o AgentOptions) http.Handler {
	handlers := make([]http.Handler, len(o.Routes))
	for i, route := range o.Routes {
		if route.Public {
			handlers[i] = limitPublicBody(o.Limits.limitCaller(route.Handler))
		} else {
			handlers[i] = o.Limits.limitCaller(o.Limits.limitAll(route.Handler))
			if route.Binding != bindingOfCards {
				handlers[i] = o.Tracer.Serve(handlers[i])
			}
			handlers[i] = o.Limits.limitFailures(o.Gate, o.Gate.Require(handlers[i]))
		}
	}
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i := o.Routes.index(r); i >= 0 {
			handlers[i].ServeHTTP(w, r)
			return
		}
		notFound(w, r)
	})
	deny := o.Routes.Deny
	return chain(
		ofClient(o.Proxies), o.Drain.Handler, withTrace, recoverPanic(o.Log, deny),
		checkHost(o.Address, o.Hosts, o.Access, deny), checkOrigin(o.Access, o.Routes.isPublicCard, deny), limitRead(o.Now),
	)(routed)
}

// Route assigns requests to the A2A endpoint to one handler.
type Route struct {
	// Binding is the name of the binding in metrics.
	Binding string
	// Matches reports whether the route serves a request. It reads the path and the header
	// only.
	Matches func(*http.Request) bool
	// Handler serves the requests, after authentication unless Public is true.
	Handler http.Handler
	Public  bool
	// Deny writes an error in the format of the binding. If it is nil, the error has the
	// format of JSON-RPC.
	Deny func(http.ResponseWriter, *http.Request, *a2a.Error)
}

// Routes are tried in their order. The first route that matches a request serves it.
type Routes []Route

// Of returns the route of a request, nil if none matches.
func (s Routes) Of(r *http.Request) *Route {
	if i := s.index(r); i >= 0 {
		return &s[i]
	}
	return nil
}

// isPublicCard reports whether a request is for a card, or for the keys of its signatures, without
// authentication. The handlers of these allow all web pages (CORS).
func (s Routes) isPublicCard(r *http.Request) bool {
	route := s.Of(r)
	return route != nil && route.Public && route.Binding == bindingOfCards
}

func (s Routes) index(r *http.Request) int {
	return slices.IndexFunc(s, func(each Route) bool { return each.Matches(r) })
}

// Deny writes an error in the format of the request's binding. If no route matches, it
// writes the format of JSON-RPC, which most clients use.
func (s Routes) Deny(w http.ResponseWriter, r *http.Request, problem *a2a.Error) {
	if route := s.Of(r); route != nil && route.Deny != nil {
		route.Deny(w, r, problem)
		return
	}
	jsonrpc.Deny(w, r, problem)
}

// Paths returns a function for Route.Matches that matches requests for these paths.
func Paths(paths ...string) func(*http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(paths, r.URL.Path) }
}

// notFound answers 404 with the paths of the endpoint, because a wrong path is a common
// mistake.
func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "path not found: JSON-RPC is at POST /, REST at /message:send, /tasks and, for 0.3, below /v1, the card at GET "+
		wellknown.Path, http.StatusNotFound)
}
