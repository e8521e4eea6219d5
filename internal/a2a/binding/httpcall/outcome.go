// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// Outcome is the result of a request, for metrics and for the access log. Each field except
// Started has few values: Method and Version are "" unless they are supported.
type Outcome struct {
	// Binding is jsonrpc, rest, grpc or wellknown.
	Binding string
	// Method is the operation by its name in 1.0, in every version.
	Method  a2a.Method
	Version string
	// Code is the JSON-RPC error code in every binding, 0 for success.
	Code int
	// Reason is the reason of the error, "" for success.
	Reason a2a.Reason
	// Started is the time at which the binding received the request, zero if no binding did.
	Started time.Time
	// ClientLeft is true if the client left before the end of the response.
	ClientLeft bool
}

// Refused returns the outcome with the code and the reason of an error.
func (o Outcome) Refused(problem *a2a.Error) Outcome {
	o.Code, o.Reason = Code(problem), errormap.ReasonOf(problem)
	return o
}

// Conclude observes a request that ended with err, and logs an internal error. It returns the
// error to report to the client, nil if there is none or if the client disconnected.
func (o Outcome) Conclude(ctx context.Context, log *slog.Logger, observe func(context.Context, Outcome), err error) *a2a.Error {
	if err == nil {
		observe(ctx, o)
		return nil
	}
	if ClientLeft(ctx, err) {
		o.ClientLeft = true
		observe(ctx, o)
		return nil
	}
	if CutOff(ctx) {
		err = a2a.ErrDraining
	}
	problem := a2a.ErrorOf(err)
	if problem.Reason == a2a.ReasonInternal {
		log.ErrorContext(ctx, "request failed", "method", o.Method, "error", err)
	}
	observe(ctx, o.Refused(problem))
	return problem
}

// ClientLeft reports whether a request ended with err because its client disconnected.
func ClientLeft(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err()) && !CutOff(ctx)
}

// CutOff reports whether the shutdown has ended the context of a request. The response is
// then incomplete.
func CutOff(ctx context.Context) bool { return errors.Is(context.Cause(ctx), a2a.ErrDraining) }

// Code returns the value of Outcome.Code for an error.
func Code(problem *a2a.Error) int { return errormap.Lookup(problem, errormap.Profile101).JSONRPC }
