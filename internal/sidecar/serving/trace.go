// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/logging"
)

// withTrace adds the trace id of a request to its context, for the log. The agent
// receives the trace header itself.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := traceID(r.Header.Get("Traceparent")); id != "" {
			r = r.WithContext(logging.ContextWithTraceID(r.Context(), id))
		}
		next.ServeHTTP(w, r)
	})
}

// traceID returns the trace id in a W3C traceparent header, or "" if the header is not
// valid.
func traceID(traceparent string) string {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" {
		return ""
	}
	return fields[1]
}
