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

// digest is an owner or a context in a key: 32 characters, whatever it is
// called.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.EncodeToString(sum[:24])
}

// nameOf is a task in a key.
func nameOf(k store.Key) string { return digest(string(k.Owner)) + k.TaskID }

// tokenText is a token as it is stored. The caller of a write without a token never
// repeats it, but the store may.
func tokenText(t store.Token) []byte {
	if t == 0 {
		t = store.NewToken()
	}
	return binary.BigEndian.AppendUint64(nil, uint64(t))
}

// placeOf is where a time stands in a list: microseconds, which a double holds
// up to the year 2255, and to the millisecond for as long as anybody cares.
func placeOf(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// statusOf returns the state that events lead to, and its place; "" when they
// do not touch it.
func statusOf(events []a2a.Event) (state, place string) {
	for _, e := range slices.Backward(events) {
		if u := e.Status; u != nil {
			return number(u.Status.State), placeOf(u.Status.Time)
		}
	}
	return "", ""
}
