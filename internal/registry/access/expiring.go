// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// expiring is a cache of values with a lifetime and a capacity. It evicts the
// least recently used value. It is safe for concurrent use.
type expiring[K comparable, V any] struct {
	clock    clock.PassiveClock
	lifetime time.Duration
	capacity int

	mu      sync.Mutex
	byKey   map[K]*list.Element
	byUsage *list.List // of *remembered[K, V], the latest first
}

type remembered[K comparable, V any] struct {
	key   K
	value V
	until time.Time
}

func newExpiring[K comparable, V any](c clock.PassiveClock, lifetime time.Duration, capacity int) *expiring[K, V] {
	return &expiring[K, V]{
		clock: c, lifetime: lifetime, capacity: capacity,
		byKey: make(map[K]*list.Element), byUsage: list.New(),
	}
}

func (e *expiring[K, V]) get(key K) (value V, found bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	element, found := e.byKey[key]
	if !found {
		return value, false
	}
	entry := element.Value.(*remembered[K, V])
	if !e.clock.Now().Before(entry.until) {
		e.remove(element)
		return value, false
	}
	e.byUsage.MoveToFront(element)
	return entry.value, true
}

func (e *expiring[K, V]) put(key K, value V) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if element, found := e.byKey[key]; found {
		e.remove(element)
	}
	entry := &remembered[K, V]{key: key, value: value, until: e.clock.Now().Add(e.lifetime)}
	e.byKey[key] = e.byUsage.PushFront(entry)
	if len(e.byKey) > e.capacity {
		e.remove(e.byUsage.Back())
	}
}

func (e *expiring[K, V]) remove(element *list.Element) {
	e.byUsage.Remove(element)
	delete(e.byKey, element.Value.(*remembered[K, V]).key)
}
