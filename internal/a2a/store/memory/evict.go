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
	// own is the queue of the account, and ownAt the place there.
	own   *list.List
	ownAt *list.Element
	since time.Time
}

func (p *place) leave() {
	if p.queue != nil {
		p.queue.Remove(p.at)
		p.own.Remove(p.ownAt)
	}
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
	l.place.leave()
	s.unpaused(l)
	l.place = place{queue: queue, since: s.options.Now()}
	if queue == &s.idle {
		s.pausedAt(l)
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

func (s *Store) evict(l *log) {
	delete(s.logs, l.key)
	s.delist(l)
	l.place.leave()
	s.unpaused(l)
	l.place = place{}
	l.account.tasks--
	s.add(l.account, -l.remove())
	s.tidy(l.key.Owner.Principal(), l.account)
}

// reserve takes room for an account, evicting for it, and reports whether there
// was enough. Store.mu is held.
func (s *Store) reserve(a *account, size int64, spare *log) bool {
	for within := s.add(a, size); !within; within = s.fits(a) {
		if !s.evictFor(a, spare) {
			s.add(a, -size)
			return false
		}
	}
	return true
}
