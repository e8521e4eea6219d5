// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// evictionPlace is the position of a log in the lists of eviction. Store.mu guards
// it.
type evictionPlace struct {
	queue *list.List
	at    *list.Element
	// own is the list of the account, and ownAt the position there.
	own   *list.List
	ownAt *list.Element
	since time.Time
}

func (p *evictionPlace) leave() {
	if p.queue != nil {
		p.queue.Remove(p.at)
		p.own.Remove(p.ownAt)
	}
}

// queueOf returns the list for tasks in a state; nil for tasks that are being
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

// file moves a log to the list of its state. Store.mu is held.
func (s *Store) file(l *log) {
	state, gone := l.state()
	queue := s.queueOf(state)
	if gone || queue == l.place.queue {
		return
	}
	l.place.leave()
	s.removePaused(l)
	l.place = evictionPlace{queue: queue, since: s.options.Now()}
	if queue == &s.idle {
		s.addPaused(l)
	}
	switch queue {
	case nil:
		return
	case &s.finished:
		l.place.own = &l.account.finished
	default:
		l.place.own = &l.account.idle
	}
	l.place.at, l.place.ownAt = queue.PushBack(l), l.place.own.PushBack(l)
}

// expire evicts finished tasks whose retention has passed. Store.mu is held.
func (s *Store) expire() {
	for first := s.finished.Front(); first != nil; first = s.finished.Front() {
		l := first.Value.(*log)
		if s.options.Now().Sub(l.place.since) < s.options.Retention {
			return
		}
		// The lists are updated after an append, so the task may work again.
		if state, _ := l.state(); !state.Terminal() {
			s.file(l)
			continue
		}
		s.evict(l)
	}
}

func (s *Store) evict(l *log) {
	delete(s.logs, l.key)
	s.removeFromOwner(l)
	l.place.leave()
	s.removePaused(l)
	l.place = evictionPlace{}
	l.account.tasks--
	s.add(l.account, -l.remove())
	s.removeIfEmpty(l.key.Owner.Principal(), l.account)
}

// reserve charges bytes to an account, evicts until they are within the bounds, and
// reports whether that was possible. Store.mu is held.
func (s *Store) reserve(a *account, size int64, spare *log) bool {
	for within := s.add(a, size); !within; within = s.withinBounds(a) {
		if !s.evictFor(a, spare) {
			s.add(a, -size)
			return false
		}
	}
	return true
}
