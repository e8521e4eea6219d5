// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/kit/auditlog"
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

// logAccess logs a request: the caller, the operation, the result, and the ids of its task. It logs
// no content of the request or of its response. The only texts from outside are the name of the
// principal, which the authentication has verified, and ids that the response has named.
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
	ids := tracing.IDsOf(ctx)
	for _, id := range []struct{ key, value string }{{"task_id", ids.Task}, {"context_id", ids.Context}, {"parent_task_id", ids.Parent}} {
		if id.value != "" {
			attributes = append(attributes, slog.String(id.key, id.value))
		}
	}
	if caller, ok := auth.CallerFrom(ctx); ok {
		attributes = append(attributes, callerAttributes(&caller)...)
	}
	e.log.LogAttrs(ctx, slog.LevelInfo, "request ended", attributes...)
}

// denials is the audit log of the requests that the authentication or the authorization
// rules denied. It logs no credential and no part of a request's body. It is safe for
// concurrent use.
type denials struct{ log *auditlog.Log }

// unauthenticated logs a request without a valid credential, or a request of a caller
// whose namespace may not call.
func (d *denials) unauthenticated(r *http.Request, problem *a2a.Error) {
	attributes := []slog.Attr{slog.String(auditlog.KeyBy, auditlog.ByAuthentication), slog.String(auditlog.KeyReason, string(problem.Reason)), slog.String(auditlog.KeyAddress, r.RemoteAddr)}
	kind := auditlog.WithWrongCredential
	if principal := auth.DeniedPrincipal(r.Context()); principal != "" {
		kind = auditlog.OfKnownCaller
		attributes = append(attributes, slog.String(auditlog.KeyCaller, principal))
	} else {
		if auth.Missing(problem) {
			kind = auditlog.WithoutCredential
		}
		attributes = append(attributes, slog.Bool(auditlog.KeyCredential, kind != auditlog.WithoutCredential))
		// With any other reason, the text may contain the principal of the credential.
		if kind == auditlog.WithWrongCredential && problem.Reason == a2a.ReasonUnauthenticated {
			attributes = append(attributes, slog.String(auditlog.KeyCause, problem.Message))
		}
	}
	d.log.Denied(r.Context(), kind, attributes...)
}

// call logs a call that the authorization rules denied.
func (d *denials) call(ctx context.Context, operation a2a.Method, why *authz.Refusal) {
	attributes := []slog.Attr{
		slog.String(auditlog.KeyBy, auditlog.ByAuthorization), slog.String(auditlog.KeyReason, string(a2a.ReasonPermissionDenied)),
		slog.String(auditlog.KeyOperation, string(operation)), slog.String(auditlog.KeyRule, why.Rule),
	}
	if why.Unmatched != "" {
		attributes = append(attributes, slog.String(auditlog.KeyCause, "none of the rules that allow calls matches: "+why.Unmatched))
	}
	caller, _ := auth.CallerFrom(ctx)
	kind := auditlog.OfKnownCaller
	if caller.Anonymous {
		kind = auditlog.WithoutCredential
	}
	d.log.Denied(ctx, kind, append(attributes, callerAttributes(&caller)...)...)
}

// callerAttributes returns the attributes that identify a caller: its principal with the subject for whom it acts,
// or its address if it is anonymous.
func callerAttributes(c *auth.Caller) []slog.Attr {
	if c.Anonymous {
		return []slog.Attr{slog.Bool(auditlog.KeyAnonymous, true), slog.String(auditlog.KeyAddress, c.From)}
	}
	attributes := []slog.Attr{slog.String(auditlog.KeyCaller, c.Principal())}
	if s := c.Subject; s != nil {
		attributes = append(attributes, slog.String(auditlog.KeySubject, s.Principal), slog.Bool(auditlog.KeyProven, s.Proven()))
	}
	return attributes
}

// refusals counts and logs the calls that authorization rules refuse.
type refusals struct {
	metrics *metrics.Metrics
	log     *slog.Logger
	// logged contains the names of the rules whose failed evaluation has been logged.
	logged sync.Map
}

// refused counts a refused call. If the evaluation of a rule fails, it logs the first
// failure of this rule only.
func (r *refusals) refused(ctx context.Context, why *authz.Refusal) {
	r.metrics.CallRefused(why.Rule, why.Err != nil)
	if why.Err == nil {
		return
	}
	if _, logged := r.logged.LoadOrStore(why.Rule, true); !logged {
		r.log.WarnContext(ctx, "call refused because a rule of authorization cannot be evaluated (logged once for each rule)", "rule", why.Rule, "error", why.Err)
	}
}

// reset is called when the rules change. It forgets which failures were logged, and
// counts by the names of the new rules.
func (r *refusals) reset() {
	r.metrics.RulesChanged()
	r.logged.Clear()
}
