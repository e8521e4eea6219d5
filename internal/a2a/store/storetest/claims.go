// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strconv"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// claimMessage claims a message as a task of its own, and returns the claim.
func claimMessage(t *testing.T, m store.Member, message, task string) store.ClaimedMessage {
	t.Helper()
	c := store.MessageClaim{Replica: m.Self(), TaskID: task, Nonce: "n-" + message}
	if got, err := m.Claim(t.Context(), message, c, time.Minute); got != c || err != nil {
		t.Fatalf("Claim(%q) = %+v, %v, want %+v", message, got, err, c)
	}
	return store.ClaimedMessage{Message: message, MessageClaim: c}
}

// wantClaimed requires that a claim stands, or has ended.
func wantClaimed(t *testing.T, m store.Member, c store.ClaimedMessage, want bool) {
	t.Helper()
	other := store.MessageClaim{Replica: m.Self(), TaskID: "other"}
	got, err := m.Claim(t.Context(), c.Message, other, time.Minute)
	if stands := got == c.MessageClaim; stands != want || err != nil {
		t.Errorf("Claim(%q) = %+v, %v; the claim stands: %t, want %t", c.Message, got, err, stands, want)
	}
	if got == other {
		if err := m.Unclaim(t.Context(), c.Message, other); err != nil {
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
	// What a client names may hold anything.
	first := claimMessage(t, a, "first", "t1\n\t:,\x00")
	log := createTurn(t, a, Begin(), store.TurnDescriptor{Begin: 1, Attempt: 1, Claim: first})
	queued, waits := claimMessage(t, b, "queued", "t1"), claimMessage(t, b, "waits", "t1")
	seq := beginTurn(t, log, 2, store.Take, queued)
	seq = beginTurn(t, log, seq, store.Take, queued) // it is run again
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
	// A claim that was made since is another's, though the message is the same.
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

func pausedOfConversation(t *testing.T, s store.Store) {
	want := func(c store.Conversation, want ...string) {
		t.Helper()
		got, err := s.Paused(t.Context(), c)
		if err != nil {
			t.Fatalf("Paused() error = %v", err)
		}
		seen := map[string]bool{}
		for _, id := range got {
			seen[id] = true
		}
		if len(got) != min(len(want), 2) || len(seen) != len(got) {
			t.Errorf("Paused(%+v) = %q, want %d of %q", c, got, min(len(want), 2), want)
			return
		}
		for _, id := range want {
			delete(seen, id)
		}
		if len(seen) > 0 {
			t.Errorf("Paused(%+v) = %q, want of %q", c, got, want)
		}
	}
	put := func(owner a2a.Owner, id, contextID string, state a2a.State) store.Log {
		t.Helper()
		log, err := s.Create(t.Context(), store.NewTask{
			Key: store.Key{Owner: owner, TaskID: id}, Origin: store.Origin{ContextID: contextID},
			Events: []a2a.Event{{Message: Message("m", "hi")}, Status(state, nil)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	c := store.Conversation{Owner: "alice", ContextID: "c1"}
	want(c)
	log := put("alice", "t1", "c1", a2a.StateInputRequired)
	put("alice", "t2", "c2", a2a.StateInputRequired)
	put("bob", "t3", "c1", a2a.StateAuthRequired)
	put(a2a.Owner("alice").In("tenant"), "t4", "c1", a2a.StateInputRequired)
	put("alice", "t5", "c1", a2a.StateWorking)
	put("alice", "t6", "c1", a2a.StateCompleted)
	want(c, "t1")
	want(store.Conversation{Owner: "bob", ContextID: "c1"}, "t3")
	put("alice", "t7", "c1", a2a.StateAuthRequired)
	want(c, "t1", "t7")
	put("alice", "t8", "c1", a2a.StateInputRequired)
	want(c, "t1", "t7", "t8")
	if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{Status(a2a.StateWorking, nil)}}); err != nil {
		t.Fatal(err)
	}
	want(c, "t7", "t8")
	if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{Status(a2a.StateCanceled, nil)}}); err != nil {
		t.Fatal(err)
	}
	want(c, "t7", "t8")
	want(store.Conversation{Owner: "alice", ContextID: "c3"})
}
