// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// claimMessage claims a message for a task, and returns the claim.
func claimMessage(t *testing.T, m store.Member, message, task string) store.ClaimedMessage {
	t.Helper()
	c := store.MessageClaim{Replica: m.Self(), TaskID: task, Nonce: "n-" + message}
	if got, err := m.Claim(t.Context(), message, c, time.Minute); got != c || err != nil {
		t.Fatalf("Claim(%q) = %+v, %v, want %+v", message, got, err, c)
	}
	return store.ClaimedMessage{Message: message, MessageClaim: c}
}

// wantClaimed requires that a claim is in effect (want is true), or has ended.
func wantClaimed(t *testing.T, m store.Member, c store.ClaimedMessage, want bool) {
	t.Helper()
	other := store.MessageClaim{Replica: m.Self(), TaskID: "other"}
	got, err := m.Claim(t.Context(), c.Message, other, time.Minute)
	if stands := got == c.MessageClaim; stands != want || err != nil {
		t.Errorf("Claim(%q) = %+v, %v; the claim stands: %t, want %t", c.Message, got, err, stands, want)
	}
	if got == other {
		if _, err := m.Unclaim(t.Context(), c.Message, other); err != nil {
			t.Fatal(err)
		}
	}
}

// beginTurn appends the beginning of a turn with the claim on its message.
func beginTurn(t *testing.T, log heldLog, after uint64, how store.HoldChange, c store.ClaimedMessage) uint64 {
	t.Helper()
	seq, err := log.appendHeld(t.Context(), after, []a2a.Event{Status(a2a.StateWorking, nil)}, how, store.TurnDescriptor{Begin: after, Attempt: 1, Claim: c})
	if err != nil {
		t.Fatalf("Append() error = %v", err)
	}
	return seq
}

func claimsEndWithTask(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	// A task id that a client chooses may contain any character.
	first := claimMessage(t, a, "first", "t1\n\t:,\x00")
	log := createTurn(t, a, Begin(), store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: first})
	queued, waits := claimMessage(t, b, "queued", "t1"), claimMessage(t, b, "waits", "t1")
	seq := beginTurn(t, log, 2, store.Take, queued)
	seq = beginTurn(t, log, seq, store.Take, queued) // the turn is re-run
	for _, c := range []store.ClaimedMessage{first, queued, waits} {
		wantClaimed(t, b, c, true)
	}
	if _, err := log.appendHeld(t.Context(), seq, nil, store.Release, store.TurnDescriptor{}); err != nil {
		t.Fatal(err)
	}
	next := claimMessage(t, b, "next", "t1")
	seq = beginTurn(t, openHeld(t, b), seq, store.Continue, next)
	wantClaimed(t, a, first, false)
	wantClaimed(t, a, queued, false)
	wantClaimed(t, a, waits, true)
	wantClaimed(t, a, next, true)
	// The claim first has ended. The cancellation of the task does not end a later claim on the
	// same message.
	anew := claimMessage(t, a, "first", "t2")
	if hold, err := openHeld(t, a).holder(t.Context()); err != nil || hold.Replica != b.Self() || hold.Turn.Claim != next {
		t.Errorf("Holder() = %+v, %v", hold, err)
	}
	if _, err := openHeld(t, a).Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{Status(a2a.StateCanceled, nil)}}); err != nil {
		t.Fatal(err)
	}
	wantClaimed(t, a, next, false)
	wantClaimed(t, a, anew, true)
	wantClaimed(t, a, waits, true)
}

func claimsOfRunningTurnsAreKept(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	claim := func(message string) store.ClaimedMessage {
		c := store.MessageClaim{Replica: a.Self(), TaskID: "t1", Nonce: "n"}
		if got, err := a.Claim(t.Context(), message, c, Lease); got != c || err != nil {
			t.Fatalf("Claim(%q) = %+v, %v", message, got, err)
		}
		return store.ClaimedMessage{Message: message, MessageClaim: c}
	}
	runs, waits := claim("runs"), claim("waits")
	createTurn(t, a, Begin(), store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: runs})
	for range 3 {
		s.Pass(Lease / 2)
		if err := a.KeepClaims(t.Context(), Lease); err != nil {
			t.Fatalf("KeepClaims() error = %v", err)
		}
		if err := b.KeepClaims(t.Context(), Lease/100); err != nil {
			t.Fatalf("KeepClaims() of another replica: error = %v", err)
		}
		renew(t, b)
	}
	wantClaimed(t, b, runs, true)
	wantClaimed(t, b, waits, false)
}

// createdWithTheClaim creates a task by a replica that has hung: another one has taken its claim on the message.
func createdWithTheClaim(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	lost := claimMessage(t, a, "m", "t1")
	if _, err := b.Unclaim(t.Context(), lost.Message, lost.MessageClaim); err != nil {
		t.Fatal(err)
	}
	create := func(m store.Member, c store.ClaimedMessage) error {
		_, err := m.Create(t.Context(), store.NewTask{
			Key: key, Origin: origin, Events: Begin(), Write: store.Write{Replica: m.Self(), Turn: &store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: c}},
		})
		return err
	}
	if err := create(a, lost); !errors.Is(err, store.ErrNoLease) {
		t.Errorf("Create() without the claim: error = %v", err)
	}
	taken := claimMessage(t, b, "m", "t1")
	if err := create(a, lost); !errors.Is(err, store.ErrNoLease) {
		t.Errorf("Create() with the claim of another: error = %v", err)
	}
	if err := create(b, taken); err != nil {
		t.Errorf("Create() with its claim: error = %v", err)
	}
	if begun, err := a.Unclaim(t.Context(), taken.Message, taken.MessageClaim, store.Key{Owner: key.Owner, TaskID: "t9"}, key); err != nil || !begun {
		t.Errorf("Unclaim() after the turn began = %v, %v", begun, err)
	}
	wantClaimed(t, a, taken, true)
	if begun, err := a.Unclaim(t.Context(), taken.Message, taken.MessageClaim); err != nil || begun {
		t.Errorf("Unclaim() = %v, %v", begun, err)
	}
	wantClaimed(t, a, taken, false)
}

func claimsOfTaskAreBounded(t *testing.T, s Shared) {
	a := join(t, s, "a")
	log := createHeld(t, a)
	all := make([]store.ClaimedMessage, store.MaxTaskClaims+2)
	seq := uint64(2)
	for i := range all {
		all[i] = claimMessage(t, a, "m"+strconv.Itoa(i), "t1")
		seq = beginTurn(t, log, seq, store.Take, all[i])
	}
	if _, err := log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{Status(a2a.StateCanceled, nil)}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range all {
		wantClaimed(t, a, c, i < 2)
	}
}

func claims(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	first := store.MessageClaim{Replica: a.Self(), TaskID: "t1"}
	second := store.MessageClaim{Replica: b.Self(), TaskID: "t2"}
	want := func(m store.Member, message string, c, want store.MessageClaim) {
		t.Helper()
		if got, err := m.Claim(t.Context(), message, c, Lease); got != want || err != nil {
			t.Errorf("Claim() = %+v, %v, want %+v", got, err, want)
		}
	}
	want(a, "m1", first, first)
	want(b, "m1", second, first)
	want(b, "m2", second, second)
	if _, err := b.Unclaim(t.Context(), "m1", second); err != nil {
		t.Errorf("Unclaim() error = %v", err)
	}
	want(b, "m1", second, first)
	if _, err := a.Unclaim(t.Context(), "m1", first); err != nil {
		t.Errorf("Unclaim() error = %v", err)
	}
	want(b, "m1", second, second)
	s.Pass(Lease + Lease/10)
	renew(t, a)
	want(a, "m1", first, first)
}

func claimHasOneWinner(t *testing.T, s Shared) {
	var all sync.WaitGroup
	stands := make([]store.MessageClaim, 8)
	for i := range stands {
		m := join(t, s, strconv.Itoa(i))
		all.Go(func() {
			var err error
			if stands[i], err = m.Claim(t.Context(), "m", store.MessageClaim{Replica: m.Self(), TaskID: "t"}, time.Minute); err != nil {
				t.Errorf("Claim() error = %v", err)
			}
		})
	}
	all.Wait()
	for _, c := range stands {
		if c != stands[0] {
			t.Errorf("claims of %q and %q stand", c.Replica, stands[0].Replica)
		}
	}
}
