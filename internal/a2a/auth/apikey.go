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

// APIKeyConfig is what an API key authenticator needs.
type APIKeyConfig struct {
	// Header or Query names what holds the key; one of them is set.
	Header, Query string
	Keys          *APIKeys
}

// APIKeys are the keys in force, which can be replaced at any time.
type APIKeys struct {
	ring atomic.Pointer[KeyRing]
}

// Swap replaces the keys.
func (k *APIKeys) Swap(r *KeyRing) { k.ring.Store(r) }

// Len is the number of keys.
func (k *APIKeys) Len() int {
	if ring := k.ring.Load(); ring != nil {
		return len(ring.entries)
	}
	return 0
}

// APIKey admits callers with a key that somebody gave them.
type APIKey struct {
	config APIKeyConfig
}

var (
	_ Authenticator = (*APIKey)(nil)
	_ concealer     = (*APIKey)(nil)
)

// NewAPIKey returns an authenticator.
func NewAPIKey(c APIKeyConfig) *APIKey { return &APIKey{config: c} }

// Challenge names where the key belongs. No scheme is registered for that.
func (a *APIKey) Challenge() string {
	if a.config.Query != "" {
		return `ApiKey realm="a2a", in="query", name="` + a.config.Query + `"`
	}
	return `ApiKey realm="a2a", in="header", name="` + a.config.Header + `"`
}

// Authenticate judges the request's key.
func (a *APIKey) Authenticate(r *http.Request) (Caller, error) {
	shown := r.Header.Values(a.config.Header)
	if a.config.Query != "" {
		shown = queryValues(r.URL.RawQuery, a.config.Query)
	}
	switch len(shown) {
	case 0:
		return Caller{}, ErrNoCredential
	case 1:
	default:
		// More than one is a guess at which of them counts.
		return Caller{}, unauthenticated("More than one API key was sent")
	}
	ring := a.config.Keys.ring.Load()
	if ring == nil || len(shown[0]) > MaxAPIKey {
		return Caller{}, errAPIKey
	}
	name, ok := ring.find(shown[0])
	if !ok {
		return Caller{}, errAPIKey
	}
	return Caller{Owner: a2a.Owner("apikey:" + name), Unscoped: true}, nil
}

// Recognizes reports whether the key is one of those in force. To find out costs
// little, and nobody guesses a key.
func (a *APIKey) Recognizes(r *http.Request) (Credential, bool) {
	_, err := a.Authenticate(r)
	if errors.Is(err, ErrNoCredential) {
		return CredentialNone, false
	}
	return CredentialAPIKey, err == nil
}

var errAPIKey = unauthenticated("API key is not accepted")

// find compares with every key, and takes as long for one as for another.
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

// conceal takes the key out of the request: what follows logs addresses and
// passes on headers, and has no use for it.
func (a *APIKey) conceal(r *http.Request) *http.Request {
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

// queryValues are those of one parameter. A pair that cannot be read is none
// of it, whatever stands beside it.
func queryValues(query, name string) []string {
	var values []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if text, err := url.QueryUnescape(key); err != nil || text != name {
			continue
		}
		// One that cannot be read is still one that was shown.
		text, _ := url.QueryUnescape(value)
		values = append(values, text)
	}
	return values
}

// withoutQuery leaves the other parameters as they are.
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
