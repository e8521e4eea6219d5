// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// randomAgent behaves at random. Its seed and the number of the turn determine what it does.
type randomAgent struct{ seed uint64 }

func (w randomAgent) Run(ctx context.Context, turn *backend.Turn, emit backend.Emit) error {
	r := rand.New(rand.NewPCG(w.seed, uint64(turn.Number)))
	if turn.Input && r.IntN(2) == 0 {
		return backend.ErrInputAccepted
	}
	for range r.IntN(6) {
		if err := sleepRandomly(ctx, r); err != nil {
			return err
		}
		if err := emit([]a2a.Event{chunk("x"), chunk("y")}); err != nil {
			return err
		}
	}
	if err := sleepRandomly(ctx, r); err != nil {
		return err
	}
	switch r.IntN(6) {
	case 0:
		return backend.Failed("timed out", nil)
	case 1:
		return emit([]a2a.Event{status(a2a.StateCompleted), status(a2a.StateFailed)})
	case 2:
		return emit([]a2a.Event{status(a2a.StateInputRequired)})
	case 3:
		<-ctx.Done()
		return context.Cause(ctx)
	case 4:
		// The agent may wait for longer than the input timeout of 2 ms.
		if err := emit([]a2a.Event{inputRequest(`{"timeoutSeconds":0.002}`)}); err != nil {
			return err
		}
		return sleepRandomly(ctx, r)
	default:
		return nil
	}
}

// sleepRandomly sleeps a whole number of milliseconds, so that many events have the same time.
func sleepRandomly(ctx context.Context, r *rand.Rand) error {
	timer := time.NewTimer(time.Duration(r.IntN(4)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestWire11_RandomSchedules runs cancels, completions, timeouts, disconnects and a shutdown
// concurrently, in random orders. Every subscriber sees the same events in the order of
// their numbers. Each run ends with at most one terminal state, which is its last event.
func TestWire11_RandomSchedules(t *testing.T) {
	forEachSeed(t, 10_000, func(t *testing.T, seed uint64) {
		t.Helper()
		runSchedule(t, seed, seed%2 == 0) // some clients choose the ids of their tasks, and restart them
	})
}

// forEachSeed calls run with a fake clock for each seed from 0 to schedules-1, and in short
// mode only for the first twentieth of them.
func forEachSeed(t *testing.T, schedules int, run func(t *testing.T, seed uint64)) {
	t.Helper()
	if testing.Short() {
		schedules /= 20
	}
	const each = 50 // schedules that share a fake clock
	for seed := 0; seed < schedules; seed += each {
		synctest.Test(t, func(t *testing.T) {
			for i := range each {
				run(t, uint64(seed+i))
			}
		})
	}
}

func runSchedule(t *testing.T, seed uint64, named bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	tasks := memory.New(memory.Options{})
	e, err := engine.New(engine.Options{
		Store: tasks, Backend: randomAgent{seed}, DecideAfter: 2 * time.Millisecond, Moved: checkMove(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	request := newRequest("m", "hi")
	if named {
		request = withRestart(withChosenID("mine", "hi"))
	}
	request.ReturnImmediately = true
	event, err := e.Send(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	id := event.Task.ID
	var wg sync.WaitGroup
	logs := make([][]string, 3)
	for i := range logs {
		leaves := time.Duration(r.IntN(12)) * time.Millisecond * time.Duration(i)
		wg.Go(func() { logs[i] = readStream(t, e, id, leaves) })
	}
	for range 2 {
		at := time.Duration(r.IntN(14)) * time.Millisecond
		wg.Go(func() {
			time.Sleep(at)
			_, _ = e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: id})
		})
	}
	for n := range 1 + r.IntN(3) {
		more := withTask(newRequest(fmt.Sprint("more", n), "more"), id)
		if named {
			more = withRestart(withChosenID(id, "more"))
		}
		at := time.Duration(r.IntN(14)) * time.Millisecond
		wg.Go(func() {
			time.Sleep(at)
			_, _ = e.Send(t.Context(), more)
		})
	}
	time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	limit, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(10))*time.Millisecond)
	_ = e.Drain(limit)
	cancel()
	wg.Wait()
	if e.Running() != 0 {
		t.Errorf("seed %d: %d turns run after the drain", seed, e.Running())
	}
	whole := readLog(t, tasks, id, named)
	for i, log := range logs {
		for n, s := range log {
			if n >= len(whole) || whole[n] != s {
				t.Fatalf("seed %d: subscriber %d saw %q\nof %q", seed, i, log, whole)
			}
		}
	}
	task, err := e.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: id})
	if err != nil {
		t.Fatal(err)
	}
	if state := task.Status.State; !state.Terminal() && !state.Interrupted() {
		t.Errorf("seed %d: task is left %s", seed, state)
	}
}

// readLog returns the events of a log that a subscriber may receive. It checks that only
// a message that restarts the task follows a terminal state.
func readLog(t *testing.T, s store.Store, id string, restarts bool) []string {
	l, err := s.Open(t.Context(), store.Key{Owner: "owner", TaskID: id})
	if err != nil {
		t.Fatal(err)
	}
	records, err := l.Read(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	ended := false
	for _, r := range records {
		if ended && (!restarts || r.Message == nil) {
			t.Errorf("record %d follows a terminal state", r.Seq)
		}
		ended = r.Status != nil && r.Status.Status.State.Terminal()
		if r.Message == nil {
			log = append(log, fmt.Sprint(r.Seq, summary(&r.Event)))
		}
	}
	return log
}

func readStream(t *testing.T, e *engine.Engine, id string, leaves time.Duration) []string {
	first := uint64(0)
	return readStreamFrom(t, e, id, &first, leaves)
}

// readStreamFrom reads the stream of a task and checks that no event follows the end. If
// leaves is not 0, it disconnects after that time and resumes.
func readStreamFrom(t *testing.T, e *engine.Engine, id string, after *uint64, leaves time.Duration) []string {
	var log []string
	ended := false
	read := func(ctx context.Context) error {
		s, err := e.Subscribe(ctx, &a2a.SubscribeRequest{Owner: "owner", TaskID: id, After: after})
		if err != nil {
			return err
		}
		defer s.Close()
		for {
			records, err := s.Next(ctx)
			if err != nil {
				return err
			}
			for _, r := range records {
				if r.Task != nil && ended && r.Seq == *after {
					continue // a reader that resumes at the end receives the task once more
				}
				if r.Seq <= *after || ended {
					t.Errorf("record %d after %d, ended %t", r.Seq, *after, ended)
				}
				*after = r.Seq
				ended = r.Status != nil && r.Status.Status.State.Terminal()
				log = append(log, fmt.Sprint(r.Seq, summary(&r.Event)))
			}
		}
	}
	if leaves > 0 {
		ctx, cancel := context.WithTimeout(t.Context(), leaves)
		err := read(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return log
		}
	}
	if err := read(t.Context()); !errors.Is(err, io.EOF) && !errors.Is(err, a2a.ErrDraining) {
		t.Errorf("Next() error = %v", err)
	}
	return log
}
