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

// maxPageBytes bounds the bytes of one page, which has at most a quarter of CacheBytes, too. A page of large tasks has fewer tasks
// than Query.Limit, and Page.Next is set.
const maxPageBytes = 16 << 20

// List implements store.Store. Its cost depends on the page only, except for a
// query for a context and a state, which reads all tasks of the context. One such query at a time
// runs, because the server serves nobody else meanwhile.
func (s *Store) List(ctx context.Context, q *store.Query) (*store.Page, error) {
	reply, err := s.list(ctx, q)
	if err != nil {
		return nil, err
	}
	page := &store.Page{}
	a := newReplyReader(reply)
	page.Total = int(a.number()) // a count fits into an int
	more := a.number() == 1
	bytes := 0
	pageBytes := int(min(maxPageBytes, s.options.CacheBytes/4))
	var last store.Place
	for a.more() {
		id := a.text()
		at := a.position()
		size := int(a.number()) // a size fits into an int
		if a.err != nil {
			return nil, a.err
		}
		bytes += size
		if bytes > pageBytes && bytes > size {
			more = true
			break
		}
		last = store.Place{Time: at, TaskID: id}
		if err := s.addToPage(ctx, q, page, id); err != nil {
			return nil, err
		}
	}
	if a.err != nil {
		return nil, a.err
	}
	// A task may have changed since it was read.
	slices.SortFunc(page.Tasks, func(a, b *a2a.Task) int { return store.PlaceOf(a).Compare(store.PlaceOf(b)) })
	if more {
		page.Next = &last
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q *store.Query) (any, error) {
	if q.ContextID != "" && q.State != a2a.StateUnknown {
		release, err := s.acquireLoad(ctx, q.Owner)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return s.calls.run(ctx, s.scripts.list, s.listArgs(q)...)
}

// addToPage adds a task to the page, unless it no longer matches the query.
func (s *Store) addToPage(ctx context.Context, q *store.Query, page *store.Page, id string) error {
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
	if t := record.Task; q.Matches(t.ContextID, t.Status.State, t.Status.Time) {
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
	a := newReplyReader(reply)
	for a.more() {
		ids = append(ids, a.text())
	}
	return ids, a.err
}

func (s *Store) listArgs(q *store.Query) []any {
	inContext := ""
	state := ""
	since := "-inf"
	place := "0"
	id := ""
	behind := ""
	if q.ContextID != "" {
		inContext = digest(q.ContextID)
	}
	if q.State != a2a.StateUnknown {
		state = number(q.State)
	}
	if !q.Since.IsZero() {
		// Positions are truncated to microseconds, so the position of q.Since would include tasks
		// with an earlier time. q.Since is therefore rounded up.
		since = positionOf(q.Since.Add(time.Microsecond - time.Nanosecond))
	}
	if q.After != nil {
		place = positionOf(q.After.Time)
		id = q.After.TaskID
		behind = "1"
	}
	return []any{digest(string(q.Owner)), inContext, state, since, place, id, q.Limit, millis(s.options.Retention), behind}
}

// position decodes the score of a task in a list.
func (a *replyReader) position() time.Time {
	micros, err := strconv.ParseFloat(a.text(), 64)
	if err != nil {
		a.fail()
	}
	return time.UnixMicro(int64(micros)).UTC()
}
