// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// The largest values of the headers of a trace context, in bytes. W3C asks to pass on 512
// bytes of tracestate and 8 KiB of baggage. A turn keeps them while it runs.
const (
	maxTraceParent = 128
	maxTraceState  = 512
	maxBaggage     = 8 << 10
)

// TraceContext returns the trace context in the header of a request. It drops a value that
// exceeds its bound.
func TraceContext(h http.Header) (t a2a.TraceContext) {
	if t.Parent = bounded(h["Traceparent"], maxTraceParent); t.Parent != "" {
		t.State = bounded(h["Tracestate"], maxTraceState)
	}
	t.Baggage = bounded(h["Baggage"], maxBaggage)
	return t
}

// bounded joins the values of a header that is a list.
func bounded(values []string, limit int) string {
	var text string
	switch len(values) {
	case 0:
		return ""
	case 1:
		text = values[0]
	default:
		size := len(values) - 1
		for _, v := range values {
			size += len(v)
		}
		if size > limit {
			return ""
		}
		text = strings.Join(values, ",")
	}
	if len(text) > limit {
		return ""
	}
	return text
}
