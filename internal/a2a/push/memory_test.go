// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
)

// slowReceiver answers after a second. It measures the requests that it has not answered.
type slowReceiver struct {
	memory *limit.Budget

	mu                 sync.Mutex
	bodies, mostAtOnce int
	// bytes are the bytes of large bodies.
	bytes     int64
	uncharged bool
}

func (s *slowReceiver) add(bodies int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies += bodies
	s.bytes += bytes
	s.mostAtOnce = max(s.mostAtOnce, s.bodies)
	s.uncharged = s.uncharged || s.bytes > s.memory.Used()
}

func (s *slowReceiver) answer(r *http.Request) (*http.Response, error) {
	charged := r.ContentLength
	if charged <= limit.Small {
		charged = 0
	}
	s.add(1, charged)
	defer s.add(-1, -charged)
	select {
	case <-time.After(time.Second):
		return status(http.StatusOK)(r)
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

// withMemory runs a test with a memory budget of 1 MiB and a slow receiver. The budget has room
// for three bodies of 100 KiB of one owner, and for seven in all.
func withMemory(t *testing.T, test func(t *testing.T, b *fixture, s *slowReceiver)) {
	t.Helper()
	s := &slowReceiver{memory: limit.NewBudget(1<<20, time.Second)}
	withFixture(t, push.Options{Memory: s.memory, PerHost: 16, Linger: time.Nanosecond}, func(t *testing.T, b *fixture) {
		b.respond(s.answer)
		test(t, b, s)
		if s.memory.Used() != 0 {
			t.Errorf("%d bytes are charged at the end", s.memory.Used())
		}
	})
}

// large returns the task of an owner with an artifact of 100 KiB, of which a webhook is notified.
func (b *fixture) large(owner a2a.Owner, id string, d a2a.Dialect) *task {
	b.t.Helper()
	task := b.taskOf(owner, id)
	task.config(a2a.PushConfig{Dialect: d})
	task.add(largeChunk(id))
	return task
}

func largeChunk(id string) a2a.Event { return chunk(id, "a1", strings.Repeat("x", 100<<10), false) }

// TestBodiesWaitForMemory checks that the bodies of requests in flight fit into the memory
// budget, and that the other notifications wait and are delivered once.
func TestBodiesWaitForMemory(t *testing.T) {
	for name, test := range map[string]struct {
		owners, atOnce int
		dialect        a2a.Dialect
	}{
		"one owner":               {owners: 1, atOnce: 3, dialect: a2a.DialectV10},
		"one owner, whole tasks":  {owners: 1, atOnce: 3, dialect: a2a.DialectV03},
		"three owners":            {owners: 3, atOnce: 7, dialect: a2a.DialectV10},
		"three owners, old tasks": {owners: 3, atOnce: 7, dialect: a2a.DialectV01},
	} {
		t.Run(name, func(t *testing.T) {
			withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
				for i := range 12 {
					id := fmt.Sprint(i)
					task := b.large(a2a.Owner(fmt.Sprintf("owner%d", i%test.owners)), id, test.dialect)
					if test.dialect != a2a.DialectV10 {
						task.setState(a2a.StateInputRequired)
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if s.mostAtOnce != test.atOnce || s.uncharged {
					t.Errorf("%d bodies were in flight at once, want %d; more bytes in flight than charged: %t", s.mostAtOnce, test.atOnce, s.uncharged)
				}
				b.wantCounts("delivered=12")
			})
		})
	}
}

// TestEncodedBodiesAreCharged checks that the budget counts the bytes that base64 and the
// escapes of JSON add to a body.
func TestEncodedBodiesAreCharged(t *testing.T) {
	zeros := strings.Repeat("\x00", 100<<10)
	for name, test := range map[string]struct {
		part   a2a.Part
		atOnce int
	}{
		"base64":                  {a2a.Part{Content: a2a.ContentRaw, Raw: []byte(zeros)}, 5},
		"escapes":                 {a2a.TextPart(zeros), 1},
		"escapes of a short text": {a2a.TextPart(zeros[:60<<10]), 2},
	} {
		for version, dialect := range map[string]a2a.Dialect{"1.0": a2a.DialectV10, "0.3": a2a.DialectV03, "0.1": a2a.DialectV01} {
			t.Run(name+" "+version, func(t *testing.T) {
				withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
					for i := range 12 {
						id := fmt.Sprint(i)
						task := b.taskOf(a2a.Owner(fmt.Sprintf("owner%d", i%3)), id)
						task.config(a2a.PushConfig{Dialect: dialect})
						event := chunk(id, "a1", "", false)
						event.Artifact.Artifact.Parts = []a2a.Part{test.part}
						task.add(event)
						if dialect != a2a.DialectV10 {
							task.setState(a2a.StateInputRequired)
						}
					}
					time.Sleep(time.Minute)
					synctest.Wait()
					if s.mostAtOnce != test.atOnce || s.uncharged {
						t.Errorf("%d bodies were in flight at once, want %d; more bytes in flight than charged: %t", s.mostAtOnce, test.atOnce, s.uncharged)
					}
					b.wantCounts("delivered=12")
				})
			})
		}
	}
}

// TestBudgetsWithoutBytes checks that large notifications are delivered if there is no
// budget, or if a reload has set the budget to 0 bytes.
func TestBudgetsWithoutBytes(t *testing.T) {
	for name, memory := range map[string]*limit.Budget{"none": nil, "0": limit.NewBudget(0, time.Second)} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, push.Options{Memory: memory, Linger: time.Nanosecond}, func(_ *testing.T, b *fixture) {
				b.large("alice", "t1", a2a.DialectV10)
				time.Sleep(time.Second)
				b.wantEvents("3")
			})
		})
	}
}

// TestSmallBodiesNeedNoMemory checks that a notification of a few bytes passes those that wait
// for memory.
func TestSmallBodiesNeedNoMemory(t *testing.T) {
	withMemory(t, func(_ *testing.T, b *fixture, s *slowReceiver) {
		var held limit.Reservation
		if !s.memory.TryGrow(&held, a2a.AccountingPrincipal{Principal: "alice"}, s.memory.Largest()) {
			b.t.Fatal("the budget has no room")
		}
		b.large("alice", "large", a2a.DialectV10)
		b.wantEvents("")
		small := b.task("small")
		small.config(a2a.PushConfig{Dialect: a2a.DialectV10})
		small.setState(a2a.StateWorking)
		b.wantEvents("3")
		// The wait for memory has no time limit, and is no attempt.
		time.Sleep(2 * time.Hour)
		b.wantCounts("delivered=1")
		held.Release()
		time.Sleep(2 * time.Second)
		b.wantEvents("3")
		b.wantCounts("delivered=2")
	})
}

// TestDrainAwaitsMemory checks that a drain delivers the notifications that wait for memory.
func TestDrainAwaitsMemory(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		for i := range 6 {
			b.large("alice", fmt.Sprint(i), a2a.DialectV10)
		}
		synctest.Wait()
		if err := b.Drain(t.Context()); err != nil {
			t.Errorf("Drain() error = %v", err)
		}
		b.wantCounts("delivered=6")
	})
}

// TestDeletedConfigurationAwaitsNoMemory checks that the wait of a delivery for memory ends
// when its configuration is deleted.
func TestDeletedConfigurationAwaitsNoMemory(t *testing.T) {
	withMemory(t, func(t *testing.T, b *fixture, s *slowReceiver) {
		var held limit.Reservation
		s.memory.TryGrow(&held, a2a.AccountingPrincipal{Principal: "alice"}, s.memory.Largest())
		task := b.large("alice", "t1", a2a.DialectV10)
		synctest.Wait()
		if err := b.DeletePush(t.Context(), task.request("t1")); err != nil {
			t.Fatal(err)
		}
		b.wantFollowing(0)
		held.Release()
		time.Sleep(time.Minute)
		b.wantEvents("")
	})
}
