// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A response that the sidecar cannot read fails the task with an excerpt of the response,
// and is counted.
func TestUnrecognizedEventsAreCounted(t *testing.T) {
	p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"text":"a"}`+"\n"+`{"kind":"cat","token":"hunter2"}`+"\n")
	}, nil)
	_, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
	for _, want := range []string{`"state":"failed"`, `in line 2 is not an event`, `received: {\"kind\":\"cat\",\"token\":[redacted]}`} {
		if !strings.Contains(body, want) {
			t.Errorf("answer = %s\nwant %s", body, want)
		}
	}
	if _, metrics := p.do("GET", p.health("/metrics"), ""); !strings.Contains(metrics, `a2a_backend_unrecognized_events_total{protocol="Events"} 1`) ||
		!strings.Contains(metrics, `a2a_backend_unrecognized_events_total{protocol="A2A"} 0`) {
		t.Errorf("metrics = %s", metrics)
	}
}
