// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestFullStoreRefusesNewTasks(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxTasks: 1})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		immediate := newRequest("m2", "hi")
		immediate.ReturnImmediately = true
		if got := b.send(immediate).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("immediate Send() = %s", got)
		}
		if got := b.Running(); got != 1 {
			t.Errorf("Running() = %d after a refusal, want 1", got)
		}
		silent := b.send(newRequest("m3", "hi"))
		second := b.nextCall()
		time.Sleep(time.Second)
		if got := silent.result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("silent Send() = %s", got)
		}
		<-second.ctx.Done()
		speaks := b.send(newRequest("m4", "hi"))
		third := b.nextCall()
		third.endRun(third.emitEvents(chunk("x")))
		speaks.want(t, string(a2a.ReasonResourceExhausted))
		c.finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
	})
}

func TestTaskLargerThanTheStoreFails(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		var err error
		for range 100 {
			if err = c.emitEvents(chunk(strings.Repeat("x", 4<<10))); err != nil {
				break
			}
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("emit() error = %v, want ErrFull", err)
		}
		c.endRun(err)
		if got := s.result(); got != "task:failed" || text(s.event.Task.Status.Message.Parts) != "The task is larger than the task store allows" {
			t.Errorf("Send() = %s, %v", got, s.event.Task.Status.Message)
		}
	})
}

// A task also fails if its first event is too large, although the store has memory for the
// task itself.
func TestTaskWithATooLargeFirstEventFails(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		err := c.emitEvents(chunk(strings.Repeat("x", 128<<10)))
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("emit() error = %v, want ErrFull", err)
		}
		c.endRun(err)
		if got := s.result(); got != "task:failed" || text(s.event.Task.Status.Message.Parts) != "The task is larger than the task store allows" {
			t.Errorf("Send() = %s, %v", got, s.event.Task.Status.Message)
		}
	})
}

// A task may end in a full store, even with its first event.
func TestTaskEndsInAFullStore(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	withEngine(t, options, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m1", "hi"))
		b.nextCall().finishTask(status(a2a.StateCompleted, strings.Repeat("x", 128<<10)))
		s.want(t, "task:completed")
	})
}

// If another replica has appended to the log, the engine reads the log and repeats its own
// append.
func TestAppendAfterAnotherReplicaReadsTheLogAgain(t *testing.T) {
	s := memory.New(memory.Options{})
	withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		log, err := s.Open(t.Context(), store.Key{Owner: "owner", TaskID: c.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{chunk("theirs")}}); err != nil {
			t.Fatal(err)
		}
		c.mustEmit(chunk("ours"))
		if _, err := log.Append(t.Context(), store.Append{After: 5, Events: []a2a.Event{status(a2a.StateCanceled)}}); err != nil {
			t.Fatal(err)
		}
		if err := c.emitEvents(chunk("too late")); err == nil {
			t.Error("the agent may speak after the end")
		}
		r.want(t, "task:submitted status:working artifact:=theirs artifact:turn-1=ours status:canceled EOF")
	})
}

type countingObserver struct {
	mu          sync.Mutex
	starts      int
	firstEvents []string
	ends        []string
	events      int
	drops       int
}

func (c *countingObserver) TurnStarted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
}

func (c *countingObserver) TurnEnded(_ context.Context, state a2a.State, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, state.String()+" "+took.String())
}

func (c *countingObserver) FirstEvent(_ context.Context, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.firstEvents = append(c.firstEvents, took.String())
}

func (c *countingObserver) Refused() {}

func (c *countingObserver) Appended(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events += n
}

func (c *countingObserver) Dropped(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops += n
}

func TestObserver(t *testing.T) {
	observer := &countingObserver{}
	withEngine(t, engine.Options{Observer: observer}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		time.Sleep(500 * time.Millisecond)
		c.mustEmit(chunk("x"))
		time.Sleep(100 * time.Millisecond)
		c.mustEmit(chunk("y"))
		c.endRun(nil)
		b.send(newRequest("m2", "hi"))
		c = b.nextCall()
		_ = c.emitEvents(message("hello"))
		c.endRun(nil)
		if diff := cmp.Diff([]string{"completed 600ms", "completed 0s"}, observer.ends); diff != "" {
			t.Errorf("turns (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"500ms", "0s"}, observer.firstEvents); diff != "" {
			t.Errorf("first events (-want +got):\n%s", diff)
		}
		// Message, submitted, working, x, y, completed.
		if observer.starts != 2 || observer.events != 6 {
			t.Errorf("%d turns and %d events, want 2 and 6", observer.starts, observer.events)
		}
	})
}
