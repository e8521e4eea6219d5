// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestOfRequestKeepsHeadersWithinTheirBounds(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	long := strings.Repeat("x", maxBaggage)
	for name, tt := range map[string]struct {
		header http.Header
		want   a2a.TraceContext
	}{
		"none": {http.Header{}, a2a.TraceContext{}},
		"all": {
			http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}, "Baggage": {"k=1"}},
			a2a.TraceContext{Parent: parent, State: "a=1,b=2", Baggage: "k=1"},
		},
		"state without parent": {http.Header{"Tracestate": {"a=1"}}, a2a.TraceContext{}},
		"largest baggage":      {http.Header{"Baggage": {long}}, a2a.TraceContext{Baggage: long}},
		"too long":             {http.Header{"Traceparent": {long}, "Tracestate": {"a=1"}, "Baggage": {long + "x"}}, a2a.TraceContext{}},
		"too long in parts":    {http.Header{"Baggage": {long, "x"}}, a2a.TraceContext{}},
	} {
		if got := OfRequest(tt.header); got != tt.want {
			t.Errorf("%s: OfRequest() = %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestTextsAreBoundedAndValid checks that bounded shortens a text and makes it valid UTF-8,
// so that an id of a client or an agent cannot fail the export of a batch.
func TestTextsAreBoundedAndValid(t *testing.T) {
	for text, want := range map[string]string{
		"task-1":                             "task-1",
		strings.Repeat("x", maxText+1):       strings.Repeat("x", maxText),
		strings.Repeat("x", maxText-1) + "ü": strings.Repeat("x", maxText-1),
		"a\xffb":                             "ab",
	} {
		if got := bounded(text); got != want {
			t.Errorf("bounded(%q) = %q, want %q", text, got, want)
		}
	}
}
