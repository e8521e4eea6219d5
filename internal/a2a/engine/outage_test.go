// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

var errOutage = fmt.Errorf("%w: connection refused", store.ErrUnavailable)

// shaky is a store of which parts may be out of order.
type shaky struct {
	store.Store
	noSnapshot, noAppend bool
}

type shakyLog struct {
	store.Log
	store *shaky
}

func (s *shaky) Create(ctx context.Context, n store.NewTask) (store.Log, error) {
	log, err := s.Store.Create(ctx, n)
	return shakyLog{log, s}, err
}

func (s *shaky) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := s.Store.Open(ctx, k)
	if err != nil {
		return nil, err
	}
	return shakyLog{log, s}, nil
}

func (l shakyLog) Snapshot(ctx context.Context) (*a2a.Record, error) {
	if l.store.noSnapshot {
		return nil, errOutage
	}
	return l.Log.Snapshot(ctx)
}

func (l shakyLog) Append(ctx context.Context, a store.Append) (uint64, error) {
	if l.store.noAppend {
		return 0, errOutage
	}
	return l.Log.Append(ctx, a)
}

// A message is refused, and nothing comes of it, or it is taken, and its
// sender knows.
func TestMessageIsAcceptedOrRefused(t *testing.T) {
	now := func(r *a2a.SendRequest) *a2a.SendRequest {
		r.ReturnImmediately = true
		return r
	}
	t.Run("new task that cannot be read", func(t *testing.T) {
		s := &shaky{Store: memory.New(memory.Options{}), noSnapshot: true}
		play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
			if got := b.send(now(say("m", "hi"))).result(); got != "task:submitted" {
				t.Errorf("Send() = %s", got)
			}
			b.call()
			r := b.stream(say("m2", "hi"))
			c := b.call()
			c.must(chunk("x"))
			c.ends(nil)
			r.want(t, "task:submitted status:working artifact:turn-1+x status:completed EOF")
		})
	})
	t.Run("message that would have to wait", func(t *testing.T) {
		s := &shaky{Store: memory.New(memory.Options{})}
		play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
			b.send(say("m", "hi"))
			c := b.call()
			c.must(status(a2a.StateWorking))
			s.noSnapshot = true
			refused := b.send(now(to(say("m2", "two"), c.TaskID)))
			if !errors.Is(refused.err, errOutage) {
				t.Errorf("Send() = %s", refused.result())
			}
			taken := b.send(to(say("m3", "three"), c.TaskID))
			s.noSnapshot = false
			c.must(status(a2a.StateInputRequired))
			c.ends(nil)
			next := b.call()
			if got := text(next.Message.Parts); got != "three" {
				t.Errorf("the agent is told %q", got)
			}
			next.finishes(status(a2a.StateCompleted))
			b.noCall()
			if got := taken.result(); got != "task:completed" {
				t.Errorf("Send() = %s", got)
			}
			if n := len(b.task(c.TaskID).History); n != 2 {
				t.Errorf("history has %d messages, want 2", n)
			}
		})
	})
	for what, breaks := range map[string]func(*shaky, bool){
		"read":    func(s *shaky, broken bool) { s.noSnapshot = broken },
		"written": func(s *shaky, broken bool) { s.noAppend = broken },
	} {
		t.Run("task that waits and cannot be "+what, func(t *testing.T) {
			s := &shaky{Store: memory.New(memory.Options{})}
			play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
				b.send(say("m", "hi"))
				c := b.call()
				c.must(status(a2a.StateInputRequired))
				c.ends(nil)
				breaks(s, true)
				if refused := b.send(to(say("m2", "two"), c.TaskID)); !errors.Is(refused.err, errOutage) {
					t.Errorf("Send() = %s", refused.result())
				}
				breaks(s, false)
				b.noCall()
				b.wantState(c.TaskID, a2a.StateInputRequired)
				if b.Running() != 0 {
					t.Errorf("%d turns run", b.Running())
				}
				// It may be sent again.
				b.send(to(say("m2", "two"), c.TaskID))
				b.call().finishes(status(a2a.StateCompleted))
			})
		})
	}
	t.Run("message that waits for a task that cannot be written", func(t *testing.T) {
		s := &shaky{Store: memory.New(memory.Options{})}
		play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
			b.send(say("m", "hi"))
			c := b.call()
			c.must(status(a2a.StateWorking))
			waits := b.send(to(say("m2", "two"), c.TaskID))
			s.noAppend = true
			c.ends(nil)
			if waits.pending() || waits.err == nil {
				t.Errorf("Send() = %s, want a refusal", waits.result())
			}
			b.noCall()
			if b.Running() != 0 {
				t.Errorf("%d turns run", b.Running())
			}
			s.noAppend = false
		})
	})
}

// The input timer of a run ends with the run, even if the append of its end fails.
func TestRunThatEndedHasNoInputTimeout(t *testing.T) {
	s := &shaky{Store: memory.New(memory.Options{})}
	play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		c.must(asks(`{}`))
		s.noAppend = true
		c.ends(nil)
		synctest.Wait()
		s.noAppend = false
		b.send(to(say("m2", "that"), c.TaskID))
		next := b.call()
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateWorking)
		next.finishes(status(a2a.StateCompleted))
	})
}
