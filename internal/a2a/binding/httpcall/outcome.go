// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"errors"
	"log/slog"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/errormap"
)

// Outcome is the result of a request, for metrics. Its fields have few values:
// Method and Version are "" if they are not supported ones.
type Outcome struct {
	// Binding is jsonrpc, rest, grpc or wellknown.
	Binding string
	Method  string
	Version string
	// Code is the JSON-RPC error code in every binding, 0 for success.
	Code int
}

// Conclude observes a request that ended with err, and logs an internal error. It
// returns the error to report to the client; nil if there is none, or if the
// client left, which is not observed.
func (o Outcome) Conclude(ctx context.Context, log *slog.Logger, observe func(Outcome), err error) *a2a.Error {
	if err == nil {
		observe(o)
		return nil
	}
	if ClientLeft(ctx, err) {
		return nil
	}
	problem := a2a.ErrorOf(err)
	if problem.Reason == a2a.ReasonInternal {
		log.ErrorContext(ctx, "request failed", "method", o.Method, "error", err)
	}
	o.Code = Code(problem)
	observe(o)
	return problem
}

// ClientLeft reports whether err is due to the end of the context of a request.
func ClientLeft(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// Code returns the code of an error in an Outcome.
func Code(problem *a2a.Error) int { return errormap.Lookup(problem, errormap.Profile101).JSONRPC }
