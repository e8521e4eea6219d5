// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// cache has the logs that somebody here uses or may use again. It takes the
// memory of those that were used the longest ago: they stay what they are, and
// read from Redis what they are asked next.
type cache struct {
	limit     int64
	encodings encodings

	mu    sync.Mutex
	logs  map[store.Key]*log
	bytes int64
	// used orders the logs that hold something, the least recently used first.
	used *list.List
}

func newCache(limit int64) cache {
	return cache{limit: limit, encodings: encodings{limit: limit / 2}, logs: map[store.Key]*log{}, used: list.New()}
}

// encodings bounds what records keep beside their events.
type encodings struct {
	limit int64
	bytes atomic.Int64
}

// room is that of one log.
type room struct {
	*encodings
	// readers is how many watch the log.
	readers atomic.Int64
}

var _ a2a.Room = (*room)(nil)

// Shared implements a2a.Room.
func (r *room) Shared() bool { return r.readers.Load() > 1 }

// Take implements a2a.Room.
func (e *encodings) Take(bytes int64) bool {
	if e.bytes.Add(bytes) <= e.limit {
		return true
	}
	e.bytes.Add(-bytes)
	return false
}

// Give implements a2a.Room.
func (e *encodings) Give(bytes int64) { e.bytes.Add(-bytes) }

func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// get returns the log of a task, which may hold nothing yet.
func (c *cache) get(s *Store, k store.Key) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.logs[k]; l != nil {
		return l
	}
	return c.add(s, k)
}

// replace returns a new log: a former one is of a task that is gone.
func (c *cache) replace(s *Store, k store.Key) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(s, k)
}

func (c *cache) add(s *Store, k store.Key) *log {
	l := &log{store: s, key: k, name: nameOf(k), room: room{encodings: &c.encodings}}
	c.logs[k] = l
	return l
}

// discard forgets a log that holds nothing.
func (c *cache) discard(l *log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.at == nil && c.logs[l.key] == l {
		delete(c.logs, l.key)
	}
}

// charge sets what a log holds, and returns those that must hold nothing any
// more. The caller has the lock of the log, and of no other.
func (c *cache) charge(l *log, bytes int64) (victims []*log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes - l.charged
	l.charged = bytes
	switch {
	case bytes == 0:
		if l.at != nil {
			c.used.Remove(l.at)
			l.at = nil
		}
		if c.logs[l.key] == l {
			delete(c.logs, l.key)
		}
	case l.at == nil:
		l.at = c.used.PushBack(l)
		if c.logs[l.key] == nil {
			c.logs[l.key] = l
		}
	default:
		c.used.MoveToBack(l.at)
	}
	over := c.bytes - c.limit
	for at := c.used.Front(); at != nil && over > 0; at = at.Next() {
		if victim := at.Value.(*log); victim != l { //nolint:forcetypeassert // the list holds nothing else
			over -= victim.charged
			victims = append(victims, victim)
		}
	}
	return victims
}

// shed takes the memory of logs. The caller holds no lock.
func shed(victims []*log) {
	for _, l := range victims {
		l.mu.Lock()
		l.forget()
		l.store.cache.charge(l, 0)
		l.mu.Unlock()
	}
}
