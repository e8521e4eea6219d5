// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func rememberAndRecall(t *testing.T, s store.Store) {
	c := store.Conversation{Owner: "alice", ContextID: "c1"}
	if got, err := s.Recall(t.Context(), c); err != nil || len(got) != 0 {
		t.Errorf("Recall() of nothing = %v, %v", got, err)
	}
	want := []*a2a.Message{Message("m1", "a"), Message("m2", "b")}
	for _, m := range want {
		if err := s.Remember(t.Context(), c, m)(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err := s.Recall(t.Context(), c)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Recall() error = %v, difference (-want +got):\n%s", err, diff)
	}
	for _, c := range []store.Conversation{{Owner: "bob", ContextID: "c1"}, {Owner: "alice", ContextID: "c2"}} {
		if got, err := s.Recall(t.Context(), c); err != nil || len(got) != 0 {
			t.Errorf("Recall(%v) = %v, %v, want nothing", c, got, err)
		}
	}
}

func rememberIsBounded(t *testing.T, s store.Store) {
	c := store.Conversation{Owner: "alice", ContextID: "c1"}
	for i := range 100 {
		if err := s.Remember(t.Context(), c, Message(strconv.Itoa(i), "x"))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err := s.Recall(t.Context(), c)
	if err != nil || len(got) != store.MaxRemembered || got[0].ID != strconv.Itoa(100-store.MaxRemembered) {
		t.Errorf("Recall() = %d messages, %v, want the newest %d", len(got), err, store.MaxRemembered)
	}
	big := strings.Repeat("x", store.MaxRememberedBytes/4)
	for i := range 8 {
		if err := s.Remember(t.Context(), c, Message("big"+strconv.Itoa(i), big))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err = s.Recall(t.Context(), c)
	if err != nil || len(got) != 3 || got[2].ID != "big7" {
		t.Errorf("Recall() = %d messages, %v, want the 3 that fit", len(got), err)
	}
	// A message that exceeds the bounds is not stored, and all earlier messages are
	// dropped.
	for _, text := range []string{strings.Repeat(big, 5), "x"} {
		if err := s.Remember(t.Context(), c, Message("last", text))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err = s.Recall(t.Context(), c)
	if err != nil || len(got) != 1 || got[0].Parts[0].Text != "x" {
		t.Errorf("Recall() = %d messages, %v, want the last", len(got), err)
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
