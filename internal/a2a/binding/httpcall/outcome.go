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

// Outcome is what a request came to, for metrics. Its values are few: Method
// and Version are "" when they are not known ones.
type Outcome struct {
	// Binding is jsonrpc, rest or grpc.
	Binding string
	Method  string
	Version string
	// Code is that of JSON-RPC in all bindings, 0 for success.
	Code int
}

// Conclude tells observe, and the log what failed here, of a request that ended
// with err. It returns what there is to tell the client; nil for nothing.
func (o Outcome) Conclude(ctx context.Context, log *slog.Logger, observe func(Outcome), err error) *a2a.Error {
	if err == nil {
		observe(o)
		return nil
	}
	if Gone(ctx, err) {
		return nil
	}
	problem := a2a.ErrorOf(err)
	if problem.Reason == a2a.ReasonInternal {
		log.ErrorContext(ctx, "request", "method", o.Method, "error", err)
	}
	o.Code = Code(problem)
	observe(o)
	return problem
}

// Gone reports whether there is nobody left to answer.
func Gone(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// Code is what an error counts as in an Outcome.
func Code(problem *a2a.Error) int { return errormap.Of(problem, errormap.Profile101).Code }
