// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"
	"sync/atomic"
)

// account has what one principal holds, in all its tenants. Store.mu guards all
// fields but bytes.
type account struct {
	tasks int
	bytes atomic.Int64
	// finished and idle are the tasks of the store's lists that belong to the
	// principal, in the same order.
	finished, idle list.List
}

// maxSampledAccounts bounds the accounts that evictFor compares, in addition to the
// heaviest one.
const maxSampledAccounts = 64

// weight returns the part of the store that an account holds: of tasks or of bytes,
// whichever is larger.
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

// removeIfEmpty removes an account without tasks. Store.mu is held.
func (s *Store) removeIfEmpty(principal string, a *account) {
	if a.tasks > 0 {
		return
	}
	delete(s.accounts, principal)
	if s.heaviest == a {
		s.heaviest = nil
	}
}

// add charges bytes to an account, and reports whether the account and the store
// are within their bounds.
func (s *Store) add(a *account, bytes int64) bool {
	own, all := a.bytes.Add(bytes), s.bytes.Add(bytes)
	return own <= s.maxAccountBytes && all <= s.options.MaxBytes
}

func (s *Store) withinBounds(a *account) bool {
	return a.bytes.Load() <= s.maxAccountBytes && s.bytes.Load() <= s.options.MaxBytes
}

// evictFor evicts a task to make room for an account, and reports whether it could.
// It evicts from the account itself when that holds more than maxAccountBytes.
// Otherwise it evicts from the heaviest account that is at least as heavy as this
// one, so that no owner loses a task to one that holds more. It never evicts spare.
// Store.mu is held.
func (s *Store) evictFor(a *account, spare *log) bool {
	if a.bytes.Load() > s.maxAccountBytes {
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
	if s.heaviest != nil {
		consider(s.heaviest)
	}
	seen := 0
	for _, c := range s.accounts {
		if seen++; seen > maxSampledAccounts {
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

// maxPassedLogs bounds the watched logs that oldest passes over.
const maxPassedLogs = 1024

// oldest returns the task of an account to evict: the one that has been finished
// longest, or else has waited for its client longest; nil for none. Tasks without a
// watcher go first: on a busy machine, hundreds of turns may end before the stream
// of the first receives its first event. Store.mu is held.
func (s *Store) oldest(a *account, spare *log) *log {
	for _, queue := range []*list.List{&a.finished, &a.idle} {
		var read *log
		passed := 0
		for at := queue.Front(); at != nil && passed < maxPassedLogs; at = at.Next() {
			l := at.Value.(*log)
			// The lists are updated after an append, so the state may be newer.
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

// before reports whether l is evicted before a log of an account with the same
// weight.
func before(s *Store, l, other *log) bool {
	if finished := l.place.queue == &s.finished; finished != (other.place.queue == &s.finished) {
		return finished
	}
	return l.place.since.Before(other.place.since)
}

// noteGrowth updates heaviest for an account that has grown. Store.mu is held.
func (s *Store) noteGrowth(a *account) {
	if s.heaviest == nil || s.weight(a) > s.weight(s.heaviest) {
		s.heaviest = a
	}
}
