// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func holdIsKeptTakenAndReleased(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	theirs := openHeld(t, b)
	wantHolder(t, theirs, a.Self(), true)
	wantHolding(t, a, b, key)
	wantAppend(t, mine, 2, store.Keep, nil)
	for _, c := range []store.HoldChange{store.Keep, store.Take, store.Release} {
		wantAppend(t, theirs, 3, c, store.ErrHeld)
	}
	wantAppend(t, mine, 3, store.Take, nil)
	// An append with AnyHolder does not change the hold.
	add(t, theirs, 4, Status(a2a.StateWorking, nil))
	wantHolder(t, mine, a.Self(), true)
	wantAppend(t, mine, 5, store.Release, nil)
	wantHolder(t, mine, "", false)
	wantHolding(t, a, b)
	wantAppend(t, mine, 6, store.Keep, store.ErrHeld)
	wantAppend(t, theirs, 6, store.Release, nil)
	wantAppend(t, theirs, 7, store.Take, nil)
	wantHolder(t, mine, b.Self(), true)
	wantHolding(t, b, a, key)
	wantAppend(t, mine, 8, store.Keep, store.ErrHeld)
	if got := renew(t, a); len(got) > 0 {
		t.Errorf("Renew() = %v, want none", got)
	}
}

func holdWithoutEvents(t *testing.T, s Shared) {
	a := join(t, s, "a")
	log := createHeld(t, a)
	woken := 0
	stop := log.Watch(func() { woken++ })
	defer stop()
	for _, c := range []store.HoldChange{store.Keep, store.Release, store.Take} {
		if seq, err := log.appendHeld(t.Context(), 2, nil, c, store.TurnDescriptor{Begin: 1, Attempt: 2}); seq != 2 || err != nil {
			t.Errorf("Append() = %d, %v, want 2", seq, err)
		}
	}
	held, err := log.holder(t.Context())
	if err != nil || held.Replica != a.Self() || held.Turn.Attempt != 2 {
		t.Errorf("Holder() = %+v, %v", held, err)
	}
	if woken > 0 || task(t, log).Seq != 2 {
		t.Errorf("log is at %d, and woke %d times", task(t, log).Seq, woken)
	}
	if _, err := log.appendHeld(t.Context(), 1, nil, store.Release, store.TurnDescriptor{}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Append() behind another number: error = %v, want ErrConflict", err)
	}
}

func holdOfDeadIsTaken(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	s.Pass(Lease + Lease/10)
	renew(t, b)
	theirs := openHeld(t, b)
	wantHolder(t, theirs, a.Self(), false)
	wantAppend(t, theirs, 2, store.Keep, store.ErrHeld)
	wantAppend(t, theirs, 2, store.Take, nil)
	wantHolder(t, mine, b.Self(), true)
	wantHolding(t, a, b)
	wantAppend(t, mine, 3, store.Keep, store.ErrHeld)
	// A new lease does not restore the hold.
	if got := renew(t, a); len(got) > 0 {
		t.Errorf("Renew() = %v, want none", got)
	}
	wantAppend(t, mine, 3, store.Take, store.ErrHeld)
}

func holdEndsWithTask(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	mine := createHeld(t, a)
	add(t, openHeld(t, b), 2, Status(a2a.StateCanceled, nil))
	wantHolder(t, mine, "", false)
	wantHolding(t, a, b)
	wantAppend(t, mine, 3, store.Keep, store.ErrHeld)
	// A task may be started again.
	wantAppend(t, mine, 3, store.Take, nil)
	if _, err := mine.appendHeld(t.Context(), 4, []a2a.Event{Status(a2a.StateCompleted, nil)}, store.Keep, store.TurnDescriptor{}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	wantHolder(t, mine, "", false)
	if _, err := mine.appendHeld(t.Context(), 5, []a2a.Event{Status(a2a.StateFailed, nil)}, store.Take, store.TurnDescriptor{}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	wantHolder(t, mine, "", false)
}

func numberBeforeHolder(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	createHeld(t, a)
	for _, c := range []store.HoldChange{store.Keep, store.Take, store.Release} {
		wantAppend(t, openHeld(t, b), 1, c, store.ErrConflict)
	}
}

func holdHasOneWinner(t *testing.T, s Shared) {
	createHeld(t, join(t, s, "dead"))
	s.Pass(Lease + Lease/10)
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		wins []store.Replica
	)
	for i := range 8 {
		m := join(t, s, strconv.Itoa(i))
		log := openHeld(t, m)
		all.Go(func() {
			_, err := log.appendHeld(t.Context(), 2, nil, store.Take, store.TurnDescriptor{})
			switch {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				wins = append(wins, m.Self())
			case !errors.Is(err, store.ErrHeld):
				t.Errorf("Append() error = %v, want ErrHeld", err)
			}
		})
	}
	all.Wait()
	if len(wins) != 1 {
		t.Fatalf("%d winners: %q", len(wins), wins)
	}
	wantHolder(t, openHeld(t, s.Join("x")), wins[0], true)
}

func turnDescriptorComesBack(t *testing.T, s Shared) {
	a := join(t, s, "a")
	want := store.TurnDescriptor{
		Begin: 1, Attempt: 2, Redacted: true, AccountingPrincipal: a2a.AccountingPrincipalAt("192.0.2.1"), AcceptedOutputModes: []string{"text/plain", "image/*"},
		Metadata: a2a.Object(`{"a":{"b":[1,"ü"]}}`), Extensions: []string{"urn:x"}, Trace: a2a.TraceContext{Parent: "00-1-2-01", State: "v=1", Baggage: "k=1"},
	}
	log := createTurn(t, a, Begin(), want)
	check := func(want store.TurnDescriptor) {
		t.Helper()
		got, err := log.holder(t.Context())
		if diff := cmp.Diff(want, got.Turn); diff != "" || err != nil {
			t.Errorf("Holder() error = %v, difference (-want +got):\n%s", err, diff)
		}
	}
	check(want)
	wantAppend(t, log, 2, store.Keep, nil)
	check(want)
	if _, err := log.appendHeld(t.Context(), 3, nil, store.Take, store.TurnDescriptor{Begin: 3}); err != nil {
		t.Errorf("Append() error = %v", err)
	}
	check(store.TurnDescriptor{Begin: 3})
}

func endedIsNotHeld(t *testing.T, s Shared) {
	a := join(t, s, "a")
	log := createTurn(t, a, append(Begin(), Chunk("x", "hi"), Status(a2a.StateCompleted, nil)), store.TurnDescriptor{Begin: 1})
	wantHolder(t, log, "", false)
	if held, err := a.Holding(t.Context(), a.Self()); err != nil || len(held) > 0 {
		t.Errorf("Holding() = %v, %v, want nothing", held, err)
	}
	records, err := log.Read(t.Context(), nil, 2)
	if err != nil || len(records) != 2 || records[1].Seq != 4 || records[1].Status == nil {
		t.Errorf("Read() = %d records, %v, want the two behind the beginning", len(records), err)
	}
}
