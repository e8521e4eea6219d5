// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharedcache is a cache of bounded size that tenants share fairly.
//
// The package does not know what a tenant is.
package sharedcache

import (
	"container/list"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/kit/ranking"
)

// Cache has the last values of keys. A full cache evicts the least recently used entry of the tenant that uses the most
// of it, so that no tenant evicts the entries of another one that uses less. Of tenants that use as much, it is the one with the least recently used
// entry. It is safe for concurrent use.
type Cache[T, K comparable, V any] struct {
	maxCost int

	mu      sync.Mutex
	cost    int
	entries map[K]*list.Element
	shares  map[T]*share[T, K, V]
	// byCost has the shares, the one of which an entry is evicted first. uses counts the uses of entries.
	byCost *ranking.Ranking[*share[T, K, V]]
	uses   uint64
}

// share has the entries of one tenant, the least recently used one first.
type share[T, K comparable, V any] struct {
	cost  int
	order list.List
	place *ranking.Place[*share[T, K, V]]
}

func (s *share[T, K, V]) oldest() *entry[T, K, V] { return entryOf[T, K, V](s.order.Front()) }

func (s *share[T, K, V]) isBefore(other *share[T, K, V]) bool {
	return s.cost > other.cost || s.cost == other.cost && s.oldest().used < other.oldest().used
}

type entry[T, K comparable, V any] struct {
	tenant T
	key    K
	value  V
	cost   int
	// used is the number of the last use.
	used uint64
}

func entryOf[T, K comparable, V any](element *list.Element) *entry[T, K, V] {
	return element.Value.(*entry[T, K, V]) // the lists have nothing else
}

// New returns a Cache whose entries cost at most maxCost.
func New[T, K comparable, V any](maxCost int) *Cache[T, K, V] {
	byCost := ranking.New((*share[T, K, V]).isBefore)
	return &Cache[T, K, V]{maxCost: maxCost, entries: map[K]*list.Element{}, shares: map[T]*share[T, K, V]{}, byCost: byCost}
}

// Get returns the value of a key, and false if there is none.
func (c *Cache[T, K, V]) Get(key K) (value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, found := c.entries[key]
	if !found {
		return value, false
	}
	e := entryOf[T, K, V](element)
	c.uses++
	e.used = c.uses
	s := c.shares[e.tenant]
	s.order.MoveToBack(element)
	c.byCost.Moved(s.place)
	return e.value, true
}

// Put sets the value of a key, for a tenant and with a cost.
func (c *Cache[T, K, V]) Put(tenant T, key K, value V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	s := c.shares[tenant]
	if s == nil {
		s = &share[T, K, V]{}
		c.shares[tenant] = s
	}
	c.uses++
	c.entries[key] = s.order.PushBack(&entry[T, K, V]{tenant, key, value, cost, c.uses})
	s.cost += cost
	c.cost += cost
	if s.place == nil {
		s.place = c.byCost.Add(s)
	} else {
		c.byCost.Moved(s.place)
	}
	for c.cost > c.maxCost {
		c.remove(c.byCost.First().oldest().key)
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
		if key := entryOf[T, K, V](element).key; remove(key) {
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
	c.byCost = ranking.New((*share[T, K, V]).isBefore)
}

// Size returns the number of entries and their cost.
func (c *Cache[T, K, V]) Size() (entries, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.cost
}

// remove removes the entry of a key. The caller holds the lock.
func (c *Cache[T, K, V]) remove(key K) {
	element, found := c.entries[key]
	if !found {
		return
	}
	e := entryOf[T, K, V](element)
	s := c.shares[e.tenant]
	s.order.Remove(element)
	s.cost -= e.cost
	c.cost -= e.cost
	delete(c.entries, key)
	if s.order.Len() > 0 {
		c.byCost.Moved(s.place)
		return
	}
	c.byCost.Remove(s.place)
	delete(c.shares, e.tenant)
}
