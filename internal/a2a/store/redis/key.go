// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// digest returns the hash of an owner or a context that keys contain, 32 characters.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// nameOf returns the name of a task in keys.
func nameOf(k store.Key) string { return digest(string(k.Owner)) + k.TaskID }

// principalOf returns the principal of a task in keys: its owner without the tenant.
func principalOf(k store.Key) string { return digest(k.Owner.Principal()) }

// shareOf returns the share of an owner in keys (a2a.Owner.Share), "" if it is that of the principal alone.
func shareOf(owner a2a.Owner) string {
	share := owner.Share()
	if share == owner.Principal() {
		return ""
	}
	return digest(share)
}

// tokenText encodes a token. For a write without a token, it makes one: the caller
// never repeats such a write, but the store may.
func tokenText(t store.Token) []byte {
	if t == 0 {
		t = store.NewToken()
	}
	return binary.BigEndian.AppendUint64(nil, uint64(t))
}

// positionOf returns the score of a time in a list: microseconds, which a double
// holds exactly up to the year 2255.
func positionOf(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// statusOf returns the last state in events, and its position in a list; both are "" if
// events has no status.
func statusOf(events []a2a.Event) (state, place string) {
	for _, e := range slices.Backward(events) {
		if u := e.Status; u != nil {
			return number(u.Status.State), positionOf(u.Status.Time)
		}
	}
	return "", ""
}
