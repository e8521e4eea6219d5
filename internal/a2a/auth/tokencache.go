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
)

// tokenCache remembers tokens that were verified, so that a client which
// calls often costs one signature in a while. It holds hashes, and no token
// that was refused.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[[sha256.Size]byte]verifiedToken
}

type verifiedToken struct {
	caller Caller
	until  time.Time
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

func (c *tokenCache) put(token string, caller Caller, expiry, now time.Time) {
	until := now.Add(maxVerifyAge)
	if expiry.Before(until) {
		until = expiry
	}
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= maxVerified {
		c.shrink(now)
	}
	c.entries[key] = verifiedToken{caller: caller, until: until}
}

// shrink forgets what has expired, and when that is too little a quarter of
// the rest, whichever the map yields.
func (c *tokenCache) shrink(now time.Time) {
	for key, entry := range c.entries {
		if !now.Before(entry.until) {
			delete(c.entries, key)
		}
	}
	excess := len(c.entries) - maxVerified*3/4
	for key := range c.entries {
		if excess <= 0 {
			return
		}
		delete(c.entries, key)
		excess--
	}
}
