// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
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

var _ credentialRemover = (*APIKey)(nil)

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
		// If a request has several keys, another server on its way could read a different one
		// than the sidecar.
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
	r.URL = &address
	r.RequestURI = address.RequestURI()
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

// Limits of the length of API keys, in bytes. MinAPIKey is the length of 24 random bytes
// in base64, or of 16 random bytes in hexadecimal.
const (
	MinAPIKey = 32
	MaxAPIKey = 512
)

const (
	// maxKeysOfCaller allows a current and a next key.
	maxKeysOfCaller = 2
	// maxAPIKeys bounds the number of keys, and so the comparisons for one request.
	maxAPIKeys = 2048
	// maxCallerName is the maximum length of a data key of a Secret, in bytes. Data keys are
	// the names of the callers.
	maxCallerName = 253
)

// KeyRing holds the hashes of API keys. It is immutable.
type KeyRing struct {
	entries []keyEntry
}

type keyEntry struct {
	sum    [sha256.Size]byte
	caller string
}

// Len returns the number of keys.
func (k *KeyRing) Len() int { return len(k.entries) }

// find returns the caller of a key. It compares the key with every key of the ring, in
// constant time.
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

// ParseAPIKeys reads the API keys in files, a map from the name of a caller to the
// caller's file. A file has one key per line. ParseAPIKeys returns the usable keys and
// one error for each unusable key or file, so that one mistake does not lock out all
// callers. Errors contain names of callers and never a key.
func ParseAPIKeys(files map[string][]byte) (*KeyRing, []error) {
	ring := &KeyRing{}
	var refused []error
	owner := map[[sha256.Size]byte]string{}
	for _, caller := range slices.Sorted(maps.Keys(files)) {
		keys, err := keysOf(caller, files[caller])
		if err != nil {
			refused = append(refused, err)
			continue
		}
		for i, key := range keys {
			if problem := keyProblem(key); problem != "" {
				refused = append(refused, fmt.Errorf("API key %d of %q %s", i+1, caller, problem))
				continue
			}
			sum := sha256.Sum256(key)
			if other, taken := owner[sum]; taken {
				if other != caller {
					refused = append(refused, fmt.Errorf("API key %d of %q is also a key of %q: the sidecar accepts it for neither caller", i+1, caller, other))
					ring.entries = slices.DeleteFunc(ring.entries, func(e keyEntry) bool { return e.sum == sum })
				}
				continue
			}
			owner[sum] = caller
			if len(ring.entries) == maxAPIKeys {
				refused = append(refused, fmt.Errorf("API key %d of %q is not accepted: there are more than %d keys", i+1, caller, maxAPIKeys))
				continue
			}
			ring.entries = append(ring.entries, keyEntry{sum, caller})
		}
	}
	return ring, refused
}

// keysOf returns the keys in the file of one caller.
func keysOf(caller string, text []byte) ([][]byte, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if len(caller) > maxCallerName || strings.HasPrefix(caller, ".") || strings.Trim(caller, letters) != "" {
		return nil, fmt.Errorf("caller %q must be named by letters, digits, '-', '_' and '.', and not begin with '.'", caller)
	}
	var keys [][]byte
	for line := range bytes.Lines(text) {
		if key := bytes.TrimSpace(line); len(key) > 0 {
			keys = append(keys, key)
		}
	}
	switch {
	case len(keys) == 0:
		return nil, fmt.Errorf("%q has no API key", caller)
	case len(keys) > maxKeysOfCaller:
		return nil, fmt.Errorf("%q has %d API keys, one a line, and may have %d: the one in use and the next", caller, len(keys), maxKeysOfCaller)
	}
	return keys, nil
}

// keyProblem returns why a key is not usable, or "".
func keyProblem(key []byte) string {
	switch {
	case len(key) < MinAPIKey:
		return fmt.Sprintf("has %d characters, needs at least %d: openssl rand -hex 32 makes one", len(key), MinAPIKey)
	case len(key) > MaxAPIKey:
		return fmt.Sprintf("has %d characters, may have %d", len(key), MaxAPIKey)
	case bytes.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "must be of visible ASCII characters, without spaces"
	}
	return ""
}
