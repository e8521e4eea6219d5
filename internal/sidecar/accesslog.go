// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
)

// observe counts a request, logs it if the access log is on, and ends its span.
func (s *Sidecar) observe(ctx context.Context, o httpcall.Outcome) {
	s.metrics.observe(ctx, o)
	if s.current().Observability.AccessLog && s.log.Enabled(ctx, slog.LevelInfo) {
		s.logAccess(ctx, o)
	}
	endSpan(ctx, o)
}

// logAccess logs a request: the caller, the operation, and the result. It logs no content
// of the request or of its response. The only text from outside is the name of the
// principal, which the authentication has verified.
func (s *Sidecar) logAccess(ctx context.Context, o httpcall.Outcome) {
	outcome := outcomeOf(o.Reason)
	if o.ClientLeft {
		outcome = outcomeCanceled
	}
	attributes := []slog.Attr{
		slog.String("operation", string(o.Method)), slog.String("outcome", outcome),
		slog.String("binding", o.Binding), slog.String("version", o.Version),
	}
	if o.Reason != "" {
		attributes = append(attributes, slog.String("reason", string(o.Reason)))
	}
	if !o.Started.IsZero() {
		attributes = append(attributes, slog.Float64("duration_seconds", max(0, s.metrics.now().Sub(o.Started).Seconds())))
	}
	if caller, ok := auth.CallerFrom(ctx); ok {
		attributes = append(attributes, callerAttributes(&caller)...)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "request ended", attributes...)
}
