// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
)

type traceKey struct{}

// traced keeps the id of the client's trace for what is logged about the
// request. The header itself goes on to the agent.
func traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := traceID(r.Header.Get("Traceparent")); id != "" {
			r = r.WithContext(context.WithValue(r.Context(), traceKey{}, id))
		}
		next.ServeHTTP(w, r)
	})
}

// traceID is the second field of a W3C traceparent, "" when it is not one.
func traceID(traceparent string) string {
	fields := strings.Split(traceparent, "-")
	if len(fields) < 4 || len(fields[1]) != 32 || strings.Trim(fields[1], "0123456789abcdef") != "" {
		return ""
	}
	return fields[1]
}

// tracedLog adds the trace of the context to each record.
type tracedLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (h tracedLog) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(traceKey{}).(string); ok {
		r.AddAttrs(slog.String("trace", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h tracedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return tracedLog{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h tracedLog) WithGroup(name string) slog.Handler { return tracedLog{h.Handler.WithGroup(name)} }
