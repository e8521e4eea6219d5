// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"cmp"
	"context"
	"math"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// AppendJournal implements store.Log. Options.AppendTimeout, or JournalAppend.RetryFor, bounds it with all its
// attempts.
func (l *log) AppendJournal(ctx context.Context, a store.JournalAppend) error {
	s := l.store
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.RetryFor, s.options.AppendTimeout))
	defer cancel()
	return store.RetryWrite(ctx, false, func() error {
		reply, err := s.calls.pipelined(ctx, s.scripts.appendJournal, len(a.Entry),
			l.name, a.After, a.Entry, string(a.Replica), store.MaxJournalEntries, store.MaxJournalBytes,
			millis(s.options.keyTTL()), s.options.MaxTasks, s.options.MaxBytes)
		if err != nil {
			return err
		}
		return l.outcome(reply)
	})
}

// Journal implements store.Log. One call at a time reads a large journal.
func (l *log) Journal(ctx context.Context, reserve func(bytes int64) error) ([][]byte, error) {
	entries, size, err := l.readJournal(ctx, limit.Small)
	if err != nil || size == 0 {
		return entries, err
	}
	if err := reserve(size); err != nil {
		return nil, err
	}
	release, err := l.store.acquireLoad(ctx, l.key.Owner)
	if err != nil {
		return nil, err
	}
	defer release()
	entries, _, err = l.readJournal(ctx, math.MaxInt64)
	return entries, err
}

// readJournal reads the journal. If it has more than most bytes, readJournal returns its size in place of it.
func (l *log) readJournal(ctx context.Context, most int64) (entries [][]byte, size int64, err error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.journal, l.name, most)
	if err != nil {
		return nil, 0, err
	}
	if size, is := reply.(int64); is {
		return nil, size, nil
	}
	if err := l.endOf(reply); err != nil {
		return nil, 0, err
	}
	a := newReplyReader(reply)
	for a.more() {
		entries = append(entries, []byte(a.text()))
	}
	return entries, 0, a.err
}
