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

// askingAgent asks its client for input in the first turn of a task, and completes every
// other turn. The seed determines whether the run stays connected while the task is paused.
type askingAgent struct{ seed uint64 }

func (a askingAgent) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	time.Sleep(time.Duration(1+(a.seed+uint64(turn.Number))%4) * time.Millisecond)
	if turn.Number > 1 {
		return emit([]a2a.Event{status(a2a.StateCompleted)})
	}
	if a.seed%2 == 0 {
		return emit([]a2a.Event{status(a2a.StateInputRequired, "what?")})
	}
	if err := emit([]a2a.Event{paused(a2a.StateInputRequired, "what?")}); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// Two replicas receive replies that name a context and no task, some of them twice.
// Meanwhile a replica may crash or lose the store for a while, and the task may be canceled.
// No message is in two tasks, unless deduplication forgot the message because its first task
// was continued or canceled. The agent asks once in each task, so at most one reply
// continues a task.
func TestRandomSchedulesOfReplies(t *testing.T) {
	forEachSeed(t, 4000, runScheduleOfReplies)
}

func runScheduleOfReplies(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 12))
	s := storetest.NewMemory(memory.Options{})
	retried := seed%3 == 0
	open := func(name string) (*engine.Engine, *faultyMember) {
		l := &faultyMember{Member: s.Join(name)}
		e, err := engine.New(engine.Options{
			Member: l, Backend: askingAgent{seed}, DecideAfter: 2 * time.Millisecond, Lease: 9 * time.Millisecond,
			OutageRetryFor: 20 * time.Millisecond, Retry: func() bool { return retried },
			ContinuePaused: func() bool { return true }, Moved: checkMove(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		e.Start()
		return e, l
	}
	a, memberA := open("a")
	b, _ := open("b")
	both := []*engine.Engine{a, b}
	synctest.Wait()
	event, err := a.Send(t.Context(), withContext(newRequest("m", "hi"), "c"))
	if err != nil || event.Task.Status.State != a2a.StateInputRequired {
		t.Fatalf("seed %d: Send() = %+v, %v", seed, event.Task, err)
	}
	id := event.Task.ID
	var wg sync.WaitGroup
	limit, cancel := context.WithTimeout(t.Context(), time.Second)
	later := func(do func(e *engine.Engine)) {
		at, e := time.Duration(r.IntN(14))*time.Millisecond, both[r.IntN(2)]
		wg.Go(func() {
			time.Sleep(at)
			do(e)
		})
	}
	for n := range 2 + r.IntN(5) {
		later(func(e *engine.Engine) {
			_, _ = e.Send(limit, returnImmediately(withContext(newRequest(fmt.Sprint("r", n/2), "that"), "c")))
		})
	}
	if r.IntN(3) == 0 {
		later(func(e *engine.Engine) {
			_, _ = e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: id})
		})
	}
	outage := time.Duration(r.IntN(40)) * time.Millisecond
	switch r.IntN(3) {
	case 0:
		later(func(*engine.Engine) { memberA.set(storeDown) })
	case 1:
		later(func(*engine.Engine) {
			memberA.set(storeDown)
			time.Sleep(outage)
			memberA.clear(storeDown)
		})
	}
	time.Sleep(time.Duration(20+r.IntN(60)) * time.Millisecond)
	for _, e := range both {
		ending, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(10))*time.Millisecond)
		_ = e.Drain(ending)
		cancel()
	}
	cancel()
	wg.Wait()
	last, _ := open("c")
	time.Sleep(200 * time.Millisecond)
	page, err := last.List(t.Context(), &a2a.ListRequest{Owner: "owner", ContextID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{}
	for _, task := range page.Tasks {
		full, err := last.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.DeleteFunc(slices.Clone(full.History), func(m *a2a.Message) bool { return m.Role != a2a.RoleUser })
		if len(said) > 2 {
			t.Errorf("seed %d: task %s was continued %d times, and asked once", seed, task.ID, len(said)-1)
		}
		if last := said[len(said)-1].ID; full.Status.State != a2a.StateCanceled {
			if where[last] != "" {
				t.Errorf("seed %d: message %s is in task %s and, again, in %s", seed, last, where[last], task.ID)
			}
			where[last] = task.ID
		}
		if st := full.Status.State; !st.Terminal() && !st.Interrupted() {
			t.Errorf("seed %d: task %s is left %s", seed, task.ID, st)
		}
	}
	_ = last.Drain(t.Context())
}
