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

func withTurnLimits(limits engine.TurnLimits) engine.Options {
	return engine.Options{Turns: func() engine.TurnLimits { return limits }}
}

// requestOf returns a message of an owner. Its text is its id.
func requestOf(owner a2a.Owner, id string) *a2a.SendRequest {
	r := newRequest(id, id)
	r.Owner = owner
	return r
}

// TestQueueIsFair checks that the messages of an accounting principal keep their order, and
// that the queue serves principals in rotation, however many messages one of them has.
func TestQueueIsFair(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a0"))
		c := b.nextCall()
		for _, id := range []string{"a1", "a2", "a3"} {
			b.send(requestOf("a", id))
		}
		b.send(requestOf("b", "b1"))
		tenant := requestOf(a2a.Owner("b").In("acme"), "b2")
		b.send(tenant)
		b.send(requestOf("c", "c1"))
		if got := b.Queued(); got != 6 {
			t.Errorf("Queued() = %d, want 6", got)
		}
		var order []string
		for range 6 {
			c.endRun(nil)
			c = b.nextCall()
			order = append(order, text(c.Message.Parts))
		}
		c.endRun(nil)
		if got, want := strings.Join(order, " "), "a1 b1 c1 a2 b2 a3"; got != want {
			t.Errorf("order = %s, want %s", got, want)
		}
		if b.Running() != 0 || b.Queued() != 0 {
			t.Errorf("%d turns run and %d wait in the end", b.Running(), b.Queued())
		}
	})
}

// TestMessagesOfRunningTurnsAreBoundedByTheirBytes checks the bounds of the bytes of the
// messages of running turns, for one principal and for all together. A message beyond a
// bound waits for a turn, although the bounds of the number of turns allow it.
func TestMessagesOfRunningTurnsAreBoundedByTheirBytes(t *testing.T) {
	limits := engine.TurnLimits{Max: 100, MaxPerCaller: 100, MaxQueued: 10, QueueTimeout: time.Minute}
	options := withTurnLimits(limits)
	options.TurnBytes = 18 << 20
	withEngine(t, options, func(t *testing.T, b *fixture) {
		large := strings.Repeat("x", 1<<20) // a turn costs twice as much
		sendLarge := func(owner a2a.Owner, id string) {
			r := requestOf(owner, id)
			if len(owner) > 1 {
				r.Metadata = a2a.Object(`{"a":"` + large + `"}`)
			} else {
				r.Message.Parts = append(r.Message.Parts, a2a.TextPart(large))
			}
			b.send(r)
		}
		var calls []*call
		for i := range 4 { // 8 MiB of the 9 MiB of one principal
			sendLarge("a", "a"+strconv.Itoa(i))
			calls = append(calls, b.nextCall())
		}
		for i := range 2 { // 12 MiB of the 13.5 MiB of large messages
			sendLarge("with metadata", strconv.Itoa(i))
			calls = append(calls, b.nextCall())
		}
		sendLarge("a", "a4")
		b.wantNoCall()
		b.send(requestOf("b", "small"))
		calls = append(calls, b.nextCall())
		calls[0].endRun(nil)
		calls = append(calls, b.nextCall())
		sendLarge("b", "b0")
		b.wantNoCall()
		calls[4].endRun(nil)
		calls = append(calls, b.nextCall())
		for _, c := range calls {
			c.endRun(nil)
		}
		if b.Running() != 0 || b.Queued() != 0 {
			t.Errorf("%d turns run and %d wait in the end", b.Running(), b.Queued())
		}
		// All bytes are released.
		for i := range 4 {
			sendLarge("a", "again"+strconv.Itoa(i))
			b.nextCall()
		}
	})
}

// TestLargeMessagesDelayNoOthers checks that turns with large messages, and large messages
// that wait for a turn, delay neither small messages nor large ones that have room.
func TestLargeMessagesDelayNoOthers(t *testing.T) {
	limits := engine.TurnLimits{Max: 100, MaxPerCaller: 100, MaxQueued: 10, QueueTimeout: time.Minute}
	options := withTurnLimits(limits)
	options.TurnBytes = 24 << 20
	withEngine(t, options, func(t *testing.T, b *fixture) {
		send := func(owner a2a.Owner, id string, size int) {
			r := requestOf(owner, id)
			r.Message.Parts = append(r.Message.Parts, a2a.TextPart(strings.Repeat("x", size)))
			b.send(r)
		}
		for _, owner := range []a2a.Owner{"a", "b"} {
			for i := range 4 {
				send(owner, string(owner)+strconv.Itoa(i), 1<<20)
				b.nextCall()
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		r := requestOf("a", "too large")
		r.Message.Parts = append(r.Message.Parts, a2a.TextPart(strings.Repeat("x", 1<<20)))
		gone := make(chan error)
		go func() {
			_, err := b.Send(ctx, r)
			gone <- err
		}()
		b.wantNoCall()
		send("a", "small behind a large one", 1)
		b.nextCall()
		send("c", "small of another principal", 60<<10)
		b.nextCall()
		send("a", "large with room", 128<<10)
		b.nextCall()
		leave()
		if err := <-gone; err == nil || b.Queued() != 0 {
			t.Errorf("the large message: error %v, and %d messages wait", err, b.Queued())
		}
	})
}

// The largest message of one caller leaves room for larger messages of others than small ones.
func TestLargestMessageLeavesRoomForOthers(t *testing.T) {
	options := withTurnLimits(engine.TurnLimits{Max: 100, MaxPerCaller: 100})
	options.TurnBytes = 24 << 20
	withEngine(t, options, func(t *testing.T, b *fixture) {
		for _, step := range []struct {
			owner a2a.Owner
			size  int
			want  string
		}{
			{"a", 9<<20 - 1024, "pending"},
			{"b", 512 << 10, "pending"},
			{"b", 513 << 10, string(a2a.ReasonResourceExhausted)},
			{"a", 512 << 10, string(a2a.ReasonResourceExhausted)},
			{"c", 512 << 10, "pending"},
		} {
			r := requestOf(step.owner, strconv.Itoa(step.size))
			r.Message.Parts = append(r.Message.Parts, a2a.TextPart(strings.Repeat("x", step.size)))
			b.send(r).want(t, step.want)
		}
	})
}

// TestMetadataOfWaitingMessagesIsBounded checks that the metadata of a request counts as a
// part of its waiting message.
func TestMetadataOfWaitingMessagesIsBounded(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a0"))
		b.nextCall()
		large := a2a.Object(`{"a":"` + strings.Repeat("x", 20<<20) + `"}`)
		for i, want := range []string{"pending", string(a2a.ReasonResourceExhausted)} {
			r := requestOf("a", "w"+strconv.Itoa(i))
			r.Metadata = large
			if got := b.send(r).result(); got != want {
				t.Errorf("message %d with 20 MiB of metadata: %s, want %s", i, got, want)
			}
		}
		r := requestOf("a", "w2")
		r.Metadata = a2a.Object(`{"a":"` + strings.Repeat("x", 6<<20) + `"}`)
		if got := b.send(r).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("one caller uses more than three quarters of the bytes: %s", got)
		}
		r = requestOf("b", "w3")
		r.Metadata = a2a.Object(`{"a":"` + strings.Repeat("x", 6<<20) + `"}`)
		if got := b.send(r).result(); got != "pending" {
			t.Errorf("another caller may not wait: %s", got)
		}
	})
}

// TestSingleMessageMayWaitWithAllBytes has a message of more than the bytes that several messages of its caller may have together.
func TestSingleMessageMayWaitWithAllBytes(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a0"))
		b.nextCall()
		for i, want := range []string{"pending", string(a2a.ReasonResourceExhausted)} {
			r := requestOf("a", "w"+strconv.Itoa(i))
			r.Metadata = a2a.Object(`{"a":"` + strings.Repeat("x", (28-27*i)<<20) + `"}`)
			if got := b.send(r).result(); got != want {
				t.Errorf("message %d: %s, want %s", i, got, want)
			}
		}
	})
}

func TestHigherLimitsStartWaitingTurns(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	o := engine.Options{Turns: func() engine.TurnLimits { return limits }}
	withEngine(t, o, func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		b.nextCall()
		for _, id := range []string{"b1", "c1", "d1"} {
			b.send(requestOf(a2a.Owner(id[:1]), id))
		}
		b.wantNoCall()
		limits.Max = 3
		b.LimitsChanged()
		b.nextCall()
		b.nextCall()
		b.wantNoCall()
		if got := b.Queued(); got != 1 {
			t.Errorf("Queued() = %d, want 1", got)
		}
	})
}

func TestOnePrincipalCannotUseAllTurns(t *testing.T) {
	limits := engine.TurnLimits{Max: 3, MaxPerCaller: 2, MaxQueued: 10, QueueTimeout: time.Second}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		b.nextCall()
		b.send(requestOf("a", "a2"))
		second := b.nextCall()
		third := b.send(requestOf("a", "a3"))
		b.wantNoCall()
		b.send(requestOf("b", "b1"))
		b.nextCall()
		second.endRun(nil)
		b.nextCall()
		if !third.pending() {
			t.Errorf("Send() of a3 = %s", third.result())
		}
	})
}

func TestQueueHasADeadline(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: 5 * time.Second}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		c := b.nextCall()
		waits := b.send(requestOf("b", "b1"))
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
		// The client may send the same message again.
		again := b.send(requestOf("b", "b1"))
		c.endRun(nil)
		b.nextCall()
		if !again.pending() {
			t.Errorf("Send() = %s", again.result())
		}
	})
}

func TestClientDisconnectInTheQueueStartsNoTurn(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 10, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		c := b.nextCall()
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := b.Send(ctx, requestOf("b", "b1"))
			gone <- err
		}()
		synctest.Wait()
		leave()
		if err := <-gone; err == nil {
			t.Error("Send() of a client that left: no error")
		}
		c.endRun(nil)
		b.wantNoCall()
		if b.Running() != 0 || b.Queued() != 0 {
			t.Errorf("%d turns run and %d wait", b.Running(), b.Queued())
		}
	})
}

// If the queue is full, a message of a principal with a shorter queue evicts the last
// message of the principal with the longest queue.
func TestFullQueue(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a0"))
		b.nextCall()
		var waiting []*pendingSend
		for i := range 4 {
			waiting = append(waiting, b.send(requestOf("a", "a"+strconv.Itoa(i+1))))
		}
		if got := waiting[3].result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() to a full queue = %s", got)
		}
		other := b.send(requestOf("b", "b1"))
		if !other.pending() || waiting[2].pending() || !waiting[1].pending() {
			t.Errorf("of another's: %s, %s, %s", other.result(), waiting[2].result(), waiting[1].result())
		}
	})
}

func TestDrainEmptiesTheQueue(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		c := b.nextCall()
		waits := b.send(requestOf("a", "a2"))
		drained := make(chan error)
		go func() { drained <- b.Drain(t.Context()) }()
		if got := waits.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() that waits = %s", got)
		}
		c.endRun(nil)
		if err := <-drained; err != nil {
			t.Errorf("Drain() error = %v", err)
		}
	})
}

// TestMessageForAnEndedTaskReleasesItsTurn checks a message that waits for a turn while
// its task ends: the turn is released.
func TestMessageForAnEndedTaskReleasesItsTurn(t *testing.T) {
	limits := engine.TurnLimits{Max: 1, MaxPerCaller: 1, MaxQueued: 3, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		b.send(requestOf("a", "a1"))
		asks := b.nextCall()
		asks.mustEmit(status(a2a.StateInputRequired))
		asks.endRun(nil)
		b.send(requestOf("b", "b1"))
		c := b.nextCall()
		late := b.send(withTask(requestOf("a", "a2"), asks.TaskID))
		if _, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: "a", TaskID: asks.TaskID}); err != nil {
			t.Fatal(err)
		}
		c.endRun(nil)
		late.want(t, string(a2a.ReasonUnsupportedOperation))
		if b.Running() != 0 {
			t.Errorf("%d turns run", b.Running())
		}
	})
}

// TestAnonymousCallersAreAccountedByAddress checks the limits of anonymous callers, who all have one owner.
func TestAnonymousCallersAreAccountedByAddress(t *testing.T) {
	limits := engine.TurnLimits{Max: 2, MaxPerCaller: 1}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		from := func(id, address string) *a2a.SendRequest {
			r := requestOf("anonymous", id)
			r.AccountingPrincipal = a2a.AccountingPrincipalAt(address)
			return r
		}
		b.send(from("1", "192.0.2.1:1"))
		b.nextCall()
		if got := b.send(from("2", "192.0.2.1:2")).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("second Send() from an address = %s", got)
		}
		b.send(from("3", "192.0.2.2:1"))
		b.nextCall()
	})
}

// TestQueueUnderConcurrentUse checks that concurrent calls neither lose nor duplicate a place in the queue.
func TestQueueUnderConcurrentUse(t *testing.T) {
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
			return engine.TurnLimits{Max: most, MaxPerCaller: 2, MaxQueued: 1000, QueueTimeout: time.Minute}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 32 {
		all.Go(func() {
			for i := range 50 {
				r := requestOf(a2a.Owner("owner"+strconv.Itoa(g%8)), "")
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

// The ServiceAccounts of one namespace leave a quarter of the turns, and places in the queue, to others, and their messages delay
// those of others by one turn, however many accounts they are.
func TestServiceAccountsOfANamespaceShareTurns(t *testing.T) {
	limits := engine.TurnLimits{Max: 4, MaxPerCaller: 2, MaxQueued: 8, QueueTimeout: time.Minute}
	withEngine(t, withTurnLimits(limits), func(t *testing.T, b *fixture) {
		account := func(i int) a2a.Owner { return a2a.Owner("system:serviceaccount:team:a" + strconv.Itoa(i)) }
		var calls []*call
		for i := range 3 {
			b.send(requestOf(account(i), "a"+strconv.Itoa(i)))
			calls = append(calls, b.nextCall())
		}
		for i := range 8 {
			b.send(requestOf(account(i+3), "a"+strconv.Itoa(i+3)))
		}
		b.wantNoCall()
		b.send(requestOf("b", "b0"))
		calls = append(calls, b.nextCall())
		last := []*pendingSend{b.send(requestOf("b", "b1")), b.send(requestOf("b", "b2"))}
		full := b.send(requestOf(account(11), "a11"))
		if got := full.result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() of a further account to a full queue = %s", got)
		}
		var order []string
		for range 4 {
			calls[0].endRun(nil)
			calls = append(calls[1:], b.nextCall())
			order = append(order, text(calls[len(calls)-1].Message.Parts))
		}
		if got := strings.Join(order, " "); got != "a3 b1 a4 b2" || !last[0].pending() || !last[1].pending() {
			t.Errorf("order = %s, %s, %s", got, last[0].result(), last[1].result())
		}
	})
}

// A turn keeps the task that it continues in memory. With a store in another process, which does not count this memory, the turns of
// one principal with large tasks are bounded by it, and delay no turns with small ones.
func TestTasksOfRunningTurnsAreBounded(t *testing.T) {
	limits := engine.TurnLimits{Max: 100, MaxPerCaller: 100, MaxQueued: 10, QueueTimeout: time.Minute}
	options := withTurnLimits(limits)
	options.TurnBytes = 8 << 20
	withTwoReplicas(t, options, func(t *testing.T, a, _ *replica) {
		send := func(owner a2a.Owner, id, task string, size int) *call {
			r := requestOf(owner, id)
			r.Message.TaskID = task
			r.Message.Parts = append(r.Message.Parts, a2a.TextPart(strings.Repeat("x", size)))
			a.send(r)
			return a.nextCall()
		}
		pause := func(owner a2a.Owner, id string, size int) string {
			c := send(owner, id, "", size)
			c.mustEmit(paused(a2a.StateInputRequired, "what?"))
			c.endRun(nil)
			return c.TaskID
		}
		var tasks []string
		for i := range 4 {
			tasks = append(tasks, pause("a", "a"+strconv.Itoa(i), 1500<<10))
		}
		small := pause("a", "small", 1)
		calls := []*call{send("a", "b0", tasks[0], 1), send("a", "b1", tasks[1], 1)} // 2 of 4 MiB
		r := requestOf("a", "b2")
		r.Message.TaskID = tasks[2]
		waits := a.send(r)
		a.wantNoCall()
		calls = append(calls, send("a", "b3", small, 1))
		if !waits.pending() || a.Queued() != 1 {
			t.Errorf("the third turn with a large task: %s, and %d messages wait", waits.result(), a.Queued())
		}
		calls[0].endRun(nil)
		calls = append(calls[1:], a.nextCall())
		for _, c := range calls {
			c.endRun(nil)
		}
		synctest.Wait()
		if a.Running() != 0 || a.Queued() != 0 {
			t.Errorf("%d turns run and %d wait in the end", a.Running(), a.Queued())
		}
		for i := range 2 { // all bytes are released
			pause("a", "again"+strconv.Itoa(i), 1500<<10)
		}
	})
}
