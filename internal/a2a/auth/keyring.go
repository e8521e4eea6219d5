// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
	// maxCallerName is the limit of a data key of a Secret.
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

// ParseAPIKeys reads files by the names of their callers. Each file has one key per line.
// ParseAPIKeys returns the usable keys and one error for each unusable key or file, so
// that one mistake does not lock out all callers. Errors contain names of callers and
// never a key.
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
					ring.drop(sum)
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

func (k *KeyRing) drop(sum [sha256.Size]byte) {
	k.entries = slices.DeleteFunc(k.entries, func(e keyEntry) bool { return e.sum == sum })
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
