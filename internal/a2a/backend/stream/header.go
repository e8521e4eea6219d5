// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net/http"
	"strconv"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// Header returns what every call of a turn tells the agent. The names are as
// they are documented, which net/http would spell otherwise.
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
	if t.TraceParent != "" {
		h["traceparent"] = []string{headerValue(t.TraceParent)}
	}
	return h
}

// headerValue is the text itself when a header can hold it. Any other is
// percent-encoded: a context id is whatever a client made up. So is a percent
// sign, or two texts could look the same.
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
