// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/auditlog"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// denials is the audit log of the registry. Its events have the same keys as the audit log of a
// sidecar. It is safe for concurrent use.
type denials struct{ log *auditlog.Log }

func newDenials(log logr.Logger, c clock.PassiveClock) *denials {
	return &denials{auditlog.New(slog.New(logr.ToSlogHandler(log)), c.Now)}
}

// unauthenticated logs a request without a valid token.
func (d *denials) unauthenticated(r *http.Request) {
	kind, credential := auditlog.WithoutCredential, len(r.Header.Values("Authorization")) > 0
	if credential {
		kind = auditlog.WithWrongCredential
	}
	d.log.Denied(r.Context(), kind,
		slog.String(auditlog.KeyBy, auditlog.ByAuthentication), slog.String(auditlog.KeyReason, string(a2a.ReasonUnauthenticated)),
		slog.String(auditlog.KeyAddress, r.RemoteAddr), slog.Bool(auditlog.KeyCredential, credential),
		slog.String(auditlog.KeyOperation, operationOf(r)))
}

// forbidden logs a request of a caller that lacks a right. about is the agent of the request, "" for none.
func (d *denials) forbidden(ctx context.Context, c *access.Caller, operation, about string) {
	attributes := []slog.Attr{
		slog.String(auditlog.KeyBy, auditlog.ByAuthorization), slog.String(auditlog.KeyReason, string(a2a.ReasonPermissionDenied)),
		slog.String(auditlog.KeyCaller, c.Username), slog.String(auditlog.KeyOperation, operation),
	}
	if about != "" {
		attributes = append(attributes, slog.String("agent", about))
	}
	d.log.Denied(ctx, auditlog.OfKnownCaller, attributes...)
}
