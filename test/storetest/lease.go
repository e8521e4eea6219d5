// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func wantAlive(t *testing.T, by store.Member, r store.Replica, want bool) {
	t.Helper()
	if got, err := by.Alive(t.Context(), r); got != want || err != nil {
		t.Errorf("Alive(%q) = %t, %v, want %t", r, got, err, want)
	}
}

func dead(t *testing.T, by store.Member) []store.Replica {
	t.Helper()
	all, err := by.Dead(t.Context())
	if err != nil {
		t.Fatalf("Dead() error = %v", err)
	}
	return all
}

func leaseLapsesAndComesBack(t *testing.T, s Shared) {
	a, b := s.Join("a"), join(t, s, "b")
	if !strings.HasPrefix(string(a.Self()), "a/") || a.Self() == s.Join("a").Self() {
		t.Errorf("Self() = %q is not a new incarnation", a.Self())
	}
	wantAlive(t, b, a.Self(), false)
	renew(t, a)
	wantAlive(t, b, a.Self(), true)
	createHeld(t, a)
	s.Pass(Lease / 2)
	renew(t, b)
	s.Pass(Lease/2 + Lease/10)
	wantAlive(t, b, b.Self(), true)
	wantAlive(t, b, a.Self(), false)
	if diff := cmp.Diff([]store.Replica{a.Self()}, dead(t, b)); diff != "" {
		t.Errorf("Dead() difference (-want +got):\n%s", diff)
	}
	// No other replica took the task.
	if diff := cmp.Diff([]store.Key{key}, renew(t, a)); diff != "" {
		t.Errorf("Renew() difference (-want +got):\n%s", diff)
	}
	wantAlive(t, b, a.Self(), true)
	if got := dead(t, b); len(got) > 0 {
		t.Errorf("Dead() = %q", got)
	}
}

// writesNeedLease checks that a replica without a lease claims no message and begins no turn: others would take them
// from it at once.
func writesNeedLease(t *testing.T, s Shared) {
	a, b := s.Join("a"), join(t, s, "b")
	want := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNoLease) {
			t.Errorf("%s without a lease: error = %v, want ErrNoLease", what, err)
		}
	}
	mine := store.MessageClaim{Replica: a.Self(), TaskID: "t1", Nonce: "n"}
	_, err := a.Claim(t.Context(), "m", mine, time.Minute)
	want("Claim()", err)
	_, err = a.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: Begin(), Write: store.Write{Replica: a.Self(), Turn: &store.TurnDescriptor{}}})
	want("Create()", err)
	renew(t, a)
	claimMessage(t, a, "m", "t1")
	log := createHeld(t, a)
	wantAppend(t, log, 2, store.Release, nil)
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, change := range []store.HoldChange{store.Take, store.Continue} {
		wantAppend(t, log, 3, change, store.ErrNoLease)
	}
	wantAppend(t, openHeld(t, b), 3, store.Take, nil)
}

func leaveEndsLease(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	createHeld(t, a)
	if err := a.Leave(t.Context()); err != nil {
		t.Fatalf("Leave() error = %v", err)
	}
	wantAlive(t, b, a.Self(), false)
	wantHolding(t, a, b, key)
	if diff := cmp.Diff([]store.Replica{a.Self()}, dead(t, b)); diff != "" {
		t.Errorf("Dead() difference (-want +got):\n%s", diff)
	}
}

func firstRenewalEndsFormerIncarnations(t *testing.T, s Shared) {
	former, other := join(t, s, "a"), join(t, s, "ab")
	log := createHeld(t, former)
	later := s.Join("a")
	wantAlive(t, other, former.Self(), true)
	renew(t, later)
	wantAlive(t, other, former.Self(), false)
	wantAlive(t, later, other.Self(), true)
	wantHolder(t, log, former.Self(), false)
	wantAppend(t, openHeld(t, later), 2, store.Take, nil)
}
