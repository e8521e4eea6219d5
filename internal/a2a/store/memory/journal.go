// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bytes"
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// AppendJournal implements store.Log.
func (l *log) AppendJournal(_ context.Context, a store.JournalAppend) error {
	size := int64(recordOverhead + len(a.Entry))
	if !l.reserve(size, false) {
		return store.ErrFull
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.recharge()
	l.charge += size
	entries := len(l.journal)
	switch {
	case l.removed:
		return store.ErrNotFound
	case l.fold.State().Terminal():
		return store.ErrConflict
	case entries == a.After+1 && bytes.Equal(l.journal[a.After], a.Entry):
		return nil
	case entries != a.After:
		return store.ErrConflict
	case a.Exceeds(entries, l.journalBytes-entries*recordOverhead):
		return store.ErrFull
	}
	l.journal = append(l.journal, a.Entry)
	l.journalBytes += recordOverhead + len(a.Entry)
	return nil
}

// Journal implements store.Log.
func (l *log) Journal(context.Context, func(bytes int64) error) ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return nil, store.ErrNotFound
	}
	return slices.Clone(l.journal), nil
}

// dropJournal removes all entries. l.mu is held.
func (l *log) dropJournal() {
	l.journal = nil
	l.journalBytes = 0
}
