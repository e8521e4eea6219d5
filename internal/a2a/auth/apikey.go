// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// APIKeyConfig configures an API key authenticator.
type APIKeyConfig struct {
	// Header is the name of the header that contains the key, Query the name of the query
	// parameter. One of them is set.
	Header, Query string
	Keys          *APIKeys
}

// APIKeys holds the current keys. It is safe for concurrent use.
type APIKeys struct {
	ring atomic.Pointer[KeyRing]
}

// Swap replaces the keys.
func (k *APIKeys) Swap(r *KeyRing) { k.ring.Store(r) }

// Len returns the number of keys.
func (k *APIKeys) Len() int {
	if ring := k.ring.Load(); ring != nil {
		return ring.Len()
	}
	return 0
}

// APIKey authenticates callers by an API key.
type APIKey struct {
	config APIKeyConfig
}

var (
	_ Authenticator     = (*APIKey)(nil)
	_ credentialRemover = (*APIKey)(nil)
)

// NewAPIKey returns an authenticator.
func NewAPIKey(c APIKeyConfig) *APIKey { return &APIKey{config: c} }

// Challenge returns a challenge that names the header or the query parameter of the key.
// There is no registered scheme for API keys.
func (a *APIKey) Challenge() string {
	if a.config.Query != "" {
		return `ApiKey realm="a2a", in="query", name="` + a.config.Query + `"`
	}
	return `ApiKey realm="a2a", in="header", name="` + a.config.Header + `"`
}

// Authenticate verifies the API key of the request.
func (a *APIKey) Authenticate(r *http.Request) (Caller, error) {
	sent := r.Header.Values(a.config.Header)
	if a.config.Query != "" {
		sent = queryValues(r.URL.RawQuery, a.config.Query)
	}
	switch len(sent) {
	case 0:
		return Caller{}, ErrNoCredential
	case 1:
	default:
		// With several keys, another server could read another key than the sidecar.
		return Caller{}, unauthenticated("More than one API key was sent")
	}
	ring := a.config.Keys.ring.Load()
	if ring == nil || len(sent[0]) > MaxAPIKey {
		return Caller{}, errAPIKey
	}
	name, ok := ring.find(sent[0])
	if !ok {
		return Caller{}, errAPIKey
	}
	return Caller{Owner: a2a.Owner("apikey:" + name), Unscoped: true}, nil
}

// VerifiedBefore reports whether the key is valid. It reads no cache: the comparison is
// cheap, and clients cannot guess a key.
func (a *APIKey) VerifiedBefore(r *http.Request) (Credential, bool) {
	_, err := a.Authenticate(r)
	if errors.Is(err, ErrNoCredential) {
		return CredentialNone, false
	}
	return CredentialAPIKey, err == nil
}

var errAPIKey = unauthenticated("API key is not accepted")

// removeCredential returns the request without the key, because later handlers log URLs
// and forward headers.
func (a *APIKey) removeCredential(r *http.Request) *http.Request {
	if a.config.Query == "" {
		r.Header.Del(a.config.Header)
		return r
	}
	rest, found := withoutQuery(r.URL.RawQuery, a.config.Query)
	if !found {
		return r
	}
	address := *r.URL
	address.RawQuery = rest
	r = r.WithContext(r.Context())
	r.URL, r.RequestURI = &address, address.RequestURI()
	return r
}

// queryValues returns the values of one query parameter. It skips parameters whose name
// has an invalid escape.
func queryValues(query, name string) []string {
	var values []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if text, err := url.QueryUnescape(key); err != nil || text != name {
			continue
		}
		// A value with an invalid escape still counts as a key, so that the request is refused.
		text, _ := url.QueryUnescape(value)
		values = append(values, text)
	}
	return values
}

// withoutQuery removes one query parameter and changes no byte of the others. found
// reports whether the parameter was there.
func withoutQuery(query, name string) (rest string, found bool) {
	var kept []string
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if text, err := url.QueryUnescape(key); err == nil && text == name {
			found = true
			continue
		}
		kept = append(kept, pair)
	}
	return strings.Join(kept, "&"), found
}
