// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/storetest"
)

func TestSharedConformance(t *testing.T) {
	storetest.RunShared(t, func(*testing.T) storetest.Shared {
		c := &clock{now: time.Unix(0, 0)}
		return storetest.Shared{
			Shared: memory.New(memory.Options{Now: c.Now}),
			Pass:   func(d time.Duration) { c.now = c.now.Add(d) },
		}
	})
}

// A task that is evicted is nobody's any more.
func TestEvictionEndsHold(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 1})
	m := f.Join("a")
	if _, err := m.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	log, err := m.CreateHeld(t.Context(), key("1"), store.Origin{ContextID: "c"}, storetest.Begin(), store.TurnDescriptor{})
	if err != nil {
		t.Fatal(err)
	}
	f.append(log, 2, storetest.Status(a2a.StateInputRequired, nil))
	f.task("2", a2a.StateWorking)
	if held, err := m.Holding(t.Context(), m.Self()); len(held) > 0 || err != nil {
		t.Errorf("Holding() = %v, %v, want none", held, err)
	}
}

// Replicas that left are forgotten, so that those who come and go do not add up.
func TestReplicasAreForgotten(t *testing.T) {
	f := newFixture(t, memory.Options{})
	stays := f.Join("stays")
	for _, m := range []store.Member{stays, f.Join("goes")} {
		if _, err := m.Renew(t.Context(), 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		if m != stays {
			if err := m.Leave(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []int{1, 0} {
		if dead, err := stays.Dead(t.Context()); len(dead) != want || err != nil {
			t.Errorf("Dead() = %q, %v, want %d", dead, err, want)
		}
		f.clock.now = f.clock.now.Add(61 * time.Minute)
	}
}
