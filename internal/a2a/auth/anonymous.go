// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import "net/http"

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
