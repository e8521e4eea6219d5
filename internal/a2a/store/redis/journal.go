// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"cmp"
	"context"

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

// Journal implements store.Log.
func (l *log) Journal(ctx context.Context) ([][]byte, error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.journal, l.name)
	if err != nil {
		return nil, err
	}
	if err := l.endOf(reply); err != nil {
		return nil, err
	}
	a := newReplyReader(reply)
	var entries [][]byte
	for a.more() {
		entries = append(entries, []byte(a.text()))
	}
	return entries, a.err
}
