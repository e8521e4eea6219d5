// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// errMissing is the error for a request without any credential.
var errMissing = unauthenticated("A credential is required")

// Missing reports whether problem is the error for a request without a credential.
func Missing(problem *a2a.Error) bool { return problem == errMissing }

// errOtherIssuer is the error for a token of another issuer, which another authenticator
// may accept.
var errOtherIssuer = unauthenticated("Token is of another issuer")

// overridableError is the rejection by one authenticator of a request that a later
// authenticator may still accept.
type overridableError struct{ problem *a2a.Error }

// Error implements error.
func (p *overridableError) Error() string { return p.problem.Message }

func overridable(reason a2a.Reason, message string) error {
	return &overridableError{&a2a.Error{Reason: reason, Message: message}}
}

func unauthenticated(message string) *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnauthenticated, Message: message}
}
