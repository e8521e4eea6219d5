// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	_ "embed"
	"net/http"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

//go:embed openapi.yaml
var openapi []byte

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		write(w, openapi)
	})
	mux.HandleFunc("GET /v1/agents", a.authenticated(a.search))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", a.authenticated(a.agent))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", a.authenticated(a.card))
	mux.HandleFunc("GET /v1/peers", a.authenticated(a.peers))
	mux.HandleFunc("GET /v1/peers/agents", a.authenticated(a.peerAgents))
	mux.HandleFunc("PUT "+sidecarconfig.HealthPath, a.authenticated(a.health.put))
	mux.HandleFunc(sidecarconfig.HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", http.MethodPut)
		fail(w, &problem{status: http.StatusMethodNotAllowed, Code: "MethodNotAllowed", Message: "a health report is written; use PUT"})
	})
	if a.exchange != nil {
		mux.Handle(sidecarconfig.TokenPath, a.exchange)
	}
	if a.publisher != nil {
		a.handleARD(mux, a.publisher)
		a.handleA2A(mux, a.publisher.BaseURL)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, &problem{status: http.StatusMethodNotAllowed, Code: "MethodNotAllowed", Message: "the list of agents is read-only; use GET"})
			return
		}
		fail(w, notFound("no such path; /openapi.yaml lists them"))
	})
	return counted(mux, clock.RealClock{})
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	write(w, []byte("ok\n"))
}

// authenticatedKey is the key of the authenticated caller in the context of a request of ServeCaller.
type authenticatedKey struct{}

// callersHandler returns the handler of ServeCaller.
func (a *api) callersHandler() http.Handler {
	serve := func(next endpoint) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			caller, known := r.Context().Value(authenticatedKey{}).(access.Caller)
			if !known {
				challenge(w, r)
				return
			}
			a.serve(w, r, caller, next)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/agents", serve(a.search))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", serve(a.agent))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", serve(a.card))
	return mux
}
