// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// countOf returns how many sign-ins ended with a result.
func countOf(t *testing.T, result signInResult) float64 {
	t.Helper()
	var metric dto.Metric
	if err := signIns.WithLabelValues(string(result)).Write(&metric); err != nil {
		t.Fatal(err)
	}
	return metric.GetCounter().GetValue()
}

func TestEachEndOfASignInIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 { // the second registration is that of a second manager in the process
		if err := Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 6 {
		t.Errorf("before the first sign-in, the metrics are %v, %v; want 6 results", families, err)
	}
	s := startSite(t)
	for result, end := range map[signInResult]func(){
		resultCompleted:  func() { s.signIn(t, nil) },
		resultIncomplete: func() { s.do(t, http.MethodGet, "/callback?state=other&code=x") },
		resultDenied: func() {
			s.do(t, http.MethodGet, "/callback?error=access_denied&state="+s.begin(t, "/").Get("state"))
		},
		resultRefused: func() {
			parameters := s.begin(t, "/")
			s.finish(t, parameters, s.authorize(parameters, map[string]any{"aud": "another"}))
		},
	} {
		before := countOf(t, result)
		end()
		if got := countOf(t, result) - before; got != 1 {
			t.Errorf("the sign-in counts %g as %s", got, result)
		}
	}
}
