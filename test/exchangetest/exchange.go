// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exchangetest provides a fake of the registry's token exchange for tests.
package exchangetest

import (
	"fmt"
	"net/http"
)

// Path is the path of the exchange below the base URL of the registry.
const Path = "/v1/token"

// Token returns the token that Serve issues in exchange for a subject token.
func Token(subject, audience string) string { return subject + "-for-" + audience }

// Serve responds to a request for a token, and returns true. It returns false for any other
// request, and writes no response. It issues a token for every subject token and every
// audience. The token is valid for ten minutes.
func Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost || r.URL.Path != Path {
		return false
	}
	if r.Header.Get("Authorization") != "" || r.ParseForm() != nil {
		http.Error(w, "not an exchange of a token", http.StatusBadRequest)
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	token := Token(r.PostForm.Get("subject_token"), r.PostForm.Get("audience"))
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":600,"issued_token_type":"urn:ietf:params:oauth:token-type:jwt"}`, token)
	return true
}
