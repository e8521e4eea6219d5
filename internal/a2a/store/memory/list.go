// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// List implements store.Store. It compares all tasks of the owner with the query,
// and builds only those on the page.
func (s *Store) List(_ context.Context, q *store.Query) (*store.Page, error) {
	s.mu.Lock()
	s.expire()
	logs := slices.Clone(s.owners[q.Owner])
	s.mu.Unlock()
	page := &store.Page{}
	listed := newest{limit: q.Limit}
	for _, l := range logs {
		place, ok := l.matches(q)
		if !ok {
			continue
		}
		page.Total++
		if q.After == nil || q.After.Compare(place) < 0 {
			listed.add(entry{place, l})
		}
	}
	for i := range listed.entries {
		if t := listed.entries[i].log.task(q); t != nil {
			page.Tasks = append(page.Tasks, t)
		}
	}
	// A task may have changed since it was compared.
	slices.SortFunc(page.Tasks, func(a, b *a2a.Task) int { return store.PlaceOf(a).Compare(store.PlaceOf(b)) })
	if listed.more {
		page.Next = &listed.entries[len(listed.entries)-1].place
	}
	return page, nil
}

// matches returns the place of a task that matches a query.
func (l *log) matches(q *store.Query) (store.Place, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed || !l.fold.Matches(q) {
		return store.Place{}, false
	}
	return l.fold.Place(), true
}

// task returns the task, unless it no longer matches a query.
func (l *log) task(q *store.Query) *a2a.Task {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed || !l.fold.Matches(q) {
		return nil
	}
	return l.fold.Task()
}

type entry struct {
	place store.Place
	log   *log
}

// newest has the first entries of a list, in order.
type newest struct {
	limit   int
	entries []entry
	// more is true when there were other entries.
	more bool
}

func (n *newest) add(e entry) {
	full := len(n.entries) == n.limit
	if full && n.entries[n.limit-1].place.Compare(e.place) < 0 {
		n.more = true
		return
	}
	if full {
		n.more = true
		n.entries = n.entries[:n.limit-1]
	}
	at, _ := slices.BinarySearchFunc(n.entries, e, func(a, b entry) int { return a.place.Compare(b.place) })
	n.entries = slices.Insert(n.entries, at, e)
}

// addToOwner adds a log to those of its owner. Store.mu is held.
func (s *Store) addToOwner(l *log) {
	logs := s.owners[l.key.Owner]
	l.ownerIndex = len(logs)
	s.owners[l.key.Owner] = append(logs, l)
}

// removeFromOwner removes a log; the last one of the owner takes its index.
func (s *Store) removeFromOwner(l *log) {
	logs := s.owners[l.key.Owner]
	last := len(logs) - 1
	logs[l.ownerIndex] = logs[last]
	logs[l.ownerIndex].ownerIndex = l.ownerIndex
	logs[last] = nil
	if last == 0 {
		delete(s.owners, l.key.Owner)
		return
	}
	s.owners[l.key.Owner] = logs[:last]
}
