// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

type answer func() (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a answer) RoundTrip(*http.Request) (*http.Response, error) { return a() }

// TestRegistryStateIsAMetric asks a registry and an agent, and reads the metric of the registry. The report does not
// contain the registry, because the registry receives the report.
func TestRegistryStateIsAMetric(t *testing.T) {
	tracker := health.New(time.Now)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(tracker)
	var next answer
	h := &registryHealth{
		next: answer(func() (*http.Response, error) { return next() }), tracker: tracker,
		gateway: func() *sidecarconfig.Gateway {
			return &sidecarconfig.Gateway{RegistryURL: "http://registry.example:8444/base"}
		},
	}
	status := func(code int) answer {
		return func() (*http.Response, error) {
			response := httptest.NewRecorder()
			response.WriteHeader(code)
			return response.Result(), nil
		}
	}
	failure := func(err error) answer { return func() (*http.Response, error) { return nil, err } }
	for i, test := range []struct {
		url   string
		next  answer
		state string // "" for no metric
	}{
		{"http://agent.example/", failure(errors.New("of an agent")), ""},
		{"http://registry.example:8444/v1/health", failure(context.Canceled), ""},
		{"http://registry.example:8444/v1/health", failure(&net.DNSError{IsNotFound: true}), "never_reached"},
		{"http://registry.example:8444/v1/health", status(http.StatusNoContent), "healthy"},
		{"http://agent.example/", failure(errors.New("of an agent")), "healthy"},
		{"http://registry.example:8444/v1/agents/a/b", status(http.StatusNotFound), "healthy"},
		{"http://registry.example:8444/v1/agents/a/b", status(http.StatusUnauthorized), "wrong"},
		{"http://registry.example:8444/v1/agents/a/b", status(http.StatusServiceUnavailable), "lost"},
		{"http://registry.example:8444/v1/agents/a/b", failure(context.DeadlineExceeded), "lost"},
	} {
		next = test.next
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := h.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
		families, err := registry.Gather()
		if err != nil || (len(families) == 1) != (test.state != "") {
			t.Errorf("request %d: metrics %v, %v", i, families, err)
		}
		if h.dependency != nil && string(h.dependency.Status().State) != test.state {
			t.Errorf("request %d: state %s, want %s", i, h.dependency.Status().State, test.state)
		}
		if report := tracker.Report(); len(report.Dependencies) != 0 {
			t.Errorf("request %d: report %+v", i, report)
		}
	}
}
