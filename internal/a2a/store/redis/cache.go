// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"container/list"
	"maps"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func newCache(limit int64) cache {
	return cache{limit: limit, encodings: store.Encodings{Limit: limit / 2}, logs: map[store.Key]*log{}, used: list.New()}
}

func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// get returns the log of a task. If the cache has none, it adds a log whose events are not
// in memory yet.
func (c *cache) get(s *Store, k store.Key) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.logs[k]; l != nil {
		return l
	}
	return c.add(s, k)
}

// distrust is called when the server has lost writes. Every log then reads its state
// again before it is used.
func (c *cache) distrust() {
	c.mu.Lock()
	logs := slices.Collect(maps.Values(c.logs))
	c.mu.Unlock()
	for _, l := range logs {
		l.mu.Lock()
		l.indeterminate++
		l.mu.Unlock()
	}
}

// replace returns a new log for a task that was created. A former log of the same key
// belongs to a task that no longer exists.
func (c *cache) replace(s *Store, k store.Key) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(s, k)
}

func (c *cache) add(s *Store, k store.Key) *log {
	l := &log{store: s, key: k, name: nameOf(k), room: store.Room{Encodings: &c.encodings}}
	c.logs[k] = l
	return l
}

// discard removes a log from the cache if no events of the log are in memory.
func (c *cache) discard(l *log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.cacheEntry == nil && c.logs[l.key] == l {
		delete(c.logs, l.key)
	}
}

// charge sets the bytes that a log holds, and returns the least recently used logs that the
// caller must pass to dropMemories; 0 bytes removes the log from the cache. The caller holds
// the lock of this log and of no other log.
func (c *cache) charge(l *log, bytes int64) (victims []*log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes - l.charged
	l.charged = bytes
	switch {
	case bytes == 0:
		if l.cacheEntry != nil {
			c.used.Remove(l.cacheEntry)
			l.cacheEntry = nil
		}
		if c.logs[l.key] == l {
			delete(c.logs, l.key)
		}
	case l.cacheEntry == nil:
		l.cacheEntry = c.used.PushBack(l)
		if c.logs[l.key] == nil {
			c.logs[l.key] = l
		}
	default:
		c.used.MoveToBack(l.cacheEntry)
	}
	over := c.bytes - c.limit
	for at := c.used.Front(); at != nil && over > 0; at = at.Next() {
		if victim := at.Value.(*log); victim != l { // the list holds only logs
			over -= victim.charged
			victims = append(victims, victim)
		}
	}
	return victims
}
