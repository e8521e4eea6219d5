// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"net/http"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ErrNoCredential is the error of an Authenticator for a request without a credential of
// its kind. The policy then asks the next Authenticator.
var ErrNoCredential = errors.New("request has no credential of this kind")

// Authenticator verifies one kind of credential. Its methods are safe for concurrent
// use.
type Authenticator interface {
	// Authenticate returns the caller, ErrNoCredential, or an *a2a.Error with the
	// reason why the credential is not valid. It does not block.
	Authenticate(r *http.Request) (Caller, error)
	// VerifiedBefore returns the kind of credential that Authenticate would verify, and
	// whether Authenticate has verified this credential before. It reads caches only and
	// verifies no signature.
	VerifiedBefore(r *http.Request) (kind Credential, verified bool)
	// Challenge returns the value of WWW-Authenticate for clients without a
	// credential, or "" if the Authenticator needs none.
	Challenge() string
}

// Credential is a kind of credential.
type Credential uint8

// The kinds of credentials.
const (
	CredentialNone Credential = iota
	CredentialToken
	CredentialAPIKey
	CredentialCertificate
)

// credentialRemover is an Authenticator whose credential is in a place that later
// handlers log or forward.
type credentialRemover interface {
	// removeCredential returns the request without the credential.
	removeCredential(r *http.Request) *http.Request
}

// AnonymousOwner is the owner of the tasks of all callers without a credential. These
// callers therefore share their tasks.
const AnonymousOwner = "system:anonymous"

// Anonymous is the Authenticator that accepts every request. It is the last one of a
// policy.
type Anonymous struct{}

var _ Authenticator = Anonymous{}

// Authenticate accepts the request.
func (Anonymous) Authenticate(r *http.Request) (Caller, error) {
	return Caller{Owner: AnonymousOwner, Anonymous: true, From: r.RemoteAddr}, nil
}

// VerifiedBefore returns true for a request without an Authorization header.
func (Anonymous) VerifiedBefore(r *http.Request) (Credential, bool) {
	return CredentialNone, r.Header.Get("Authorization") == ""
}

// Challenge is empty, because an anonymous caller needs no credential.
func (Anonymous) Challenge() string { return "" }

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
