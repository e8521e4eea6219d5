// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxRepeats bounds the entries of Repeats.
	maxRepeats = 16 << 10
	// freeRepeats is the number of writes that wait for nothing. Each further one waits for twice the time of the last, from a second
	// to maxRepeatWait. The count begins anew when repeatsFor has passed since the last write. A person or a program that changes an object by
	// hand again and again finds it repaired at once, and never waits long: an open NetworkPolicy must not stay.
	freeRepeats   = 50
	maxRepeatWait = 10 * time.Second
	repeatsFor    = 5 * time.Minute
)

// Repeats counts the writes of the same content, each of which has changed the object. If a policy or a webhook changes each write to another
// value, each write causes the event that starts the next one, for ever. Its methods are safe for concurrent use.
type Repeats[K comparable] struct {
	memo  *Memo[K, string, repeats]
	clock clock.PassiveClock
}

// repeats are the writes of one content. It is immutable.
type repeats struct {
	count int
	next  time.Time
}

// NewRepeats returns Repeats.
func NewRepeats[K comparable](passive clock.PassiveClock) *Repeats[K] {
	return &Repeats[K]{memo: New[K, string, repeats](maxRepeats, passive), clock: passive}
}

// Wrote counts a write of content that has changed an object.
func (r *Repeats[K]) Wrote(key K, content string) {
	known, _ := r.memo.Get(key, content)
	now := r.clock.Now()
	next := repeats{count: known.count + 1, next: now}
	if beyond := next.count - freeRepeats; beyond >= 0 {
		next.next = now.Add(min(time.Second<<min(beyond, 10), maxRepeatWait))
	}
	r.memo.Put(key, content, next, now.Add(repeatsFor))
}

// Wait returns the number of writes of content, and the time before the next one; 0 for none.
func (r *Repeats[K]) Wait(key K, content string) (count int, left time.Duration) {
	known, _ := r.memo.Get(key, content)
	return known.count, max(known.next.Sub(r.clock.Now()), 0)
}

// Clear removes all entries.
func (r *Repeats[K]) Clear() { r.memo.Clear() }
