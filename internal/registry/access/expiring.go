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
type expiring[V any] struct {
	clock    clock.PassiveClock
	lifetime time.Duration
	capacity int

	mu      sync.Mutex
	byKey   map[string]*list.Element
	byUsage *list.List // of *remembered[V], the latest first
}

type remembered[V any] struct {
	key   string
	value V
	until time.Time
}

func newExpiring[V any](c clock.PassiveClock, lifetime time.Duration, capacity int) *expiring[V] {
	return &expiring[V]{
		clock: c, lifetime: lifetime, capacity: capacity,
		byKey: make(map[string]*list.Element), byUsage: list.New(),
	}
}

func (e *expiring[V]) get(key string) (value V, found bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	element, found := e.byKey[key]
	if !found {
		return value, false
	}
	entry := element.Value.(*remembered[V])
	if !e.clock.Now().Before(entry.until) {
		e.remove(element)
		return value, false
	}
	e.byUsage.MoveToFront(element)
	return entry.value, true
}

func (e *expiring[V]) put(key string, value V) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if element, found := e.byKey[key]; found {
		e.remove(element)
	}
	entry := &remembered[V]{key: key, value: value, until: e.clock.Now().Add(e.lifetime)}
	e.byKey[key] = e.byUsage.PushFront(entry)
	if len(e.byKey) > e.capacity {
		e.remove(e.byUsage.Back())
	}
}

func (e *expiring[V]) remove(element *list.Element) {
	e.byUsage.Remove(element)
	delete(e.byKey, element.Value.(*remembered[V]).key)
}
