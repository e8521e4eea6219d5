// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// repeated returns a write with Repeat set, as a caller repeats it after a lost response.
func repeated(w store.Write) store.Write {
	w.Repeat = true
	return w
}

func newWrite() store.Write { return store.Write{Token: store.NewToken()} }

// wantWrite appends, and compares the error and the number of the last event of the log
// afterwards.
func wantWrite(t *testing.T, log store.Log, a store.Append, want error, seq uint64) {
	t.Helper()
	last, err := log.Append(t.Context(), a)
	if !errors.Is(err, want) || err == nil && last != a.After+uint64(len(a.Events)) {
		t.Errorf("Append(%d) = %d, %v, want %v", a.After, last, err, want)
	}
	if now := task(t, log).Seq; now != seq {
		t.Errorf("log is at %d, want %d", now, seq)
	}
}

func repeatedCreate(t *testing.T, s store.Store) {
	n := store.NewTask{Key: key, Origin: origin, Events: Begin(), Write: newWrite()}
	log, err := s.Create(t.Context(), n)
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	again := n
	again.Events, again.Write = Begin(), repeated(n.Write)
	for _, behind := range []string{"at once", "behind another append"} {
		got, err := s.Create(t.Context(), again)
		if err != nil {
			t.Fatalf("%s: repeated Create() error = %v", behind, err)
		}
		if now := task(t, got); len(now.Task.History) != 1 {
			t.Errorf("%s: the task has %d messages, want 1", behind, len(now.Task.History))
		}
		if behind == "at once" {
			add(t, log, 2, Status(a2a.StateWorking, nil))
		}
	}
	for name, w := range map[string]store.Write{"another token": newWrite(), "no token": {}, "another token, repeated": repeated(newWrite())} {
		other := n
		other.Events, other.Write = Begin(), w
		if _, err := s.Create(t.Context(), other); !errors.Is(err, store.ErrExists) {
			t.Errorf("Create() with %s: error = %v, want ErrExists", name, err)
		}
	}
	// If the first attempt of a creation did not reach the store, the repeat creates the
	// task.
	lost := store.NewTask{Key: store.Key{Owner: "alice", TaskID: "lost"}, Origin: origin, Events: Begin(), Write: repeated(newWrite())}
	if _, err := s.Create(t.Context(), lost); err != nil {
		t.Errorf("repeated Create() of a task that is not there: error = %v", err)
	}
}

func repeatedAppend(t *testing.T, s store.Store) {
	log := create(t, s, key)
	first := store.Append{After: 2, Events: []a2a.Event{Chunk("a", "x"), Chunk("a", "y")}, Write: newWrite()}
	wantWrite(t, log, first, nil, 4)
	again := first
	again.Events, again.Write = []a2a.Event{Chunk("a", "x"), Chunk("a", "y")}, repeated(first.Write)
	wantWrite(t, log, again, nil, 4)
	other := store.Append{After: 2, Events: []a2a.Event{Chunk("a", "x"), Chunk("a", "y")}, Write: repeated(newWrite())}
	wantWrite(t, log, other, store.ErrConflict, 4)
	other.Events, other.Write = []a2a.Event{Chunk("a", "z")}, repeated(first.Write)
	wantWrite(t, log, other, store.ErrConflict, 4)
	add(t, log, 4, Status(a2a.StateWorking, nil))
	wantWrite(t, log, again, nil, 5)
	// A replica that has not read the log yet repeats an append.
	opened, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	wantWrite(t, opened, again, nil, 5)
	// If the first attempt of an append did not reach the store, the repeat appends the
	// events.
	lost := store.Append{After: 5, Events: []a2a.Event{Status(a2a.StateWorking, nil)}, Write: repeated(newWrite())}
	wantWrite(t, log, lost, nil, 6)
	wantWrite(t, log, lost, nil, 6)
	var text strings.Builder
	for _, p := range task(t, log).Task.Artifacts[0].Parts {
		text.WriteString(p.Text)
	}
	if text.String() != "xy" {
		t.Errorf("the artifact is %q, want xy", text.String())
	}
}

// RepeatBehindTrim requires that a repeated append returns store.ErrIndeterminate if the log
// has dropped the events at its place. open returns a store whose logs hold few events. It
// also returns the number of appends, of one event each, after which a log has dropped its
// first events.
func RepeatBehindTrim(t *testing.T, open func(t *testing.T) (s store.Store, appends int)) {
	t.Helper()
	s, appends := open(t)
	log := create(t, s, key)
	first := store.Append{After: 2, Events: []a2a.Event{Chunk("a", "x")}, Write: newWrite()}
	wantWrite(t, log, first, nil, 3)
	after := uint64(3)
	for range appends {
		add(t, log, after, Chunk("a", "x"))
		after++
	}
	wantWrite(t, log, first, store.ErrConflict, after)
	for _, w := range []store.Write{repeated(first.Write), repeated(newWrite())} {
		again := store.Append{After: 2, Events: []a2a.Event{Chunk("a", "x")}, Write: w}
		wantWrite(t, log, again, store.ErrIndeterminate, after)
	}
}

func repeatedHoldChange(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	log := createHeld(t, a)
	release := store.Append{After: 2, Hold: store.Release, Write: newWrite()}
	release.Replica = a.Self()
	wantWrite(t, log, release, nil, 2)
	wantHolder(t, log, "", false)
	again := release
	again.Repeat = true
	wantWrite(t, log, again, nil, 2)
	wantHolder(t, log, "", false)
	take := store.Append{After: 2, Events: []a2a.Event{Status(a2a.StateWorking, nil)}, Hold: store.Take, Write: newWrite()}
	take.Replica, take.Turn = b.Self(), &store.TurnDescriptor{Begin: 3}
	theirs := openHeld(t, b)
	wantWrite(t, theirs, take, nil, 3)
	// The first attempt of the release succeeded before the other replica took the hold. The
	// repeat does not release the hold of the other replica.
	if seq, err := log.Append(t.Context(), again); seq != 2 || err != nil {
		t.Errorf("repeated Append() = %d, %v, want 2", seq, err)
	}
	wantHolder(t, log, b.Self(), true)
	take.Repeat = true
	wantWrite(t, theirs, take, nil, 3)
	wantHolder(t, log, b.Self(), true)
	// A repeat does not give the hold to a replica that has lost it.
	keep := store.Append{After: 3, Events: []a2a.Event{Status(a2a.StateWorking, nil)}, Hold: store.Keep, Write: repeated(newWrite())}
	keep.Replica = a.Self()
	wantWrite(t, log, keep, store.ErrHeld, 3)
}
