// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/authz"
	"github.com/a2a-operator/a2a-operator/internal/auditlog"
)

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
	caller, _ := auth.CallerFrom(ctx)
	kind := auditlog.OfKnownCaller
	if caller.Anonymous {
		kind = auditlog.WithoutCredential
	}
	d.log.Denied(ctx, kind, append(attributes, callerAttributes(&caller)...)...)
}

// callerAttributes returns the attributes that identify a caller: its principal, or its
// address if it is anonymous.
func callerAttributes(c *auth.Caller) []slog.Attr {
	if c.Anonymous {
		return []slog.Attr{slog.Bool(auditlog.KeyAnonymous, true), slog.String(auditlog.KeyAddress, c.From)}
	}
	return []slog.Attr{slog.String(auditlog.KeyCaller, c.Principal())}
}
