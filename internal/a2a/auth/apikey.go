// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// APIKeyConfig configures an API key authenticator.
type APIKeyConfig struct {
	// Header or Query names the header or the query parameter of the key. One of them
	// is set.
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
		return len(ring.entries)
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

// Challenge names the place of the key. There is no registered scheme for API keys.
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
		// Another server could read another one of several keys.
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

// VerifiedBefore reports whether the key is valid. It needs no cache: the comparison is
// cheap, and a key cannot be guessed.
func (a *APIKey) VerifiedBefore(r *http.Request) (Credential, bool) {
	_, err := a.Authenticate(r)
	if errors.Is(err, ErrNoCredential) {
		return CredentialNone, false
	}
	return CredentialAPIKey, err == nil
}

var errAPIKey = unauthenticated("API key is not accepted")

// find compares a key with every key, in constant time.
func (k *KeyRing) find(key string) (caller string, ok bool) {
	sum := sha256.Sum256([]byte(key))
	found := -1
	for i := range k.entries {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(k.entries[i].sum[:], sum[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return k.entries[found].caller, true
}

// removeCredential removes the key from the request, because later handlers log URLs and
// forward headers.
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

// queryValues returns the values of one parameter. It skips pairs whose name is not valid,
// and keeps all others.
func queryValues(query, name string) []string {
	var values []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if text, err := url.QueryUnescape(key); err != nil || text != name {
			continue
		}
		// A value that is not valid still counts as a key that was sent.
		text, _ := url.QueryUnescape(value)
		values = append(values, text)
	}
	return values
}

// withoutQuery removes one parameter and keeps the bytes of all others.
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
