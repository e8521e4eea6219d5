// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the cache: the number of entries, and the time for which an entry is used.
// This time is shorter than the lifetime of most tokens, so that the signature of a token
// is verified again from time to time.
const (
	maxVerified  = 4096
	maxVerifyAge = 5 * time.Minute
	// maxClaimsBytes bounds the total length of the tokens with cached claims, in bytes.
	maxClaimsBytes = 4 << 20
)

// tokenCache caches callers by their verified token, so that the signature of a frequent
// caller's token is not verified for each request. It stores hashes of tokens, and no
// rejected token. It is safe for concurrent use.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[[sha256.Size]byte]verifiedToken
	// claimsBytes is the sum of the field claimsBytes of all entries.
	claimsBytes int
}

type verifiedToken struct {
	caller Caller
	// until is the time from which get ignores the entry. expiry is the expiry of the token.
	until, expiry time.Time
	// claimsBytes is the length of the token in bytes if its claims or its subject are cached, and 0
	// otherwise.
	claimsBytes int
}

func newTokenCache() *tokenCache {
	return &tokenCache{entries: map[[sha256.Size]byte]verifiedToken{}}
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
	key := sha256.Sum256([]byte(token))
	c.mu.RLock()
	entry, ok := c.entries[key]
	c.mu.RUnlock()
	if !ok || !now.Before(entry.until) {
		return Caller{}, false
	}
	return entry.caller, true
}

// has reports whether a token was verified before and has not expired. It ignores until.
func (c *tokenCache) has(token string, now time.Time) bool {
	key := sha256.Sum256([]byte(token))
	c.mu.RLock()
	entry, ok := c.entries[key]
	c.mu.RUnlock()
	return ok && now.Before(entry.expiry)
}

func (c *tokenCache) put(token string, caller Caller, expiry, now time.Time) {
	until := now.Add(maxVerifyAge)
	if expiry.Before(until) {
		until = expiry
	}
	key := sha256.Sum256([]byte(token))
	size := 0
	if caller.Claims != nil || caller.Subject != nil {
		size = len(token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxVerified || c.claimsBytes+size > maxClaimsBytes {
		c.shrink(now)
	}
	c.claimsBytes += size - c.entries[key].claimsBytes
	c.entries[key] = verifiedToken{caller: caller, until: until, expiry: expiry, claimsBytes: size}
}

// shrink evicts expired entries, and then entries in random order until a quarter of the
// cache is free. c.mu must be held.
func (c *tokenCache) shrink(now time.Time) {
	for key, entry := range c.entries {
		if !now.Before(entry.until) {
			c.evict(key, entry)
		}
	}
	for key, entry := range c.entries {
		if len(c.entries) <= maxVerified*3/4 && c.claimsBytes <= maxClaimsBytes*3/4 {
			return
		}
		c.evict(key, entry)
	}
}

func (c *tokenCache) evict(key [sha256.Size]byte, entry verifiedToken) {
	c.claimsBytes -= entry.claimsBytes
	delete(c.entries, key)
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
