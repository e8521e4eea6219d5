// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/jsonweight"
	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

// maxVerifyAge is the time for which an entry is used. It is shorter than the lifetime of most tokens, so that the signature of a token is
// verified again from time to time.
const maxVerifyAge = 5 * time.Minute

// maxVerifiedBytes bounds the cost of the entries, in bytes. callerBytes is the cost of an entry besides its token and its claims.
const (
	maxVerifiedBytes = 8 << 20
	callerBytes      = 1 << 10
)

// tokenCache caches callers by their verified token, so that the signature of a frequent
// caller's token is not verified for each request. It stores hashes of tokens, and no
// rejected token. The callers share it by a2a.Owner.Share, so that nobody evicts the tokens of others with many or with long ones. It is safe
// for concurrent use.
type tokenCache struct {
	entries *sharedcache.Cache[string, [sha256.Size]byte, verifiedToken]
}

type verifiedToken struct {
	caller Caller
	// until is the time from which get ignores the entry. expiry is the expiry of the token.
	until, expiry time.Time
}

func newTokenCache() *tokenCache {
	return &tokenCache{sharedcache.New[string, [sha256.Size]byte, verifiedToken](maxVerifiedBytes)}
}

// authenticate returns the caller of the bearer token of a request. If the cache does not
// have the caller, authenticate calls verify, which also returns the expiry of the token,
// and caches a success.
func (c *tokenCache) authenticate(r *http.Request, now time.Time, verify func(text string) (Caller, time.Time, error)) (Caller, error) {
	text, ok := bearer(r)
	if !ok {
		return Caller{}, ErrNoCredential
	}
	if len(text) > maxToken {
		return Caller{}, unauthenticated("Token is too long")
	}
	if caller, ok := c.get(text, now); ok {
		return caller, nil
	}
	caller, expiry, err := verify(text)
	if err == nil {
		c.put(text, caller, expiry, now)
	}
	return caller, err
}

// verifiedBefore implements Authenticator.VerifiedBefore for bearer tokens.
func (c *tokenCache) verifiedBefore(r *http.Request, now time.Time) (Credential, bool) {
	text, ok := bearer(r)
	if !ok {
		return CredentialNone, false
	}
	return CredentialToken, len(text) <= maxToken && c.has(text, now)
}

func (c *tokenCache) get(token string, now time.Time) (Caller, bool) {
	entry, ok := c.entries.Get(sha256.Sum256([]byte(token)))
	if !ok || !now.Before(entry.until) {
		return Caller{}, false
	}
	return entry.caller, true
}

// has reports whether a token was verified before and has not expired. It ignores until.
func (c *tokenCache) has(token string, now time.Time) bool {
	entry, ok := c.entries.Get(sha256.Sum256([]byte(token)))
	return ok && now.Before(entry.expiry)
}

func (c *tokenCache) put(token string, caller Caller, expiry, now time.Time) {
	until := now.Add(maxVerifyAge)
	if expiry.Before(until) {
		until = expiry
	}
	c.entries.Put(caller.Owner.Share(), sha256.Sum256([]byte(token)), verifiedToken{caller, until, expiry}, costOf(token, &caller))
}

// costOf returns the bytes that the entry of a token takes, by estimate.
func costOf(token string, caller *Caller) int {
	cost := callerBytes + len(token)
	if caller.Claims == nil && caller.Subject == nil {
		return cost
	}
	_, payload, _ := strings.Cut(token, ".")
	payload, _, _ = strings.Cut(payload, ".")
	claims, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return cost // the token was verified, so it has a payload
	}
	return cost + int(jsonweight.Of(claims, 0))
}

// keyedCache caches the callers whose credentials the current keys have verified. New
// keys begin with an empty cache, so that credentials of withdrawn keys are refused.
type keyedCache[K any] struct {
	current atomic.Pointer[keyedCallers[K]]
}

type keyedCallers[K any] struct {
	keys    *K
	callers *tokenCache
}

// of returns the cache of the callers that the keys have verified. If the keys differ from
// those of the last call, it replaces the cache by an empty one. A nil keys differs from all
// keys.
func (c *keyedCache[K]) of(keys *K) *tokenCache {
	if current := c.current.Load(); current != nil && current.keys == keys {
		return current.callers
	}
	made := &keyedCallers[K]{keys, newTokenCache()}
	c.current.Store(made)
	return made.callers
}
