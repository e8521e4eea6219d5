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

// denialRate bounds the events of each denialKind in the audit log: clients cause them.
var denialRate = limit.Rate{PerSecond: 10, Burst: 100}

// denialKind separates denials by the credential of the request. No limit holds back
// requests without a credential, so they must not use up the events of the others.
type denialKind int

const (
	withoutCredential denialKind = iota
	withWrongCredential
	ofKnownCaller
	denialKinds
)

// boundedEvents bounds the events of a denialKind. The next event after dropped ones has
// their number.
type boundedEvents struct {
	bucket  limit.Bucket
	dropped atomic.Int64
}

// denials is the audit log: it logs the requests that the authentication or the rules of
// authorization denied. It has nothing of a credential or of a request's body. It is safe for
// concurrent use.
type denials struct {
	log    *slog.Logger
	now    func() time.Time
	events [denialKinds]boundedEvents
}

func newDenials(log *slog.Logger, now func() time.Time) *denials {
	d := &denials{log: log, now: now}
	for kind := range d.events {
		d.events[kind].bucket = limit.NewBucket(denialRate)
	}
	return d
}

// unauthenticated logs a request without a valid credential, or of a caller whose namespace
// may not call.
func (d *denials) unauthenticated(r *http.Request, problem *a2a.Error) {
	attributes := []slog.Attr{slog.String("by", "authentication"), slog.String("reason", string(problem.Reason)), slog.String("address", r.RemoteAddr)}
	kind := withWrongCredential
	if principal := auth.DeniedPrincipal(r.Context()); principal != "" {
		kind = ofKnownCaller
		attributes = append(attributes, slog.String("caller", principal))
	} else {
		if auth.Missing(problem) {
			kind = withoutCredential
		}
		attributes = append(attributes, slog.Bool("credential", kind != withoutCredential))
		// The text of another reason may name the principal of the credential.
		if kind == withWrongCredential && problem.Reason == a2a.ReasonUnauthenticated {
			attributes = append(attributes, slog.String("cause", problem.Message))
		}
	}
	d.write(r.Context(), kind, attributes)
}

// call logs a call that the rules denied.
func (d *denials) call(ctx context.Context, operation a2a.Method, why *authz.Refusal) {
	attributes := []slog.Attr{
		slog.String("by", "authorization"), slog.String("reason", string(a2a.ReasonPermissionDenied)),
		slog.String("operation", string(operation)), slog.String("rule", why.Rule),
	}
	caller, _ := auth.CallerFrom(ctx)
	kind := ofKnownCaller
	if caller.Anonymous {
		kind = withoutCredential
	}
	d.write(ctx, kind, append(attributes, callerAttributes(&caller)...))
}

// callerAttributes names a caller: its principal, or its address if it is anonymous.
func callerAttributes(c *auth.Caller) []slog.Attr {
	if c.Anonymous {
		return []slog.Attr{slog.Bool("anonymous", true), slog.String("address", c.From)}
	}
	return []slog.Attr{slog.String("caller", c.Principal())}
}

func (d *denials) write(ctx context.Context, kind denialKind, attributes []slog.Attr) {
	events := &d.events[kind]
	if !events.bucket.Take(d.now()) {
		events.dropped.Add(1)
		return
	}
	if dropped := events.dropped.Swap(0); dropped > 0 {
		attributes = append(attributes, slog.Int64("dropped", dropped))
	}
	d.log.LogAttrs(ctx, slog.LevelInfo, "request denied", attributes...)
}
