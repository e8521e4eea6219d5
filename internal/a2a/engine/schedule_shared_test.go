// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// turnRecord has the running turns, and the messages that the agent received.
type turnRecord struct {
	t     *testing.T
	seed  uint64
	mu    sync.Mutex
	runs  map[string]bool
	shown map[string]bool
}

// exclusiveAgent fails the test if a turn runs twice at the same time.
type exclusiveAgent struct {
	randomAgent
	census *turnRecord
}

func (o exclusiveAgent) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	name := fmt.Sprint(turn.TaskID, "/", turn.Number)
	o.census.mu.Lock()
	if o.census.runs[name] {
		o.census.t.Errorf("seed %d: turn %d is run twice at once", o.census.seed, turn.Number)
	}
	o.census.runs[name], o.census.shown[turn.Message.ID] = true, true
	o.census.mu.Unlock()
	defer func() {
		o.census.mu.Lock()
		defer o.census.mu.Unlock()
		delete(o.census.runs, name)
	}()
	err := o.randomAgent.Run(ctx, turn, emit)
	if err == nil && turn.Attempt == 1 && o.seed%5 == 0 {
		return backend.Interrupted("broke off", nil)
	}
	return err
}

// TestRandomSchedulesOfTwoReplicas checks the claims of TestWire11_RandomSchedules for two engines that
// share a store. One of them may crash, or lose the store for a while.
func TestRandomSchedulesOfTwoReplicas(t *testing.T) {
	forEachSeed(t, 10_000, runScheduleOfTwoReplicas)
}

func runScheduleOfTwoReplicas(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	s := storetest.NewMemory(memory.Options{})
	again := seed%2 == 0
	c := &turnRecord{t: t, seed: seed, runs: map[string]bool{}, shown: map[string]bool{}}
	open := func(name string, agent backend.Backend) (*engine.Engine, *faultyMember) {
		l := &faultyMember{Member: s.Join(name)}
		e, err := engine.New(engine.Options{
			Member: l, Backend: agent, DecideAfter: 2 * time.Millisecond, Lease: 9 * time.Millisecond,
			OutageRetryFor: 20 * time.Millisecond, Retry: func() bool { return again },
			Moved: checkMove(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		e.Start()
		return e, l
	}
	a, memberA := open("a", exclusiveAgent{randomAgent{seed}, c})
	b, _ := open("b", exclusiveAgent{randomAgent{seed + 1}, c})
	both := []*engine.Engine{a, b}
	named := seed%3 == 0
	synctest.Wait()
	request := newRequest("m", "hi")
	if named {
		request = withRestart(withChosenID("mine", "hi"))
	}
	event, err := a.Send(t.Context(), returnImmediately(request))
	if err != nil {
		t.Fatal(err)
	}
	id := event.Task.ID
	var wg sync.WaitGroup
	logs := make([][]string, 2)
	for i := range logs {
		wg.Go(func() { logs[i] = readStream(t, b, id, 0) })
	}
	later := func(do func(e *engine.Engine)) {
		at, e := time.Duration(r.IntN(14))*time.Millisecond, both[r.IntN(2)]
		wg.Go(func() {
			time.Sleep(at)
			do(e)
		})
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Second)
	for range r.IntN(3) {
		later(func(e *engine.Engine) {
			_, _ = e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: id})
		})
	}
	for n := range 1 + r.IntN(4) {
		more := withTask(newRequest(fmt.Sprint("more", n/2), "more"), id)
		if named {
			more = withRestart(withChosenID(id, "more"))
		}
		later(func(e *engine.Engine) { _, _ = e.Send(limit, more) })
	}
	outage := time.Duration(r.IntN(40)) * time.Millisecond
	switch r.IntN(5) {
	case 0:
		later(func(*engine.Engine) { memberA.set(storeDown) })
	case 1:
		later(func(*engine.Engine) {
			memberA.set(storeDown)
			time.Sleep(outage)
			memberA.clear(storeDown)
		})
	case 2:
		later(func(*engine.Engine) {
			memberA.set(responseLost)
			time.Sleep(time.Millisecond)
			memberA.clear(responseLost)
		})
	case 3:
		// The responses of appends are lost. After that, the store accepts no append for
		// longer than appends are retried.
		later(func(*engine.Engine) {
			memberA.set(responseLost)
			time.Sleep(time.Millisecond)
			memberA.set(appendsFail)
			memberA.clear(responseLost)
			time.Sleep(beginRetryFor + outage)
			memberA.clear(appendsFail)
		})
	}
	time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
	for _, e := range both {
		ending, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(10))*time.Millisecond)
		_ = e.Drain(ending)
		cancel()
		if e.Running() != 0 {
			t.Errorf("seed %d: %d turns run after the drain", seed, e.Running())
		}
	}
	cancel()
	wg.Wait()
	// A third replica takes over the task, if the first two left it unfinished.
	last, _ := open("c", completingAgent{c})
	var task *a2a.Task
	for range 100 {
		time.Sleep(30 * time.Millisecond)
		if task, err = last.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: id}); err != nil {
			t.Fatal(err)
		}
		if s := task.Status.State; s.Terminal() || s.Interrupted() {
			break
		}
	}
	whole := readLog(t, s, id, named)
	for i, log := range logs {
		for n, s := range log {
			if n >= len(whole) || whole[n] != s {
				t.Fatalf("seed %d: subscriber %d saw %q\nof %q", seed, i, log, whole)
			}
		}
	}
	if state := task.Status.State; !state.Terminal() && !state.Interrupted() {
		t.Errorf("seed %d: task is left %s", seed, state)
	}
	if m := lastUserMessage(task.History); task.Status.State == a2a.StateCompleted && !c.shown[m.ID] {
		t.Errorf("seed %d: task completed, and the agent was not shown %s\n%q", seed, m.ID, whole)
	}
	_ = last.Drain(t.Context())
}

// lastUserMessage returns the last message of a client.
func lastUserMessage(history []*a2a.Message) *a2a.Message {
	for _, m := range slices.Backward(history) {
		if m.Role == a2a.RoleUser {
			return m
		}
	}
	return &a2a.Message{}
}

// completingAgent completes each turn at once.
type completingAgent struct{ census *turnRecord }

func (o completingAgent) Run(_ context.Context, turn *backend.Turn, _ backend.Emit) error {
	o.census.mu.Lock()
	defer o.census.mu.Unlock()
	o.census.shown[turn.Message.ID] = true
	return nil
}
