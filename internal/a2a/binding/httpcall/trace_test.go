// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"net/http"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

func TestTraceContextKeepsHeadersWithinTheirBounds(t *testing.T) {
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
		if got := TraceContext(tt.header); got != tt.want {
			t.Errorf("%s: TraceContext() = %+v, want %+v", name, got, tt.want)
		}
	}
}
