// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net/http"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Header returns the header of every request of a turn. The keys have the documented case,
// not the canonical case of net/http.
func Header(t *backend.Turn, accept string) http.Header {
	h := http.Header{
		"Content-Type":   {"application/json"},
		"Accept":         {accept},
		"A2A-Task-Id":    {headerValue(t.TaskID)},
		"A2A-Context-Id": {headerValue(t.ContextID)},
	}
	if t.Attempt > 1 {
		h["A2A-Attempt"] = []string{strconv.Itoa(t.Attempt)}
	}
	if t.Owner != "" {
		h["A2A-Principal"] = []string{headerValue(string(t.Owner))}
	}
	addTrace(h, &t.Trace)
	return h
}

// addTrace adds the headers of a trace context. It omits a state or a baggage that a header
// cannot hold, because replacing characters would change the list.
func addTrace(h http.Header, t *a2a.TraceContext) {
	if t.Parent != "" {
		h["traceparent"] = []string{headerValue(t.Parent)}
	}
	if t.State != "" && isHeaderValue(t.State) {
		h["tracestate"] = []string{t.State}
	}
	if t.Baggage != "" && isHeaderValue(t.Baggage) {
		h["baggage"] = []string{t.Baggage}
	}
}

// isHeaderValue reports whether a header can hold a text.
func isHeaderValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// headerValue returns a text unchanged if a header can hold it, and percent-encoded
// otherwise: a client may choose any context id. It also encodes each percent sign, so that
// different texts have different encodings.
func headerValue(s string) string {
	plain := s == "" || s[0] != ' ' && s[len(s)-1] != ' '
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] <= '~' && s[i] != '%'
	}
	if plain {
		return s
	}
	const hex = "0123456789ABCDEF"
	out := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		if c := s[i]; c > ' ' && c <= '~' && c != '%' {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}
