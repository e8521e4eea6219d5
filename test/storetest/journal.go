// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func wantJournal(t *testing.T, log store.Log, want ...string) {
	t.Helper()
	entries, err := log.Journal(t.Context(), func(int64) error { return nil })
	var got []string
	for _, entry := range entries {
		got = append(got, string(entry))
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Journal() error = %v (-want +got):\n%s", err, diff)
	}
}

func wantJournalAppend(t *testing.T, log store.Log, after int, entry string, by store.Replica, want error) {
	t.Helper()
	if err := log.AppendJournal(t.Context(), store.JournalAppend{After: after, Entry: []byte(entry), Replica: by}); !errors.Is(err, want) {
		t.Errorf("AppendJournal(%d, %.10q) error = %v, want %v", after, entry, err, want)
	}
}

func journal(t *testing.T, s store.Store) {
	log := create(t, s, key)
	wantJournal(t, log)
	wantJournalAppend(t, log, 0, "one", "", nil)
	wantJournalAppend(t, log, 0, "one", "", nil)
	wantJournalAppend(t, log, 0, "other", "", store.ErrConflict)
	add(t, log, 2, Status(a2a.StateWorking, nil))
	wantJournalAppend(t, log, 1, "two\x00\xff", "", nil)
	again, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	wantJournal(t, again, "one", "two\x00\xff")
	if got := task(t, log).Seq; got != 3 {
		t.Errorf("the log is at %d, want 3", got)
	}
	other := key
	other.TaskID = "other"
	wantJournal(t, create(t, s, other))
	add(t, log, 3, Status(a2a.StateInputRequired, nil))
	wantJournal(t, log, "one", "two\x00\xff")
	add(t, log, 4, Status(a2a.StateCompleted, nil))
	wantJournal(t, log)
	wantJournalAppend(t, log, 0, "late", "", store.ErrConflict)
}

func journalIsBounded(t *testing.T, s store.Store) {
	log := create(t, s, key)
	entry := make([]byte, 1<<20)
	full := 0
	for full < store.MaxJournalBytes/len(entry) {
		if err := log.AppendJournal(t.Context(), store.JournalAppend{After: full, Entry: entry}); err != nil {
			if errors.Is(err, store.ErrFull) && full > 0 {
				break // the store itself has less room
			}
			t.Fatal(err)
		}
		full++
	}
	wantJournalAppend(t, log, full, string(entry), "", store.ErrFull)
	add(t, log, 2, Status(a2a.StateCompleted, nil))

	other := key
	other.TaskID = "entries"
	log = create(t, s, other)
	for i := range store.MaxJournalEntries {
		if err := log.AppendJournal(t.Context(), store.JournalAppend{After: i, Entry: []byte(strconv.Itoa(i))}); err != nil {
			t.Fatal(err)
		}
	}
	wantJournalAppend(t, log, store.MaxJournalEntries, "one more", "", store.ErrFull)
}

func journalNeedsHold(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	theirs := openHeld(t, b)
	wantJournalAppend(t, mine, 0, "mine", a.Self(), nil)
	wantJournalAppend(t, theirs, 1, "theirs", b.Self(), store.ErrHeld)
	wantJournal(t, theirs, "mine")
	wantAppend(t, mine, 2, store.Release, nil)
	wantJournalAppend(t, mine, 1, "released", a.Self(), store.ErrHeld)
	wantAppend(t, theirs, 3, store.Take, nil)
	wantJournalAppend(t, theirs, 1, "theirs", b.Self(), nil)
	wantJournalAppend(t, mine, 1, "mine", a.Self(), store.ErrHeld)
	wantJournal(t, mine, "mine", "theirs")
}
