// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// denialRate bounds the events of the audit log: callers cause them. The next event after
// dropped ones has their number.
var denialRate = limit.Rate{PerSecond: 10, Burst: 100}

// denials is the audit log: it logs the requests that the authentication or the rules of
// authorization denied. It has nothing of a credential or of a request's body. It is safe for
// concurrent use.
type denials struct {
	log     *slog.Logger
	now     func() time.Time
	bucket  limit.Bucket
	dropped atomic.Int64
}

func newDenials(log *slog.Logger, now func() time.Time) *denials {
	return &denials{log: log, now: now, bucket: limit.NewBucket(denialRate)}
}

// unauthenticated logs a request without a valid credential, or of a caller whose namespace
// may not call.
func (d *denials) unauthenticated(r *http.Request, problem *a2a.Error) {
	attributes := []slog.Attr{slog.String("by", "authentication"), slog.String("reason", string(problem.Reason)), slog.String("address", r.RemoteAddr)}
	if principal := auth.DeniedPrincipal(r.Context()); principal != "" {
		attributes = append(attributes, slog.String("caller", principal))
	} else {
		attributes = append(attributes, slog.Bool("credential", !auth.Missing(problem)))
	}
	d.write(r.Context(), attributes)
}

// call logs a call that the rules denied.
func (d *denials) call(ctx context.Context, operation a2a.Method, why *authz.Refusal) {
	attributes := []slog.Attr{
		slog.String("by", "authorization"), slog.String("reason", string(a2a.ReasonPermissionDenied)),
		slog.String("operation", string(operation)), slog.String("rule", why.Rule),
	}
	caller, _ := auth.CallerFrom(ctx)
	d.write(ctx, append(attributes, callerAttributes(&caller)...))
}

// callerAttributes names a caller: its principal, or its address if it is anonymous.
func callerAttributes(c *auth.Caller) []slog.Attr {
	if c.Anonymous {
		return []slog.Attr{slog.Bool("anonymous", true), slog.String("address", c.From)}
	}
	return []slog.Attr{slog.String("caller", c.Principal())}
}

func (d *denials) write(ctx context.Context, attributes []slog.Attr) {
	if !d.bucket.Take(d.now()) {
		d.dropped.Add(1)
		return
	}
	if dropped := d.dropped.Swap(0); dropped > 0 {
		attributes = append(attributes, slog.Int64("dropped", dropped))
	}
	d.log.LogAttrs(ctx, slog.LevelInfo, "request denied", attributes...)
}
