// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// endRequestSpan ends the span of a request with its outcome. If the client disconnects, the
// span of the turn does not end.
func endRequestSpan(ctx context.Context, o httpcall.Outcome) {
	r := tracing.Result{Binding: o.Binding, Method: o.Method, Version: o.Version}
	switch {
	case o.ClientLeft:
		r = r.Canceled()
	case o.Reason != "":
		r = r.Refused(o.Reason, o.Code)
	}
	tracing.End(ctx, r)
}

// parked wraps a function that parks streams, so that the span of a parked stream ends
// with the stream.
func parked(park sse.Park) sse.Park {
	return func(w http.ResponseWriter, r *http.Request, serve func(context.Context, sse.Conn) bool) bool {
		ctx := r.Context() // a parked stream must not reference r
		tracing.Park(ctx, true)
		if park(w, r, serve) {
			return true
		}
		tracing.Park(ctx, false)
		return false
	}
}

// startTurnSpan starts the span of a turn. The returned turn has the trace context of this span,
// which the backend sends to the agent.
func startTurnSpan(ctx context.Context, tracer *tracing.Tracer, t *backend.Turn, p sidecarconfig.Protocol) (context.Context, *backend.Turn, *tracing.Span) {
	ctx, span := tracer.StartTurn(ctx, tracing.Turn{
		TaskID: t.TaskID, ContextID: t.ContextID, Owner: t.Owner, Attempt: t.Attempt, Protocol: string(p), Trace: t.Trace,
	})
	if span == nil {
		return ctx, t, nil
	}
	out := *t
	out.Trace = span.Trace
	return ctx, &out, span
}

// turnFailure returns the outcome of a turn for its span, or "" for success.
func turnFailure(ctx context.Context, err error) string {
	failure, failed := errors.AsType[*backend.TurnError](err)
	switch {
	case failed && failure.Interrupted:
		return "interrupted"
	case failed:
		return failure.State.String()
	case err == nil, errors.Is(err, backend.ErrTurnEnded), errors.Is(err, backend.ErrInputAccepted):
		return ""
	case errors.Is(context.Cause(ctx), backend.ErrCanceled):
		return "canceled"
	case errors.Is(context.Cause(ctx), backend.ErrSuperseded):
		return "superseded"
	default:
		return "failed"
	}
}
