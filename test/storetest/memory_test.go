// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestMemory(t *testing.T) {
	storetest.RunShared(t, func(*testing.T) storetest.Shared {
		c := &clock{now: time.Unix(0, 0)}
		return storetest.Shared{
			Shared: storetest.NewMemory(memory.Options{Now: c.Now}),
			Pass:   func(d time.Duration) { c.now = c.now.Add(d) },
		}
	})
}

// A task that is evicted has no holder any more.
func TestEvictionEndsHold(t *testing.T) {
	m := storetest.NewMemory(memory.Options{MaxTasks: 1}).Join("a")
	if _, err := m.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		_, err := m.Create(t.Context(), store.NewTask{
			Key: store.Key{TaskID: id}, Events: []a2a.Event{storetest.Status(a2a.StateInputRequired, nil)},
			Write: store.Write{Replica: m.Self()},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if held, err := m.Holding(t.Context(), m.Self()); len(held) != 1 || err != nil {
		t.Errorf("Holding() = %v, %v, want one", held, err)
	}
}

// The store forgets replicas that have left, so that replicas that come and go do not
// accumulate.
func TestReplicasExpire(t *testing.T) {
	c := &clock{now: time.Unix(0, 0)}
	s := storetest.NewMemory(memory.Options{Now: c.Now})
	stays := s.Join("stays")
	for _, m := range []store.Member{stays, s.Join("goes")} {
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
		c.now = c.now.Add(61 * time.Minute)
	}
}
