// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import "net/http"

// AnonymousOwner owns the tasks of all who call without a credential: they
// share them.
const AnonymousOwner = "system:anonymous"

// Anonymous admits every request. It stands last in a policy.
type Anonymous struct{}

var _ Authenticator = Anonymous{}

// Authenticate admits the request.
func (Anonymous) Authenticate(r *http.Request) (Caller, error) {
	return Caller{Owner: AnonymousOwner, Anonymous: true, From: r.RemoteAddr}, nil
}

// Recognizes knows who shows no token, which the others may not have looked for.
func (Anonymous) Recognizes(r *http.Request) (Credential, bool) {
	return CredentialNone, r.Header.Get("Authorization") == ""
}

// Challenge is empty: there is nothing to show.
func (Anonymous) Challenge() string { return "" }
