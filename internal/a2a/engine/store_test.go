// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
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
	play(t, options, func(t *testing.T, b *bench) {
		s := b.send(say("m1", "hi"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		immediate := say("m2", "hi")
		immediate.ReturnImmediately = true
		if got := b.send(immediate).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("immediate Send() = %s", got)
		}
		if got := b.Running(); got != 1 {
			t.Errorf("Running() = %d after a refusal, want 1", got)
		}
		silent := b.send(say("m3", "hi"))
		second := b.call()
		time.Sleep(time.Second)
		if got := silent.result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("silent Send() = %s", got)
		}
		<-second.ctx.Done()
		speaks := b.send(say("m4", "hi"))
		third := b.call()
		third.ends(third.says(chunk("x")))
		if got := speaks.result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() = %s", got)
		}
		c.finishes(status(a2a.StateCompleted))
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestTaskThatOutgrowsTheStoreFails(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	play(t, options, func(t *testing.T, b *bench) {
		s := b.send(say("m1", "hi"))
		c := b.call()
		var err error
		for range 100 {
			if err = c.says(chunk(strings.Repeat("x", 4<<10))); err != nil {
				break
			}
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("emit() error = %v, want ErrFull", err)
		}
		c.ends(err)
		if got := s.result(); got != "task:failed" || text(s.event.Task.Status.Message.Parts) != "The task holds more than can be kept" {
			t.Errorf("Send() = %s, %v", got, s.event.Task.Status.Message)
		}
	})
}

// A task also fails if its first event is too large, although the store has memory for the
// task itself.
func TestTaskThatBeginsTooLargeFails(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	play(t, options, func(t *testing.T, b *bench) {
		s := b.send(say("m1", "hi"))
		c := b.call()
		err := c.says(chunk(strings.Repeat("x", 128<<10)))
		if !errors.Is(err, store.ErrFull) {
			t.Errorf("emit() error = %v, want ErrFull", err)
		}
		c.ends(err)
		if got := s.result(); got != "task:failed" || text(s.event.Task.Status.Message.Parts) != "The task holds more than can be kept" {
			t.Errorf("Send() = %s, %v", got, s.event.Task.Status.Message)
		}
	})
}

// A task may end in a store that is full, by its first words, too.
func TestTaskEndsInAFullStore(t *testing.T) {
	options := engine.Options{Store: memory.New(memory.Options{MaxBytes: 64 << 10})}
	play(t, options, func(t *testing.T, b *bench) {
		s := b.send(say("m1", "hi"))
		b.call().finishes(status(a2a.StateCompleted, strings.Repeat("x", 128<<10)))
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

// Another replica may append too.
func TestLogOfAnotherReplicaIsReadAgain(t *testing.T) {
	s := memory.New(memory.Options{})
	play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
		r := b.stream(say("m1", "hi"))
		c := b.call()
		c.must(status(a2a.StateWorking))
		log, err := s.Open(t.Context(), store.Key{Owner: "owner", TaskID: c.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{chunk("theirs")}}); err != nil {
			t.Fatal(err)
		}
		c.must(chunk("ours"))
		if _, err := log.Append(t.Context(), store.Append{After: 5, Events: []a2a.Event{status(a2a.StateCanceled)}}); err != nil {
			t.Fatal(err)
		}
		if err := c.says(chunk("too late")); err == nil {
			t.Error("the agent may speak after the end")
		}
		r.want(t, "task:submitted status:working artifact:+theirs artifact:turn-1+ours status:canceled EOF")
	})
}

type counter struct {
	mu     sync.Mutex
	starts int
	ends   []string
	events int
	drops  int
}

func (c *counter) TurnStarted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
}

func (c *counter) TurnEnded(state a2a.State, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, state.String()+" "+took.String())
}

func (c *counter) Refused() {}

func (c *counter) Appended(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events += n
}

func (c *counter) Dropped(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops += n
}

func TestObserver(t *testing.T) {
	observer := &counter{}
	play(t, engine.Options{Observer: observer}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		time.Sleep(500 * time.Millisecond)
		c.must(chunk("x"))
		c.ends(nil)
		b.send(say("m2", "hi"))
		c = b.call()
		_ = c.says(message("hello"))
		c.ends(nil)
		if diff := cmp.Diff([]string{"completed 500ms", "completed 0s"}, observer.ends); diff != "" {
			t.Errorf("turns (-want +got):\n%s", diff)
		}
		// Message, submitted, working, x, completed.
		if observer.starts != 2 || observer.events != 5 {
			t.Errorf("%d turns and %d events, want 2 and 5", observer.starts, observer.events)
		}
	})
}
