// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// List implements store.Store. It compares all tasks of the owner with the query, and
// builds only the tasks on the page.
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

// newest collects the first limit entries of a list, the newest first.
type newest struct {
	limit   int
	entries []entry
	// more is true if there were more entries than limit.
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

// Paused implements store.Store. It reads the paused tasks of the conversation
// only.
func (s *Store) Paused(_ context.Context, c store.Conversation) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, l := range s.paused[c] {
		// The index is updated after an append, so the state of a task may be newer.
		if state, gone := l.state(); !gone && state.Interrupted() {
			ids = append(ids, l.key.TaskID)
			if len(ids) == 2 {
				break
			}
		}
	}
	return ids, nil
}
