// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
)

type traceKey struct{}

// withTrace keeps the trace id of a request in its context, for the log. The agent
// gets the header itself.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := traceID(r.Header.Get("Traceparent")); id != "" {
			r = r.WithContext(context.WithValue(r.Context(), traceKey{}, id))
		}
		next.ServeHTTP(w, r)
	})
}

// traceID returns the second field of a W3C traceparent, or "" if it is not one.
func traceID(traceparent string) string {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" {
		return ""
	}
	return fields[1]
}

// TraceLog adds the trace id of the context to each log record.
type TraceLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (h TraceLog) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(traceKey{}).(string); ok {
		r.AddAttrs(slog.String("trace", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h TraceLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return TraceLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h TraceLog) WithGroup(name string) slog.Handler { return TraceLog{h.Handler.WithGroup(name)} }
