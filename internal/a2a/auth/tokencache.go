// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds on what is remembered. Tokens are renewed every hour or so; a shorter
// memory lets a changed set of keys take effect even when it is not reloaded.
const (
	maxVerified  = 4096
	maxVerifyAge = 5 * time.Minute
	// maxKept bounds the tokens whose claims are kept, in bytes of their text.
	maxKept = 4 << 20
)

// tokenCache remembers tokens that were verified, so that a client which
// calls often costs one signature in a while. It holds hashes, and no token
// that was refused.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[[sha256.Size]byte]verifiedToken
	// kept is the sum of what entries keep.
	kept int
}

type verifiedToken struct {
	caller Caller
	// until is when it is verified again, expiry when that would be in vain.
	until, expiry time.Time
	// kept is the length of a token whose claims are kept, 0 of others.
	kept int
}

func newTokenCache() *tokenCache {
	return &tokenCache{entries: map[[sha256.Size]byte]verifiedToken{}}
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

// has reports whether a token was verified and is worth to be verified again.
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
	kept := 0
	if caller.Claims != nil {
		kept = len(token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxVerified || c.kept+kept > maxKept {
		c.shrink(now)
	}
	c.kept += kept - c.entries[key].kept
	c.entries[key] = verifiedToken{caller: caller, until: until, expiry: expiry, kept: kept}
}

// shrink forgets what has expired, and when that is too little a quarter of
// the rest, whichever the map yields.
func (c *tokenCache) shrink(now time.Time) {
	for key, entry := range c.entries {
		if !now.Before(entry.until) {
			c.forget(key, entry)
		}
	}
	for key, entry := range c.entries {
		if len(c.entries) <= maxVerified*3/4 && c.kept <= maxKept*3/4 {
			return
		}
		c.forget(key, entry)
	}
}

func (c *tokenCache) forget(key [sha256.Size]byte, entry verifiedToken) {
	c.kept -= entry.kept
	delete(c.entries, key)
}
