// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/serverconn"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// middleware wraps a handler.
type middleware func(http.Handler) http.Handler

// chain applies middlewares, the outermost first.
func chain(all ...middleware) middleware {
	return func(h http.Handler) http.Handler {
		for _, a := range slices.Backward(all) {
			h = a(h)
		}
		return h
	}
}

// newAgentHandler is the A2A endpoint. The order is:
//
//	WithTLS       who is at the other end, if it has TLS
//	traced        what is logged about the request names its trace
//	recovered     a panic is one failed request
//	host          at a loopback address Host is a name of this machine, or a configured one
//	origins       a web page calls only where it may
//	bounded       a request is sent within a time, whoever ends up reading it
//	surface       the public card is open to all
//	address       who shows many wrong credentials is not asked for another one
//	gate          everything else has a caller, before a byte of it is read
//	caller        which asks no more often than it may
//	binding       size, decoding, version, method, params
//	admission     what the caller may do, and what the card declares; then the engine
func newAgentHandler(log *slog.Logger, now func() time.Time, host middleware, gate *auth.Gate, bounds *limits, access func() *sidecarconfig.Access, all surfaces) http.Handler {
	guarded := make([]http.Handler, len(all))
	for i := range all {
		if guarded[i] = bounds.caller(all[i].serve); !all[i].open {
			guarded[i] = bounds.address(gate, gate.Require(guarded[i]))
		}
	}
	routed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range all {
			if all[i].owns(r) {
				guarded[i].ServeHTTP(w, r)
				return
			}
		}
		notFound(w, r)
	})
	return chain(serverconn.WithTLS, traced, recovered(log, all.deny), host, origins(access, all.deny), bounded(now))(routed)
}

// sendTimeout bounds how long a client may take to send a request. The server's
// own read timeout would end streams as well; a binding lifts this one when it
// has read the body.
const sendTimeout = 25 * time.Second

func bounded(now func() time.Time) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetReadDeadline(now().Add(sendTimeout))
			next.ServeHTTP(w, r)
		})
	}
}

func recovered(log *slog.Logger, deny func(http.ResponseWriter, *http.Request, *a2a.Error)) middleware {
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
				log.ErrorContext(r.Context(), "panic", "reason", reason, "stack", string(debug.Stack()))
				if w.Header().Get("Content-Type") != "" {
					// An answer has begun, and what is missing must not look whole.
					panic(http.ErrAbortHandler)
				}
				deny(w, r, &a2a.Error{Reason: a2a.ReasonInternal})
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// notFound says where the agent is, since a wrong path is a common mistake.
func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "nothing here: JSON-RPC is at POST /, REST at /message:send, /tasks and, for 0.3, below /v1, the card at GET "+
		wellknown.Path, http.StatusNotFound)
}
