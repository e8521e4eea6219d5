// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving is what stands between the sockets of a sidecar and its handlers:
// listeners, HTTP servers, the chain of handlers with its limits, probes, and graceful
// shutdown. It does not know how the handlers are made, nor the sidecar's flags.
package serving

import (
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// middleware wraps a handler.
type middleware func(http.Handler) http.Handler

// denyFunc answers a request with an error.
type denyFunc = func(http.ResponseWriter, *http.Request, *a2a.Error)

// chain applies middlewares, the outermost first.
func chain(all ...middleware) middleware {
	return func(h http.Handler) http.Handler {
		for _, a := range slices.Backward(all) {
			h = a(h)
		}
		return h
	}
}

// AgentOptions configure the handler of the A2A endpoint.
type AgentOptions struct {
	// Address is that of the listener.
	Address net.Addr
	// Hosts returns the configured hosts, as ConfiguredHosts does.
	Hosts  func() map[string]bool
	Access func() *sidecarconfig.Access
	Gate   *auth.Gate
	Limits *Limits
	Routes Routes
	Drain  *Drainer
	Log    *slog.Logger
	Now    func() time.Time
}

// NewAgentHandler returns the handler of the A2A endpoint. A request passes, in this
// order:
//
//	CloseWhile...  ends the connection with the response while the sidecar drains
//	WithTLS        adds the TLS state of the connection
//	withTrace      keeps the trace id for the log
//	recoverPanic   turns a panic into one failed request
//	checkHost      refuses foreign hosts at a loopback address
//	checkOrigin    refuses foreign web pages
//	limitRead      limits the time in which the request has to arrive
//	route          chooses the handler; that of the public card skips the next two
//	limitFailures  refuses addresses that showed too many wrong credentials
//	gate           authenticates the caller, before a byte of the body is read
//	limitRequests  limits the rate of requests
//	binding        limits the size; decodes; checks version, method and parameters
//	requestcheck   authorizes the caller, and checks the request against the card
func NewAgentHandler(o AgentOptions) http.Handler {
	handlers := make([]http.Handler, len(o.Routes))
	for i, route := range o.Routes {
		handlers[i] = o.Limits.limitRequests(route.Handler)
		if !route.Public {
			handlers[i] = o.Limits.limitFailures(o.Gate, o.Gate.Require(handlers[i]))
		}
	}
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range o.Routes {
			if o.Routes[i].Matches(r) {
				handlers[i].ServeHTTP(w, r)
				return
			}
		}
		notFound(w, r)
	})
	deny := o.Routes.Deny
	return chain(
		o.Drain.CloseWhileDraining, serverconn.WithTLS, withTrace, recoverPanic(o.Log, deny),
		checkHost(o.Address, o.Hosts, deny), checkOrigin(o.Access, deny), limitRead(o.Now),
	)(routed)
}

// readTimeout limits the time in which a request has to arrive. http.Server.ReadTimeout
// would end streams, too; a binding lifts this deadline when it has read the body.
const readTimeout = 25 * time.Second

func limitRead(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(now().Add(readTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

func recoverPanic(log *slog.Logger, deny denyFunc) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { //nolint:contextcheck // it is in the request
				reason := recover()
				if reason == nil {
					return
				}
				if reason == http.ErrAbortHandler { //nolint:errorlint // net/http compares so too
					panic(reason)
				}
				log.ErrorContext(r.Context(), "request panicked", "reason", reason, "stack", string(debug.Stack()))
				if w.Header().Get("Content-Type") != "" {
					// A response has begun: only a broken connection shows that it is incomplete.
					panic(http.ErrAbortHandler)
				}
				deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
			}()
			next.ServeHTTP(w, r)
		})
	}
}
