// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Lease is the lease of the replicas in the tests, long enough for a busy machine. The
// windows of claims are as long.
const Lease = 2 * time.Second

// Shared is a store of several replicas, and its clock.
type Shared struct {
	store.Shared
	// Pass advances the clock.
	Pass func(time.Duration)
}

func join(t *testing.T, s Shared, name string) store.Member {
	t.Helper()
	m := s.Join(name)
	renew(t, m)
	return m
}

func renew(t *testing.T, m store.Member) []store.Key {
	t.Helper()
	keys, err := m.Renew(t.Context(), Lease)
	if err != nil {
		t.Fatalf("Renew() error = %v", err)
	}
	return keys
}

// heldLog is a log with the replica that has opened it.
type heldLog struct {
	store.Log
	member store.Member
}

func (l heldLog) appendHeld(ctx context.Context, after uint64, events []a2a.Event, c store.HoldChange, d store.TurnDescriptor) (uint64, error) {
	return l.Append(ctx, store.Append{
		After: after, Events: events, Hold: c, Write: store.Write{Replica: l.member.Self(), Turn: &d},
	})
}

func (l heldLog) holder(ctx context.Context) (store.Hold, error) { return l.member.Holder(ctx, key) }

func createHeld(t *testing.T, m store.Member) heldLog {
	t.Helper()
	return createTurn(t, m, Begin(), store.TurnDescriptor{Begin: 1, Attempt: 1})
}

func createTurn(t *testing.T, m store.Member, events []a2a.Event, d store.TurnDescriptor) heldLog {
	t.Helper()
	log, err := m.Create(t.Context(), store.NewTask{
		Key: key, Origin: origin, Events: events, Write: store.Write{Replica: m.Self(), Turn: &d},
	})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return heldLog{log, m}
}

func openHeld(t *testing.T, m store.Member) heldLog {
	t.Helper()
	log, err := m.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open() error = %v", err)
	}
	return heldLog{log, m}
}

func wantHolder(t *testing.T, log heldLog, want store.Replica, alive bool) {
	t.Helper()
	got, err := log.holder(t.Context())
	if err != nil || got.Replica != want || got.Alive != alive {
		t.Errorf("Holder() = %q, alive %t, %v, want %q, alive %t", got.Replica, got.Alive, err, want, alive)
	}
}

// wantAppend appends a status with a hold change, and compares the outcome.
func wantAppend(t *testing.T, log heldLog, after uint64, c store.HoldChange, want error) {
	t.Helper()
	seq, err := log.appendHeld(t.Context(), after, []a2a.Event{Status(a2a.StateWorking, nil)}, c, store.TurnDescriptor{})
	if !errors.Is(err, want) || want == nil && seq != after+1 {
		t.Errorf("Append(%d) = %d, %v, want %v", after, seq, err, want)
	}
	if now := task(t, log).Seq; want != nil && err != nil && !errors.Is(err, store.ErrConflict) && now != after {
		t.Errorf("log is at %d after a refusal, want %d", now, after)
	}
}

func wantHolding(t *testing.T, of store.Member, by store.Member, want ...store.Key) {
	t.Helper()
	got, err := by.Holding(t.Context(), of.Self())
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Holding(%q): error = %v, difference (-want +got):\n%s", of.Self(), err, diff)
	}
}
