// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"net/http"
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
