// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"sync/atomic"
)

// account is what one principal holds, whatever the tenant. Store.mu guards all
// but the bytes.
type account struct {
	tasks int
	bytes atomic.Int64
	// finished and idle are those of the store that are its own, in the same
	// order.
	finished, idle list.List
}

// sampled bounds the accounts that are looked at to find the heaviest, beside
// the one that was when it last grew.
const sampled = 64

// weight is the part of the store that an account holds, of the bound that is
// nearer.
func (s *Store) weight(a *account) float64 {
	return max(float64(a.tasks)/float64(s.options.MaxTasks), float64(a.bytes.Load())/float64(s.options.MaxBytes))
}

// accountOf returns the account of a principal. Store.mu is held.
func (s *Store) accountOf(principal string) *account {
	a := s.accounts[principal]
	if a == nil {
		a = &account{}
		s.accounts[principal] = a
	}
	return a
}

// tidy forgets an account without tasks. Store.mu is held.
func (s *Store) tidy(principal string, a *account) {
	if a.tasks > 0 {
		return
	}
	delete(s.accounts, principal)
	if s.heavy == a {
		s.heavy = nil
	}
}

// add charges an account, and reports whether it and the store keep to their
// bounds.
func (s *Store) add(a *account, bytes int64) bool {
	own, all := a.bytes.Add(bytes), s.bytes.Add(bytes)
	return own <= s.share && all <= s.options.MaxBytes
}

func (s *Store) fits(a *account) bool {
	return a.bytes.Load() <= s.share && s.bytes.Load() <= s.options.MaxBytes
}

// evictFor makes room for an account, and reports whether it could. One that has its share makes it itself. Else the heaviest
// does, which is not lighter than the one that room is made for: nobody loses a
// task to somebody who has more. It spares one log. Store.mu is held.
func (s *Store) evictFor(a *account, spare *log) bool {
	if a.bytes.Load() > s.share {
		l := s.oldest(a, spare)
		if l != nil {
			s.evict(l)
		}
		return l != nil
	}
	least := s.weight(a)
	var victim *log
	heaviest := 0.0
	consider := func(c *account) {
		w := s.weight(c)
		if w < least || w < heaviest {
			return
		}
		l := s.oldest(c, spare)
		if l != nil && (w > heaviest || victim == nil || before(s, l, victim)) {
			victim, heaviest = l, w
		}
	}
	consider(a)
	if s.heavy != nil {
		consider(s.heavy)
	}
	seen := 0
	for _, c := range s.accounts {
		if seen++; seen > sampled {
			break
		}
		consider(c)
	}
	if victim == nil {
		return false
	}
	s.evict(victim)
	return true
}

// spared bounds the logs that are passed over because somebody reads them.
const spared = 1024

// oldest returns what an account can do without: the task that has been finished
// for the longest, or has waited for its client; nil for none. Of either, what
// nobody reads goes first: on a busy machine a turn may be over, and hundreds
// after it, before its own stream is told of its first event. Store.mu is held.
func (s *Store) oldest(a *account, spare *log) *log {
	for _, queue := range []*list.List{&a.finished, &a.idle} {
		var read *log
		passed := 0
		for at := queue.Front(); at != nil && passed < spared; at = at.Next() {
			l := at.Value.(*log)
			// A log is filed after it was appended to: look again.
			if state, _ := l.state(); l == spare || s.queueOf(state) == nil {
				continue
			}
			if l.room.readers.Load() == 0 {
				return l
			}
			if passed++; read == nil {
				read = l
			}
		}
		if read != nil {
			return read
		}
	}
	return nil
}

// before reports whether one log goes before another of an account that is as
// heavy.
func before(s *Store, l, other *log) bool {
	if finished := l.place.queue == &s.finished; finished != (other.place.queue == &s.finished) {
		return finished
	}
	return l.place.since.Before(other.place.since)
}

// grown notes an account that has become heavier. Store.mu is held.
func (s *Store) grown(a *account) {
	if s.heavy == nil || s.weight(a) > s.weight(s.heavy) {
		s.heavy = a
	}
}
