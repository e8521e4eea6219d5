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
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// AgentOptions configure the handler of the A2A endpoint.
type AgentOptions struct {
	// Address is the address of the listener.
	Address net.Addr
	// Hosts returns the configured hosts, in the form of ConfiguredHosts.
	Hosts  func() map[string]bool
	Access func() *sidecarconfig.Access
	Gate   *auth.Gate
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
//	CloseWhile...  closes the connection after the response while the sidecar drains
//	WithTLS        adds the TLS state of the connection
//	withTrace      adds the trace id to the context, for the log
//	recoverPanic   recovers from a panic, so that only this request fails
//	checkHost      refuses unknown values of Host at a loopback address
//	checkOrigin    refuses web pages of origins that are not allowed
//	limitRead      limits the time in which the request must arrive
//	route          chooses the handler; requests for the public card skip the next three
//	limitFailures  refuses addresses that sent too many wrong credentials
//	gate           authenticates the caller, before a byte of the body is read
//	Tracer.Serve   starts the span of the operation, except for cards
//	limitRequests  limits the rate of requests
//	binding        limits the size; decodes; checks version, method and parameters
//	requestcheck   authorizes the caller, and checks the request against the card
func NewAgentHandler(o AgentOptions) http.Handler {
	handlers := make([]http.Handler, len(o.Routes))
	for i, route := range o.Routes {
		handlers[i] = o.Limits.limitRequests(route.Handler)
		if !route.Public {
			if route.Binding != bindingOfCards {
				handlers[i] = o.Tracer.Serve(handlers[i])
			}
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
