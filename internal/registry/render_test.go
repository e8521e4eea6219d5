// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// TestCardIsTheSidecars compares what the registry passes on with what the
// sidecar serves at the well-known path.
func TestCardIsTheSidecars(t *testing.T) {
	c := card.Card{
		Name: "Echo", Description: "Echoes <everything>", Version: "1.0.0",
		SecuritySchemes: []card.SecurityScheme{{Name: "kubernetes", Type: card.SchemeHTTP, Scheme: "bearer"}},
	}
	// What callers from outside get is not what those of the registry do.
	inside := card.NewBase("http://echo.team-a.svc/")
	c = *c.At(inside)
	bases := []card.Base{card.NewBase("https://agents.example.com/echo/"), inside}
	rendered, err := render(c, bases, "contract")
	if err != nil {
		t.Fatal(err)
	}
	sidecar := &wellknown.Handler{}
	err = sidecar.Swap(wellknown.Content{Card: &c, Bases: bases})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "0.3", "1", "1.0", "1.2", "nonsense"} {
		request := httptest.NewRequest(http.MethodGet, wellknown.Path, nil)
		request.Header.Set("A2A-Version", version)
		request.Host = "echo.team-a.svc"
		answer := httptest.NewRecorder()
		sidecar.ServeHTTP(answer, request)
		got := rendered.forVersion(version)
		if string(got.body) != answer.Body.String() || got.etag != answer.Header().Get("ETag") {
			t.Errorf("A2A-Version %q: the registry has %s %s, the sidecar %s %s", version, got.etag, got.body, answer.Header().Get("ETag"), answer.Body)
		}
	}
}
