// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"container/list"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func (p *evictionPlace) leave() {
	if p.queue != nil {
		p.queue.Remove(p.at)
		p.own.Remove(p.ownAt)
	}
}

// queueOf returns the list of the evictable tasks in a state; nil for a state in
// which a turn runs.
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
	l.place.at = queue.PushBack(l)
	l.place.ownAt = l.place.own.PushBack(l)
}

// expire evicts finished tasks whose retention has passed. Store.mu is held.
func (s *Store) expire() {
	for first := s.finished.Front(); first != nil; first = s.finished.Front() {
		l := first.Value.(*log)
		if s.options.Now().Sub(l.place.since) < s.options.Retention {
			return
		}
		s.evict(l)
	}
}

// evict removes a task and returns true. An append does not hold Store.mu, so a message may
// have continued the task after the caller of evict chose it. If the state of the task no
// longer belongs to its list, evict moves the task to the list of its state and returns
// false. Store.mu is held.
func (s *Store) evict(l *log) bool {
	charge, removed := l.removeFrom(l.place.queue)
	if !removed {
		s.file(l)
		return false
	}
	delete(s.logs, l.key)
	s.removeFromOwner(l)
	l.place.leave()
	s.removePaused(l)
	l.place = evictionPlace{}
	s.add(l.account, -charge)
	s.countTask(l.account, -1)
	return true
}

// removeFrom empties the log, marks it as removed and returns its former charge. If the state
// of the task does not belong to queue, removeFrom changes nothing and returns false.
func (l *log) removeFrom(queue *list.List) (charge int64, removed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store.queueOf(l.fold.State()) != queue {
		return 0, false
	}
	charge = l.charge
	for _, r := range l.records {
		r.Drop()
	}
	l.forgetSnapshot()
	l.removed = true
	l.charge = 0
	l.records = nil
	l.written = nil
	// A caller may still hold the log, so its memory is released here.
	l.fold = store.NewFold(l.key.TaskID, store.Origin{})
	l.wake()
	return charge, true
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

// evictFor evicts a task to make room for an account, and reports whether it could.
// If the share of the account holds more than maxShareBytes, evictFor evicts a task of this share.
// Otherwise it evicts a task of the account with the largest weight. It skips shares that weigh less than
// the share of this account and, in this share, accounts that weigh less than this one, so that no owner loses a task to an owner
// with a larger share. It never evicts spare. Store.mu is held.
func (s *Store) evictFor(a *account, spare *log) bool {
	for {
		l := s.victimFor(a, spare)
		if l == nil || s.evict(l) {
			return l != nil
		}
	}
}

// victimFor returns the task that evictFor evicts, nil for none. Store.mu is held.
func (s *Store) victimFor(a *account, spare *log) *log {
	least := s.weight(a)
	var victim *log
	var heaviest weight
	consider := func(c *account) {
		w := s.weight(c)
		if w.share < least.share || c.share == a.share && w.own < least.own || w.compare(heaviest) < 0 {
			return
		}
		l := s.oldest(c, spare)
		if l != nil && (w.compare(heaviest) > 0 || victim == nil || before(s, l, victim)) {
			victim = l
			heaviest = w
		}
	}
	consider(a)
	seen := 0
	for c := range a.share.accounts {
		seen++
		if seen > maxSampledAccounts {
			break
		}
		consider(c)
	}
	if a.share.bytes.Load() > s.maxShareBytes {
		return victim
	}
	if s.heaviest != nil {
		consider(s.heaviest)
	}
	seen = 0
	for _, c := range s.accounts {
		seen++
		if seen > maxSampledAccounts {
			break
		}
		consider(c)
	}
	return victim
}

// maxSampledAccounts bounds the accounts of the share, and those of all, that victimFor compares, in addition to the
// heaviest one.
const maxSampledAccounts = 64

// maxPassedLogs bounds the watched logs that oldest passes over.
const maxPassedLogs = 1024

// oldest returns the task of an account to evict: the task that has been finished for
// the longest time or, if none is finished, the task that has waited for its client
// for the longest time; nil for none. In each list, tasks without a watcher come first: on a
// busy machine, hundreds of turns may end before the stream of the first turn receives its
// first event. It never returns spare. Store.mu is held.
func (s *Store) oldest(a *account, spare *log) *log {
	for _, queue := range []*list.List{&a.finished, &a.idle} {
		var read *log
		passed := 0
		for at := queue.Front(); at != nil && passed < maxPassedLogs; at = at.Next() {
			l := at.Value.(*log)
			// The lists are updated after an append, so the state of a task may be newer than its
			// list.
			if state, _ := l.state(); l == spare || s.queueOf(state) == nil {
				continue
			}
			if l.room.Readers.Load() == 0 {
				return l
			}
			passed++
			if read == nil {
				read = l
			}
		}
		if read != nil {
			return read
		}
	}
	return nil
}

// before reports whether l is evicted before other, if the accounts of both have the same
// weight.
func before(s *Store, l, other *log) bool {
	if finished := l.place.queue == &s.finished; finished != (other.place.queue == &s.finished) {
		return finished
	}
	return l.place.since.Before(other.place.since)
}
