// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
)

// observe counts a request, logs it if the access log is on, and ends its span.
func (e *environment) observe(ctx context.Context, o httpcall.Outcome) {
	e.metrics.ObserveRequest(ctx, o)
	if e.current().Observability.AccessLog && e.log.Enabled(ctx, slog.LevelInfo) {
		e.logAccess(ctx, o)
	}
	endRequestSpan(ctx, o)
}

// logAccess logs a request: the caller, the operation, and the result. It logs no content
// of the request or of its response. The only text from outside is the name of the
// principal, which the authentication has verified.
func (e *environment) logAccess(ctx context.Context, o httpcall.Outcome) {
	attributes := []slog.Attr{
		slog.String("operation", string(o.Method)), slog.String("outcome", metrics.OutcomeOf(o)),
		slog.String("binding", o.Binding), slog.String("version", o.Version),
	}
	if o.Reason != "" {
		attributes = append(attributes, slog.String("reason", string(o.Reason)))
	}
	if !o.Started.IsZero() {
		attributes = append(attributes, slog.Float64("duration_seconds", max(0, e.now().Sub(o.Started).Seconds())))
	}
	if caller, ok := auth.CallerFrom(ctx); ok {
		attributes = append(attributes, callerAttributes(&caller)...)
	}
	e.log.LogAttrs(ctx, slog.LevelInfo, "request ended", attributes...)
}
