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

// Recognizes reports whether the request shows no token.
func (Anonymous) Recognizes(r *http.Request) bool { return r.Header.Get("Authorization") == "" }

// Challenge is empty: there is nothing to show.
func (Anonymous) Challenge() string { return "" }
