// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpcall

import (
	"context"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
)

// TraceContext returns the trace context for the calls that a request causes: the span of
// ctx or, without one, the span that the request's header names.
func TraceContext(ctx context.Context, h http.Header) a2a.TraceContext {
	return tracing.Continue(ctx, tracing.OfRequest(h))
}
