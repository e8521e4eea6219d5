// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func queueing(limits engine.TurnLimits) engine.Options {
	return engine.Options{Turns: func() engine.TurnLimits { return limits }}
}

// of is a message of an owner, whose text is its id.
func of(owner a2a.Owner, id string) *a2a.SendRequest {
	r := say(id, id)
	r.Owner = owner
	return r
}

// TestQueueIsFair checks that the messages of an accounting principal keep their order, and
// that the queue serves principals in rotation, however many messages one of them has.
func TestQueueIsFair(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a0"))
		c := b.call()
		for _, id := range []string{"a1", "a2", "a3"} {
			b.send(of("a", id))
		}
		b.send(of("b", "b1"))
		tenant := of(a2a.Owner("b").In("acme"), "b2")
		b.send(tenant)
		b.send(of("c", "c1"))
		if got := b.Queued(); got != 6 {
			t.Errorf("Queued() = %d, want 6", got)
		}
		var order []string
		for range 6 {
			c.ends(nil)
			c = b.call()
			order = append(order, text(c.Message.Parts))
		}
		c.ends(nil)
		if got, want := strings.Join(order, " "), "a1 b1 c1 a2 b2 a3"; got != want {
			t.Errorf("order = %s, want %s", got, want)
		}
		if b.Running() != 0 || b.Queued() != 0 {
			t.Errorf("%d turns run and %d wait in the end", b.Running(), b.Queued())
		}
	})
}

func TestHigherLimitsStartWaitingTurns(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	o := engine.Options{Turns: func() engine.TurnLimits { return limits }}
	play(t, o, func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		b.call()
		for _, id := range []string{"b1", "c1", "d1"} {
			b.send(of(a2a.Owner(id[:1]), id))
		}
		b.noCall()
		limits.Max = 3
		b.LimitsChanged()
		b.call()
		b.call()
		b.noCall()
		if got := b.Queued(); got != 1 {
			t.Errorf("Queued() = %d, want 1", got)
		}
	})
}

func TestOnePrincipalLeavesTurnsToOthers(t *testing.T) {
	limits := engine.TurnLimits{Max: 3, MaxPerPrincipal: 2, MaxQueued: 10, QueueTimeout: time.Second}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		b.call()
		b.send(of("a", "a2"))
		second := b.call()
		third := b.send(of("a", "a3"))
		b.noCall()
		b.send(of("b", "b1"))
		b.call()
		second.ends(nil)
		b.call()
		if !third.pending() {
			t.Errorf("Send() of a3 = %s", third.result())
		}
	})
}

func TestQueueHasADeadline(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 10, QueueTimeout: 5 * time.Second}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		c := b.call()
		waits := b.send(of("b", "b1"))
		time.Sleep(5*time.Second - time.Millisecond)
		if !waits.pending() {
			t.Fatalf("Send() = %s before its time", waits.result())
		}
		time.Sleep(time.Millisecond)
		if got := waits.result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() = %s after its time", got)
		}
		if b.Queued() != 0 {
			t.Errorf("%d still wait", b.Queued())
		}
		// The same message may come again.
		again := b.send(of("b", "b1"))
		c.ends(nil)
		b.call()
		if !again.pending() {
			t.Errorf("Send() = %s", again.result())
		}
	})
}

func TestClientThatLeavesTheQueueStartsNoTurn(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		c := b.call()
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := b.Send(ctx, of("b", "b1"))
			gone <- err
		}()
		synctest.Wait()
		leave()
		if err := <-gone; err == nil {
			t.Error("Send() of a client that left: no error")
		}
		c.ends(nil)
		b.noCall()
		if b.Running() != 0 || b.Queued() != 0 {
			t.Errorf("%d turns run and %d wait", b.Running(), b.Queued())
		}
	})
}

// The principal with the longest queue loses its last message to one with a shorter queue.
func TestFullQueue(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a0"))
		b.call()
		var waiting []*sent
		for i := range 4 {
			waiting = append(waiting, b.send(of("a", "a"+strconv.Itoa(i+1))))
		}
		if got := waiting[3].result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() to a full queue = %s", got)
		}
		other := b.send(of("b", "b1"))
		if !other.pending() || waiting[2].pending() || !waiting[1].pending() {
			t.Errorf("of another's: %s, %s, %s", other.result(), waiting[2].result(), waiting[1].result())
		}
	})
}

func TestDrainEmptiesTheQueue(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		c := b.call()
		waits := b.send(of("a", "a2"))
		drained := make(chan error)
		go func() { drained <- b.Drain(t.Context()) }()
		if got := waits.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() that waits = %s", got)
		}
		c.ends(nil)
		if err := <-drained; err != nil {
			t.Errorf("Drain() error = %v", err)
		}
	})
}

// TestMessageForAnEndedTaskReleasesItsTurn: what was waited for may not be
// needed any more.
func TestMessageForAnEndedTaskReleasesItsTurn(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerPrincipal: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		b.send(of("a", "a1"))
		asks := b.call()
		asks.must(status(a2a.StateInputRequired))
		asks.ends(nil)
		b.send(of("b", "b1"))
		c := b.call()
		late := b.send(to(of("a", "a2"), asks.TaskID))
		if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "a", TaskID: asks.TaskID}); err != nil {
			t.Fatal(err)
		}
		c.ends(nil)
		if got := late.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("Send() = %s", got)
		}
		if b.Running() != 0 {
			t.Errorf("%d turns run", b.Running())
		}
	})
}

// TestAddressesPayForAnonymousCallers, who all have one owner.
func TestAddressesPayForAnonymousCallers(t *testing.T) {
	limits := engine.TurnLimits{Max: 2, MaxPerPrincipal: 1}
	play(t, queueing(limits), func(t *testing.T, b *bench) {
		from := func(id, address string) *a2a.SendRequest {
			r := of("anonymous", id)
			r.AccountingPrincipal = a2a.AccountingPrincipalAt(address)
			return r
		}
		b.send(from("1", "192.0.2.1:1"))
		b.call()
		if got := b.send(from("2", "192.0.2.1:2")).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("second Send() from an address = %s", got)
		}
		b.send(from("3", "192.0.2.2:1"))
		b.call()
	})
}

// TestQueueUnderPressure: whatever happens at once, no place is lost or doubled.
func TestQueueUnderPressure(t *testing.T) {
	const most = 4
	var mu sync.Mutex
	running, peak := 0, 0
	agent := backendFunc(func(emit backend.Emit) error {
		mu.Lock()
		running++
		peak = max(peak, running)
		mu.Unlock()
		err := emit([]a2a.Event{chunk("x")})
		mu.Lock()
		running--
		mu.Unlock()
		return err
	})
	e, err := engine.New(engine.Options{
		Store: memory.New(memory.Options{}), Backend: agent,
		Turns: func() engine.TurnLimits {
			return engine.TurnLimits{Max: most, MaxPerPrincipal: 2, MaxQueued: 1000, QueueTimeout: time.Minute}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			for i := range 50 {
				r := of(a2a.Owner("owner"+strconv.Itoa(g%8)), "")
				ctx := t.Context()
				if i%10 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 100*time.Microsecond)
					defer cancel()
				}
				if _, err := e.Send(ctx, r); err != nil && ctx.Err() == nil {
					t.Errorf("Send() error = %v", err)
				}
			}
		})
	}
	all.Wait()
	if err := e.Drain(t.Context()); err != nil || e.Running() != 0 || e.Queued() != 0 {
		t.Errorf("Drain() error = %v, %d run, %d wait", err, e.Running(), e.Queued())
	}
	if peak > most {
		t.Errorf("%d turns ran at once, want at most %d", peak, most)
	}
}
