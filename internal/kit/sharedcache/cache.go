// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharedcache is a cache of bounded size that tenants share fairly.
//
// The package does not know what a tenant is.
package sharedcache

import (
	"container/list"
	"sync"
)

// Cache has the last values of keys. A full cache evicts the least recently used entry of the tenant that uses the most
// of it, so that no tenant evicts the entries of another one that uses less. It is safe for concurrent use.
type Cache[T, K comparable, V any] struct {
	maxCost int

	mu      sync.Mutex
	cost    int
	entries map[K]*list.Element
	shares  map[T]*share
}

// share has the entries of one tenant, the least recently used one first.
type share struct {
	cost  int
	order list.List
}

type entry[T, K comparable, V any] struct {
	tenant T
	key    K
	value  V
	cost   int
}

// New returns a Cache whose entries cost at most maxCost.
func New[T, K comparable, V any](maxCost int) *Cache[T, K, V] {
	return &Cache[T, K, V]{maxCost: maxCost, entries: map[K]*list.Element{}, shares: map[T]*share{}}
}

// Get returns the value of a key, and false if there is none.
func (c *Cache[T, K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.entries[key]
	if !found {
		return value, false
	}
	e := c.entryOf(element)
	c.shares[e.tenant].order.MoveToBack(element)
	return e.value, true
}

// Put sets the value of a key, for a tenant and with a cost.
func (c *Cache[T, K, V]) Put(tenant T, key K, value V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	s := c.shares[tenant]
	if s == nil {
		s = &share{}
		c.shares[tenant] = s
	}
	c.entries[key] = s.order.PushBack(&entry[T, K, V]{tenant, key, value, cost})
	s.cost += cost
	c.cost += cost
	for c.cost > c.maxCost {
		c.evict()
	}
}

// Remove removes the entry of a key.
func (c *Cache[T, K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
}

// RemoveFunc removes the entries of a tenant for whose keys remove returns true.
func (c *Cache[T, K, V]) RemoveFunc(tenant T, remove func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shares[tenant]
	if s == nil {
		return
	}
	for element := s.order.Front(); element != nil; {
		next := element.Next()
		if key := c.entryOf(element).key; remove(key) {
			c.remove(key)
		}
		element = next
	}
}

// Clear removes all entries.
func (c *Cache[T, K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cost = 0
	clear(c.entries)
	clear(c.shares)
}

// Size returns the number of entries and their cost.
func (c *Cache[T, K, V]) Size() (entries, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.cost
}

// evict removes one entry. The caller holds the lock.
func (c *Cache[T, K, V]) evict() {
	var largest *share
	for _, s := range c.shares {
		if largest == nil || s.cost > largest.cost {
			largest = s
		}
	}
	c.remove(c.entryOf(largest.order.Front()).key)
}

// remove removes the entry of a key. The caller holds the lock.
func (c *Cache[T, K, V]) remove(key K) {
	element, found := c.entries[key]
	if !found {
		return
	}
	e := c.entryOf(element)
	s := c.shares[e.tenant]
	s.order.Remove(element)
	s.cost -= e.cost
	c.cost -= e.cost
	delete(c.entries, key)
	if s.order.Len() == 0 {
		delete(c.shares, e.tenant)
	}
}

func (*Cache[T, K, V]) entryOf(element *list.Element) *entry[T, K, V] {
	return element.Value.(*entry[T, K, V]) // the lists have nothing else
}
