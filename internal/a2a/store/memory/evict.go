// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// place is where a log stands in the order of eviction. Store.mu guards it.
type place struct {
	queue *list.List
	at    *list.Element
	since time.Time
}

// queueOf returns the queue for tasks in a state; nil for those that are being
// worked on.
func (s *Store) queueOf(state a2a.State) *list.List {
	switch {
	case state.Terminal():
		return &s.finished
	case state.Interrupted():
		return &s.idle
	default:
		return nil
	}
}

// file puts a log where its state belongs. Store.mu is held.
func (s *Store) file(l *log) {
	state, gone := l.state()
	queue := s.queueOf(state)
	if gone || queue == l.place.queue {
		return
	}
	if l.place.queue != nil {
		l.place.queue.Remove(l.place.at)
	}
	l.place = place{queue: queue, since: s.options.Now()}
	if queue != nil {
		l.place.at = queue.PushBack(l)
	}
}

// expire evicts finished tasks that are too old. Store.mu is held.
func (s *Store) expire() {
	for first := s.finished.Front(); first != nil; first = s.finished.Front() {
		l := first.Value.(*log)
		if s.options.Now().Sub(l.place.since) < s.options.Retention {
			return
		}
		// A log is filed after it was appended to: the task may work again.
		if state, _ := l.state(); !state.Terminal() {
			s.file(l)
			continue
		}
		s.evict(l)
	}
}

// evictOldest makes room and reports whether it could. It spares one log.
// Store.mu is held.
func (s *Store) evictOldest(spare *log) bool {
	for _, queue := range []*list.List{&s.finished, &s.idle} {
		for at := queue.Front(); at != nil; at = at.Next() {
			l := at.Value.(*log)
			// A log is filed after it was appended to: look again.
			if state, _ := l.state(); l == spare || s.queueOf(state) == nil {
				continue
			}
			s.evict(l)
			return true
		}
	}
	return false
}

func (s *Store) evict(l *log) {
	delete(s.logs, l.key)
	s.delist(l)
	l.place.queue.Remove(l.place.at)
	l.place = place{}
	s.bytes.Add(-l.remove())
}

// reserve takes room, evicting for it, and reports whether there was enough.
// Store.mu is held.
func (s *Store) reserve(size int64, spare *log) bool {
	total := s.bytes.Add(size)
	for total > s.options.MaxBytes {
		if !s.evictOldest(spare) {
			s.bytes.Add(-size)
			return false
		}
		total = s.bytes.Load()
	}
	return true
}
