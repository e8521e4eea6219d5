// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

var errOutage = fmt.Errorf("%w: connection refused", store.ErrUnavailable)

// failingStore is a store with operations that fail.
type failingStore struct {
	store.Store
	noSnapshot, noAppend bool
	full                 atomic.Bool
}

type failingLog struct {
	store.Log
	store *failingStore
}

func (s *failingStore) Create(ctx context.Context, n store.NewTask) (store.Log, error) {
	if s.full.Load() {
		return nil, store.ErrFull
	}
	log, err := s.Store.Create(ctx, n)
	return failingLog{log, s}, err
}

func (s *failingStore) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := s.Store.Open(ctx, k)
	if err != nil {
		return nil, err
	}
	return failingLog{log, s}, nil
}

func (l failingLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	if l.store.noSnapshot {
		return nil, errOutage
	}
	return l.Log.Snapshot(ctx)
}

func (l failingLog) Append(ctx context.Context, a store.Append) (uint64, error) {
	if l.store.noAppend {
		return 0, errOutage
	}
	return l.Log.Append(ctx, a)
}

// A message is either refused and has no effect, or accepted, and its client learns
// the outcome.
func TestMessageIsAcceptedOrRefused(t *testing.T) {
	now := func(r *a2a.SendRequest) *a2a.SendRequest {
		r.ReturnImmediately = true
		return r
	}
	t.Run("new task that cannot be read", func(t *testing.T) {
		s := &failingStore{Store: memory.New(memory.Options{}), noSnapshot: true}
		withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
			b.send(now(newRequest("m", "hi"))).want(t, "task:submitted")
			b.nextCall()
			r := b.stream(newRequest("m2", "hi"))
			c := b.nextCall()
			c.mustEmit(chunk("x"))
			c.endRun(nil)
			r.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
		})
	})
	t.Run("message that would have to wait", func(t *testing.T) {
		s := &failingStore{Store: memory.New(memory.Options{})}
		withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m", "hi"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			s.noSnapshot = true
			refused := b.send(now(withTask(newRequest("m2", "two"), c.TaskID)))
			if !errors.Is(refused.err, errOutage) {
				t.Errorf("Send() = %s", refused.result())
			}
			taken := b.send(withTask(newRequest("m3", "three"), c.TaskID))
			s.noSnapshot = false
			c.mustEmit(status(a2a.StateInputRequired))
			c.endRun(nil)
			next := b.nextCall()
			if got := text(next.Message.Parts); got != "three" {
				t.Errorf("the agent received %q", got)
			}
			next.finishTask(status(a2a.StateCompleted))
			b.wantNoCall()
			taken.want(t, "task:completed")
			if n := len(b.task(c.TaskID).History); n != 2 {
				t.Errorf("history has %d messages, want 2", n)
			}
		})
	})
	for what, breaks := range map[string]func(*failingStore, bool){
		"read":    func(s *failingStore, broken bool) { s.noSnapshot = broken },
		"written": func(s *failingStore, broken bool) { s.noAppend = broken },
	} {
		t.Run("task that waits and cannot be "+what, func(t *testing.T) {
			s := &failingStore{Store: memory.New(memory.Options{})}
			withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
				b.send(newRequest("m", "hi"))
				c := b.nextCall()
				c.mustEmit(status(a2a.StateInputRequired))
				c.endRun(nil)
				breaks(s, true)
				if refused := b.send(withTask(newRequest("m2", "two"), c.TaskID)); !errors.Is(refused.err, errOutage) {
					t.Errorf("Send() = %s", refused.result())
				}
				breaks(s, false)
				b.wantNoCall()
				b.wantState(c.TaskID, a2a.StateInputRequired)
				if b.Running() != 0 {
					t.Errorf("%d turns run", b.Running())
				}
				// The client may send the refused message again.
				b.send(withTask(newRequest("m2", "two"), c.TaskID))
				b.nextCall().finishTask(status(a2a.StateCompleted))
			})
		})
	}
	t.Run("message that waits for a task that cannot be written", func(t *testing.T) {
		s := &failingStore{Store: memory.New(memory.Options{})}
		withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
			b.send(newRequest("m", "hi"))
			c := b.nextCall()
			c.mustEmit(status(a2a.StateWorking))
			waits := b.send(withTask(newRequest("m2", "two"), c.TaskID))
			s.noAppend = true
			c.endRun(nil)
			if waits.pending() || waits.err == nil {
				t.Errorf("Send() = %s, want a refusal", waits.result())
			}
			b.wantNoCall()
			if b.Running() != 0 {
				t.Errorf("%d turns run", b.Running())
			}
			s.noAppend = false
		})
	})
}

// The input timer of a run ends with the run, even if the append of its end fails.
func TestEndedRunHasNoInputTimeout(t *testing.T) {
	s := &failingStore{Store: memory.New(memory.Options{})}
	withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(inputRequest(`{}`))
		s.noAppend = true
		c.endRun(nil)
		synctest.Wait()
		s.noAppend = false
		b.send(withTask(newRequest("m2", "that"), c.TaskID))
		next := b.nextCall()
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateWorking)
		next.finishTask(status(a2a.StateCompleted))
	})
}

// The store is full when the engine has to create the task of a message, so the engine refuses
// the message. The store has room again before the call of the agent returns. The end of that
// call still creates no task.
func TestRefusedMessageCreatesNoTask(t *testing.T) {
	for name, happens := range map[string]func(b *fixture){
		"when the agent is silent":   func(*fixture) { time.Sleep(2 * time.Second) },
		"when the server shuts down": func(b *fixture) { b.drain(100 * time.Millisecond); time.Sleep(500 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &failingStore{Store: memory.New(memory.Options{})}
			withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
				refused := b.send(newRequest("m1", "hi"))
				c := b.nextCall()
				returns := make(chan struct{})
				c.steps <- func() { <-returns }
				s.full.Store(true)
				happens(b)
				refused.want(t, string(a2a.ReasonResourceExhausted))
				s.full.Store(false)
				close(returns)
				synctest.Wait()
				page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
				if err != nil || len(page.Tasks) != 0 {
					t.Errorf("List() = %d tasks, %v, want none", len(page.Tasks), err)
				}
			})
		})
	}
}
