// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logging makes the logger of a program: one line of JSON for each event, with the
// same keys in the manager and in the sidecar (docs/how-to/logs.md). It depends on no program
// and on no event.
package logging

import (
	"context"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Keys that every program uses for the same thing. For the time, the level and the message,
// the programs use the keys of slog.
const (
	KeyError   = "error"
	KeyTraceID = "trace_id"
	KeySpanID  = "span_id"
)

// New returns a logger that writes JSON lines for the events of level and of more severe levels.
func New(to io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(WithTraceIDs(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level})))
}

// WithTraceIDs returns a handler that adds the trace id and the span id of the span in the
// context of an event. If the context has no span, it adds the trace id of ContextWithTraceID.
func WithTraceIDs(h slog.Handler) slog.Handler {
	if _, done := h.(traceHandler); done {
		return h
	}
	return traceHandler{h}
}

type traceIDKey struct{}

// ContextWithTraceID returns a context with the trace id that a client sent in its request.
// The handler of WithTraceIDs adds this id to events with the context.
func ContextWithTraceID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceIDKey{}, id)
}

type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r = r.Clone()
		r.AddAttrs(slog.String(KeyTraceID, span.TraceID().String()), slog.String(KeySpanID, span.SpanID().String()))
	} else if id, ok := ctx.Value(traceIDKey{}).(string); ok {
		r = r.Clone()
		r.AddAttrs(slog.String(KeyTraceID, id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}

// ForVerbosity returns a handler for loggers of logr and klog, which pass their verbosity as a
// negative level and their errors as "err". The handler logs V(1) at the level debug, drops
// higher verbosities, and renames "err" to KeyError.
func ForVerbosity(h slog.Handler) slog.Handler { return verbosityHandler{h} }

type verbosityHandler struct{ slog.Handler }

const (
	verbosityDebug = slog.Level(-1)
	verboseError   = "err"
)

// Enabled implements slog.Handler.
func (h verbosityHandler) Enabled(ctx context.Context, level slog.Level) bool {
	switch {
	case level < verbosityDebug:
		return false
	case level < slog.LevelInfo:
		level = slog.LevelDebug
	}
	return h.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h verbosityHandler) Handle(ctx context.Context, r slog.Record) error {
	next := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	if r.Level < slog.LevelInfo {
		next.Level = slog.LevelDebug
	}
	r.Attrs(func(a slog.Attr) bool {
		next.AddAttrs(renamed(a))
		return true
	})
	return h.Handler.Handle(ctx, next)
}

func renamed(a slog.Attr) slog.Attr {
	if a.Key == verboseError {
		a.Key = KeyError
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h verbosityHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i] = renamed(attrs[i])
	}
	return verbosityHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h verbosityHandler) WithGroup(name string) slog.Handler {
	return verbosityHandler{h.Handler.WithGroup(name)}
}
