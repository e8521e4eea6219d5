// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strings"
	"testing"

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
