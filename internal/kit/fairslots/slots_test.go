// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fairslots

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run acquires a slot, holds it for a second and adds the tenant to order.
type run struct {
	t     *testing.T
	slots *Slots[string]
	group sync.WaitGroup
	mu    sync.Mutex
	order []string
	full  int
}

// ran returns the tenants whose calls have had a slot, and the number of refused calls.
func (r *run) ran() (order []string, full int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order), r.full
}

func (r *run) call(tenant string) {
	r.group.Go(func() {
		release, err := r.slots.Acquire(context.Background(), tenant)
		r.mu.Lock()
		if err == nil {
			r.order = append(r.order, tenant)
		} else {
			r.full++
		}
		r.mu.Unlock()
		if err == nil {
			time.Sleep(time.Second)
			release()
		} else if !errors.Is(err, ErrFull) {
			r.t.Errorf("Acquire() error = %v, want ErrFull", err)
		}
	})
	synctest.Wait()
}

// Tenants take turns, whatever the number of their calls is, and one tenant never has all slots.
func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{t: t, slots: New[string](Options{Slots: 3, PerTenant: 2, Waiting: 100})}
		for range 8 {
			r.call("a")
		}
		order, _ := r.ran()
		if got := strings.Join(order, ""); got != "aa" {
			t.Errorf("one tenant has the slots %q, want aa", got)
		}
		r.call("b")
		for range 2 {
			r.call("c")
		}
		order, _ = r.ran()
		if got := strings.Join(order, ""); got != "aab" {
			t.Errorf("a second tenant waits for the first: %q", got)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		order, _ = r.ran()
		if got := order[3:]; len(got) != 3 || strings.Count(strings.Join(got, ""), "c") == 0 {
			t.Errorf("after the first calls: %q, want c among three", got)
		}
		r.group.Wait()
		if len(r.order) != 11 || r.full != 0 || len(r.slots.tenants) != 0 || r.slots.free != 3 || r.slots.waiting != 0 {
			t.Errorf("%d calls ran, %d were refused, %d tenants, %d free, %d waiting at the end", len(r.order), r.full, len(r.slots.tenants), r.slots.free, r.slots.waiting)
		}
	})
}

// A tenant with many calls leaves places to others.
func TestWaitingCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{t: t, slots: New[string](Options{Slots: 1, PerTenant: 1, Waiting: 9})}
		for range 20 {
			r.call("a")
		}
		_, full := r.ran()
		if full != 20-1-6 {
			t.Errorf("%d calls of one tenant were refused, want 13: 1 runs and 6 wait", full)
		}
		for _, tenant := range []string{"b", "c", "d", "e"} {
			r.call(tenant)
		}
		if _, full = r.ran(); full != 13+1 {
			t.Errorf("%d calls of four other tenants were refused, want 1", full-13)
		}
		r.group.Wait()
		if got := strings.Join(r.order[:5], ""); got != "aabcd" {
			t.Errorf("order = %q, want aabcd at first", got)
		}
	})
}

func TestCallThatEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[string](Options{Slots: 1, PerTenant: 1, Waiting: 9})
		release, err := s.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Acquire(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want that of the context", err)
		}
		if len(s.tenants) != 1 || s.waiting != 0 {
			t.Errorf("%d tenants and %d waiting calls remain", len(s.tenants), s.waiting)
		}
		release()
		if release, err = s.Acquire(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		release()
	})
}

// A slot with a pace is not free before the pace has passed, so that the rate of calls is bounded.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New[int](Options{Slots: 2, PerTenant: 2, Waiting: 100, Pace: 100 * time.Millisecond})
		began := time.Now()
		for i := range 10 {
			release, err := s.Acquire(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			release()
		}
		if took := time.Since(began); took != 400*time.Millisecond {
			t.Errorf("ten calls took %v, want 400ms", took)
		}
		time.Sleep(time.Second)
	})
}
