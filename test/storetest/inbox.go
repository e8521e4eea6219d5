// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func receive(t *testing.T, m store.Member) []*store.InboxMessage {
	t.Helper()
	mail, err := m.Receive(t.Context())
	if err != nil {
		t.Fatalf("Receive() error = %v", err)
	}
	return mail
}

func inboxKeepsOrder(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	history := 3
	push := config(key, "p").Config
	said := Message("m1", "ünicode\x1f")
	said.Parts = append(said.Parts, a2a.Part{Content: a2a.ContentRaw, Raw: []byte{0, 0xff}, Metadata: a2a.Object(`{"a":1}`)},
		a2a.Part{Content: a2a.ContentData, Data: a2a.Value(`[1.50]`)})
	all := []*store.InboxMessage{
		{From: a.Self(), Kind: store.ForwardedMessage, Number: 1 << 63, Task: store.Key{Owner: "alice\x1ft", TaskID: "t1"}, Request: &a2a.SendRequest{
			Owner: "alice\x1ft", Message: said, Dialect: a2a.DialectV10, ClientTaskID: true, Restart: true,
			AcceptedOutputModes: []string{"text/plain"}, HistoryLength: &history, ReturnImmediately: true, Push: &push,
			Metadata: a2a.Object(`{"b":2}`), Extensions: []string{"urn:x"}, Tenant: "t", Trace: a2a.TraceContext{Parent: "00-1-2-01", State: "v=1", Baggage: "k=1"},
		}},
		{From: a.Self(), Kind: store.MessageAccepted, Number: 2},
		{From: a.Self(), Kind: store.MessageDecided, Number: 3, Task: key, Seq: 7, Message: Message("m2", "direct")},
		{From: a.Self(), Kind: store.MessageDecided, Number: 4, Problem: &a2a.Error{
			Reason: a2a.ReasonInvalidParams, Message: "is wrong", Field: "message", TaskID: "t1",
		}},
		{From: a.Self(), Kind: store.ReviewTask, Task: key},
	}
	for _, m := range all {
		if _, err := a.Post(t.Context(), b.Self(), m); err != nil {
			t.Fatalf("Post() error = %v", err)
		}
	}
	var got []*store.InboxMessage
	for len(got) < len(all) {
		got = append(got, receive(t, b)...)
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("Receive() difference (-want +got):\n%s", diff)
	}
}

func inboxIsBounded(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	for i := range store.MaxInbox {
		if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: uint64(i)}); err != nil {
			t.Fatalf("Post() number %d: error = %v", i, err)
		}
	}
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{}); !errors.Is(err, store.ErrFull) {
		t.Errorf("Post() to a full box: error = %v, want ErrFull", err)
	}
	if _, err := a.Post(t.Context(), "c/nobody", &store.InboxMessage{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Post() to nobody: error = %v, want ErrNotFound", err)
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Post() to the dead: error = %v, want ErrNotFound", err)
	}
}

func messageIsWithdrawnOrReceived(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	post := func(n uint64) string {
		place, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: n})
		if err != nil {
			t.Fatalf("Post() error = %v", err)
		}
		return place
	}
	withdraw := func(place string, want bool) {
		t.Helper()
		if got, err := a.Withdraw(t.Context(), b.Self(), place); got != want || err != nil {
			t.Errorf("Withdraw() = %t, %v, want %t", got, err, want)
		}
	}
	first, second := post(1), post(2)
	withdraw(first, true)
	withdraw(first, false)
	if got := receive(t, b); len(got) != 1 || got[0].Number != 2 {
		t.Errorf("Receive() = %v, want number 2", got)
	}
	withdraw(second, false)
}

func receiveWaits(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	got := make(chan []*store.InboxMessage, 1)
	go func() {
		mail, err := b.Receive(t.Context())
		if err != nil {
			t.Errorf("Receive() error = %v", err)
		}
		got <- mail
	}()
	if _, err := a.Post(t.Context(), b.Self(), &store.InboxMessage{Number: 1}); err != nil {
		t.Fatalf("Post() error = %v", err)
	}
	if mail := <-got; len(mail) != 1 {
		t.Errorf("Receive() = %d messages, want 1", len(mail))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Receive(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Receive() error = %v, want Canceled", err)
	}
}
