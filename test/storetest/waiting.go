// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// waitingMessage returns a message with fields of all kinds.
func waitingMessage(id string) store.WaitingMessage {
	m := Message(id, "\x00\n ü")
	m.TaskID, m.ContextID = key.TaskID, origin.ContextID
	return store.WaitingMessage{
		Request: &a2a.SendRequest{
			Owner: key.Owner, Message: m, Dialect: a2a.DialectV10, ReturnImmediately: true,
			AccountingPrincipal: a2a.AccountingPrincipalAt("192.0.2.1"), AcceptedOutputModes: []string{"text/plain"},
			Metadata: a2a.Object(`{"a":[1,"ü"]}`), Extensions: []string{"urn:x"}, Trace: a2a.TraceContext{Parent: "00-1-2-01"},
		},
		Claim: store.ClaimedMessage{Message: "digest", MessageClaim: store.MessageClaim{Replica: "a/1", TaskID: "t1", Nonce: "n"}},
	}
}

// waits appends a status with which a message begins to wait.
func (l heldLog) waits(t *testing.T, after uint64, w store.WaitingMessage) error {
	t.Helper()
	return l.appendWaiting(t, after, store.Keep, &store.WaitingChange{Add: &w})
}

// begins appends the event with which the turn of a waiting message begins. The append removes
// the message with the given seq from the waiting messages.
func (l heldLog) begins(t *testing.T, after, seq uint64) error {
	t.Helper()
	return l.appendWaiting(t, after, store.Take, &store.WaitingChange{Remove: seq})
}

func (l heldLog) appendWaiting(t *testing.T, after uint64, hold store.HoldChange, c *store.WaitingChange) error {
	t.Helper()
	a := store.Append{
		After: after, Events: []a2a.Event{Status(a2a.StateWorking, nil)}, Hold: hold, Waiting: c,
		Write: store.Write{Token: store.NewToken(), Replica: l.member.Self()},
	}
	seq, err := l.Append(t.Context(), a)
	if err != nil {
		return err
	}
	// A repeated write changes nothing.
	a.Repeat, a.Events = true, []a2a.Event{Status(a2a.StateWorking, nil)}
	if again, err := l.Append(t.Context(), a); again != seq || err != nil {
		t.Errorf("repeated Append() = %d, %v, want %d", again, err, seq)
	}
	return nil
}

func wantWaiting(t *testing.T, m store.Member, want ...store.WaitingMessage) {
	t.Helper()
	got, err := m.Waiting(t.Context(), key)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Waiting() error = %v, difference (-want +got):\n%s", err, diff)
	}
}

func messagesWait(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	log := createHeld(t, a)
	wantWaiting(t, b)
	first, second := waitingMessage("m2"), waitingMessage("m3")
	if err := errors.Join(log.waits(t, 2, first), log.waits(t, 3, second)); err != nil {
		t.Fatal(err)
	}
	first.Seq, second.Seq = 3, 4
	wantWaiting(t, b, first, second)
	for _, after := range []uint64{3, 5} {
		if err := log.waits(t, after, waitingMessage("m4")); !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrRolledBack) {
			t.Errorf("Append() after another number: error = %v", err)
		}
	}
	log = openHeld(t, a)
	wantAppend(t, log, 4, store.Keep, nil)
	if err := log.begins(t, 5, 3); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, b, second)
}

func waitingMessageIsRemovedOnce(t *testing.T, s Shared) {
	a := join(t, s, "a")
	if err := createHeld(t, a).waits(t, 2, waitingMessage("m2")); err != nil {
		t.Fatal(err)
	}
	s.Pass(Lease + Lease/10)
	b := join(t, s, "b")
	theirs := openHeld(t, b)
	if err := theirs.begins(t, 3, 3); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, a)
	if err := theirs.begins(t, 4, 3); !errors.Is(err, store.ErrHeld) {
		t.Errorf("second Append() for the message: error = %v, want ErrHeld", err)
	}
	if now := task(t, theirs).Seq; now != 4 {
		t.Errorf("log is at %d after a refusal, want 4", now)
	}
	if err := openHeld(t, a).waits(t, 4, waitingMessage("m3")); !errors.Is(err, store.ErrHeld) {
		t.Errorf("Append() of a former holder: error = %v, want ErrHeld", err)
	}
	wantWaiting(t, b)
}

func waitingMessagesEndWithHold(t *testing.T, s Shared) {
	a, b := join(t, s, "a"), join(t, s, "b")
	log := createHeld(t, a)
	if err := log.waits(t, 2, waitingMessage("m2")); err != nil {
		t.Fatal(err)
	}
	wantAppend(t, log, 3, store.Release, nil)
	wantWaiting(t, b)
	wantAppend(t, log, 4, store.Take, nil)
	wantWaiting(t, b)
	if err := log.waits(t, 5, waitingMessage("m3")); err != nil {
		t.Fatal(err)
	}
	add(t, openHeld(t, b), 6, Status(a2a.StateCanceled, nil))
	wantWaiting(t, b)
}
