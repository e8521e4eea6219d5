// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// In each API, a request for a hidden agent and a request for an absent agent cause the same reviews and have the same
// response, byte by byte.
func TestHiddenAndAbsentAgentsCostTheSame(t *testing.T) {
	const identifier = "/ard/agents/urn:air:agents.example.com:team-d:secret"
	for name, send := range map[string]func(*testing.T, *world) (int, string){
		"agent": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			r := w.get(t, "dev", "/v1/agents/team-d/secret")
			return r.StatusCode, bodyOf(t, r)
		},
		"card": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			r := w.get(t, "dev", "/v1/agents/team-d/secret/card")
			return r.StatusCode, bodyOf(t, r)
		},
		"list": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			r := w.get(t, "dev", "/v1/agents?namespace=team-d")
			return r.StatusCode, bodyOf(t, r)
		},
		"ARD agent": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			r := w.get(t, "dev", identifier)
			return r.StatusCode, bodyOf(t, r)
		},
		"ARD catalog": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			r := w.get(t, "dev", "/ard/catalogs/team-d")
			return r.StatusCode, bodyOf(t, r)
		},
		"ARD search": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			return w.post(t, "dev", "/ard/search", `{"query":{"text":"secret"}}`)
		},
		"A2A get-card": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			return w.send10(t, "dev", `{"text":"team-d/secret"}`, getCard)
		},
		"token": func(t *testing.T, w *world) (int, string) {
			t.Helper()
			return w.exchange(t, "home", "secret.team-d.a2a-operator.dev")
		},
	} {
		t.Run(name, func(t *testing.T) {
			measure := func(s *index.Snapshot) (status int, body string, reviews int) {
				w := newWorldWith(t, s, func(a *api) {
					a.authz = access.NewAuthorizer(access.AuthorizerOptions{
						Review: func(context.Context, access.Caller, access.Right) (bool, error) {
							reviews++
							return false, nil
						},
						Bindings: access.NewBindings(clock.RealClock{}), Clock: clock.RealClock{},
					})
				})
				status, body = send(t, w)
				return status, body, reviews
			}
			status, body, reviews := measure(fleet(t))
			wantStatus, wantBody, wantReviews := measure(snapshotOf())
			if status != wantStatus || body != wantBody {
				t.Errorf("hidden: %d %s\nabsent: %d %s", status, body, wantStatus, wantBody)
			}
			if reviews != wantReviews || status >= http.StatusInternalServerError {
				t.Errorf("hidden: %d reviews, absent: %d, status %d", reviews, wantReviews, status)
			}
		})
	}
}
