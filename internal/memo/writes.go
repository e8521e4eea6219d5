// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memo

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// cacheDelay is the longest time for which a write is pending while the cache shows a version
// between the one before the write and the one that the write made. It is bounded because the
// resource versions of an API server start again at a lower number after a restore of its
// storage.
const cacheDelay = time.Minute

// Writes maps keys to the last write of an object, which the cache may not show yet. Its methods
// are safe for concurrent use.
//
// A write is pending while the cached object has the resource version from before the write. For
// up to a minute, it is also pending while the cached object has another version that is older
// than the version of the write. The cache then shows an earlier write, of the operator or of
// another client.
type Writes[K comparable, V any] struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries *lru.Cache
}

// Write is a write of an object.
type Write[V any] struct {
	// Before is the cached resource version at the time of the write, "" for no object.
	Before string
	// After is the resource version that the write made, "" if it is unknown.
	After string
	// Value describes the write.
	Value V
	// PendingFor bounds how long the write is pending; 0 means no bound.
	PendingFor time.Duration
}

type sentWrite[V any] struct {
	Write[V]
	at    time.Time
	shown bool
}

// NewWrites returns Writes of at most size entries. Full Writes evict the least recently used
// entry.
func NewWrites[K comparable, V any](size int, passive clock.PassiveClock) *Writes[K, V] {
	return &Writes[K, V]{clock: passive, entries: lru.New(size)}
}

// Put stores the write of a key, and replaces the earlier write of the key.
func (w *Writes[K, V]) Put(key K, write Write[V]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries.Add(key, &sentWrite[V]{Write: write, at: w.clock.Now()})
}

// Pending returns the value of a key's write if the write is pending while the cache shows the
// version cached, "" for no object. After the first call for which the write is not pending, it
// is never pending again.
func (w *Writes[K, V]) Pending(key K, cached string) (value V, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent(key)
	if sent == nil || sent.shown {
		return value, false
	}
	if !sent.pending(cached, w.clock.Since(sent.at)) {
		sent.shown = true
		return value, false
	}
	return sent.Value, true
}

func (s *sentWrite[V]) pending(cached string, age time.Duration) bool {
	if s.PendingFor > 0 && age >= s.PendingFor {
		return false
	}
	return cached == s.Before || age < cacheDelay && older(cached, s.After)
}

// older reports whether a resource version is older than another one. It returns false if one
// of them is not a number.
func older(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

// Last returns the value of a key's last write, pending or not.
func (w *Writes[K, V]) Last(key K) (value V, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sent := w.sent(key); sent != nil {
		return sent.Value, true
	}
	return value, false
}

// Drop removes the write of a key.
func (w *Writes[K, V]) Drop(key K) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries.Remove(key)
}

func (w *Writes[K, V]) sent(key K) *sentWrite[V] {
	value, _ := w.entries.Get(key)
	sent, _ := value.(*sentWrite[V])
	return sent
}
