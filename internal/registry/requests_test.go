// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// Requests are counted by the pattern of their route. A path that a client chooses does not
// become a label, and probes are not counted.
func TestRequestsAreCountedByRoute(t *testing.T) {
	requestsTotal.Reset()
	mux := http.NewServeMux()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	mux.HandleFunc("GET /healthz", status(200))
	mux.HandleFunc("GET /v1/agents", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("a watch cannot flush: %v", err)
		}
		_, _ = w.Write(nil)
	})
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", status(404))
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", status(503))
	mux.HandleFunc("/", status(404))
	handler := counted(mux, testclock.NewFakePassiveClock(time.Unix(0, 0)))
	for _, path := range []string{
		"/healthz", "/v1/agents", "/v1/agents?limit=1", "/v1/agents?watch=true", "/v1/agents?watch=false", "/v1/agents?w%61tch=tru%65", "/v1/agents/team/hostile",
		"/v1/agents/team/echo/card", "/hostile", "/hostile/again",
	} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	}
	for labels, want := range map[[2]string]float64{
		{"list", "ok"}: 3, {"watch", "ok"}: 2, {"get", "rejected"}: 1, {"card", "failed"}: 1, {"other", "rejected"}: 2, {"", "ok"}: 0,
	} {
		var m dto.Metric
		if err := requestsTotal.WithLabelValues(labels[0], labels[1]).Write(&m); err != nil {
			t.Fatal(err)
		}
		if got := m.GetCounter().GetValue(); got != want {
			t.Errorf("requests %v = %v, want %v", labels, got, want)
		}
	}
}

// The routes of the API have operations. A new route needs one, unless it shall be counted as other.
func TestRoutesHaveOperations(t *testing.T) {
	w := newWorld(t, &index.Snapshot{})
	requestsTotal.Reset()
	for path, operation := range map[string]string{"/v1/agents": "list", "/v1/agents/a/b": "get", "/v1/agents/a/b/card": "card", "/v1/peers": "peers"} {
		w.unvalidated.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		var m dto.Metric
		if err := requestsTotal.WithLabelValues(operation, "rejected").Write(&m); err != nil {
			t.Fatal(err)
		}
		if m.GetCounter().GetValue() != 1 {
			t.Errorf("%s without a token is not counted as %s", path, operation)
		}
	}
}
