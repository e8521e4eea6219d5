// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// pageBytes bounds what is read for one page: a page of tasks that hold a lot
// is short, and says where the next one begins.
const pageBytes = 16 << 20

// List implements store.Store. Whatever the query, it costs what is on the
// page; but a query for context and state looks at all tasks of the context.
func (s *Store) List(ctx context.Context, q *store.Query) (*store.Page, error) {
	reply, err := s.calls.run(ctx, s.scripts.list, s.listArgs(q)...)
	if err != nil {
		return nil, err
	}
	page := &store.Page{}
	a := answerOf(reply)
	page.Total = int(a.number()) //nolint:gosec // a count
	more := a.number() == 1
	bytes := 0
	var last store.Place
	for a.more() {
		id, at, size := a.text(), a.score(), int(a.number()) //nolint:gosec // a size
		if a.err != nil {
			return nil, a.err
		}
		if bytes += size; bytes > pageBytes && bytes > size {
			more = true
			break
		}
		last = store.Place{Time: at, TaskID: id}
		if err := s.onPage(ctx, q, page, id); err != nil {
			return nil, err
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	// A task may have gone on since it was looked at.
	slices.SortFunc(page.Tasks, func(a, b *a2a.Task) int { return store.PlaceOf(a).Compare(store.PlaceOf(b)) })
	if more {
		page.Next = &last
	}
	return page, nil
}

// onPage puts a task on the page, unless it no longer meets the query.
func (s *Store) onPage(ctx context.Context, q *store.Query, page *store.Page, id string) error {
	l, err := s.Open(ctx, store.Key{Owner: q.Owner, TaskID: id})
	var record *a2a.Record
	if err == nil {
		record, err = l.Snapshot(ctx)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if t := record.Task; q.Admits(t.ContextID, t.Status.State, t.Status.Time) {
		page.Tasks = append(page.Tasks, t)
	}
	return nil
}

// Paused implements store.Store. It reads two entries of an index, whatever number of
// tasks the conversation has.
func (s *Store) Paused(ctx context.Context, c store.Conversation) ([]string, error) {
	reply, err := s.calls.run(ctx, s.scripts.paused, digest(string(c.Owner)), digest(c.ContextID))
	if err != nil {
		return nil, err
	}
	var ids []string
	a := answerOf(reply)
	for a.more() {
		ids = append(ids, a.text())
	}
	return ids, a.err
}

func (s *Store) listArgs(q *store.Query) []any {
	inContext, state, since, place, id, behind := "", "", "-inf", "0", "", ""
	if q.ContextID != "" {
		inContext = digest(q.ContextID)
	}
	if q.State != a2a.StateUnknown {
		state = number(q.State)
	}
	if !q.Since.IsZero() {
		// What is a part of a microsecond later than a place is behind it.
		since = placeOf(q.Since.Add(time.Microsecond - time.Nanosecond))
	}
	if q.After != nil {
		place, id, behind = placeOf(q.After.Time), q.After.TaskID, "1"
	}
	return []any{digest(string(q.Owner)), inContext, state, since, place, id, q.Limit, millis(s.options.Retention), behind}
}

// score reads a place in a list.
func (a *answer) score() time.Time {
	micros, err := strconv.ParseFloat(a.text(), 64)
	if err != nil {
		a.fail()
	}
	return time.UnixMicro(int64(micros)).UTC()
}
