// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// withChosenID returns a message of 0.1, whose client chooses the id of the task.
func withChosenID(task, words string) *a2a.SendRequest {
	r := withTask(newRequest("", words), task)
	r.ClientTaskID, r.Dialect = true, a2a.DialectV01
	return r
}

func withRestart(r *a2a.SendRequest) *a2a.SendRequest {
	r.Restart = true
	return r
}

func TestClientChoosesTheTaskID(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		s := b.send(withChosenID("mine", "hi"))
		c := b.nextCall()
		if c.TaskID != "mine" || c.Message.TaskID != "mine" || c.ContextID == "" || c.Task != nil {
			t.Errorf("the agent received of %+v", c.Turn)
		}
		b.wantState("mine", a2a.StateSubmitted)
		c.mustEmit(message("answer"))
		c.endRun(nil)
		if got := s.result(); got != "task:completed" {
			t.Fatalf("Send() = %s", got)
		}
		task := b.task("mine")
		if text(task.Status.Message.Parts) != "answer" || len(task.History) != 1 || task.Dialect != a2a.DialectV01 {
			t.Errorf("task = %+v, want one whose last word is the answer", task)
		}
		other := withChosenID("mine", "hi")
		other.Owner = "somebody else"
		b.send(other)
		if c := b.nextCall(); c.Task != nil || c.ContextID == task.ContextID {
			t.Error("the name of somebody else's task is taken")
		}
	})
}

func TestClientChoosesAnExistingTaskID(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := withChosenID("mine", "one")
		first.Message.ContextID = "c"
		b.send(first)
		c := b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired, "which?"))
		c.endRun(nil)
		wrong := withChosenID("mine", "x")
		wrong.Message.ContextID = "other"
		s := b.send(wrong)
		if problem, ok := errors.AsType[*a2a.Error](s.err); !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Field != "message.contextId" {
			t.Errorf("Send() in another context: %s", s.result())
		}
		s = b.send(withChosenID("mine", "that"))
		c = b.nextCall()
		if c.Number != 2 || len(c.Task.History) != 1 {
			t.Errorf("turn %d of a task with %d messages", c.Number, len(c.Task.History))
		}
		c.finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
	})
}

// The first message creates the task, and the others continue it.
func TestSameTaskIDConcurrently(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		const clients = 8
		var wg sync.WaitGroup
		got := make([]string, clients)
		for i := range clients {
			wg.Go(func() {
				e, err := b.Send(t.Context(), withChosenID("mine", fmt.Sprint(i)))
				if err != nil {
					got[i] = reasonOf(err)
					return
				}
				got[i] = summary(&e)
			})
		}
		for range clients - 1 {
			c := b.nextCall()
			b.wantNoCall()
			c.mustEmit(status(a2a.StateInputRequired))
			c.endRun(nil)
		}
		b.nextCall().finishTask(status(a2a.StateCompleted))
		wg.Wait()
		for i, s := range got {
			if s != "task:input-required" && s != "task:completed" {
				t.Errorf("client %d: %s", i, s)
			}
		}
		if n := len(b.task("mine").History); n != clients {
			t.Errorf("history has %d messages, want %d", n, clients)
		}
	})
}

// Another replica creates the task after this engine has looked for it. The creation fails,
// and the engine finds the task of the other replica.
func TestSameTaskIDConcurrentlyAtTwoEngines(t *testing.T) {
	tasks := &delayedStore{Store: memory.New(memory.Options{})}
	withEngine(t, engine.Options{Store: tasks}, func(t *testing.T, b *fixture) {
		_, err := tasks.Create(t.Context(), store.NewTask{
			Key: store.Key{Owner: "owner", TaskID: "mine"}, Origin: store.Origin{ContextID: "theirs"},
			Events: []a2a.Event{{Message: newRequest("m", "x").Message}, status(a2a.StateInputRequired)},
		})
		if err != nil {
			t.Fatal(err)
		}
		tasks.hidden = 1
		b.send(withChosenID("mine", "more"))
		c := b.nextCall()
		if c.ContextID != "theirs" || c.Number != 2 {
			t.Errorf("turn %d in context %s, want the second one of their task", c.Number, c.ContextID)
		}
		c.finishTask(status(a2a.StateCompleted))
	})
}

// delayedStore finds no task in Open while hidden is above 0. Each such call lowers hidden
// by 1.
type delayedStore struct {
	store.Store
	hidden int
}

func (l *delayedStore) Open(ctx context.Context, k store.Key) (store.Log, error) {
	if l.hidden > 0 {
		l.hidden--
		return nil, store.ErrNotFound
	}
	return l.Store.Open(ctx, k)
}

func TestTaskIDIsFreeAfterTheStoreWasFull(t *testing.T) {
	withEngine(t, engine.Options{Store: memory.New(memory.Options{MaxTasks: 1})}, func(t *testing.T, b *fixture) {
		b.send(withChosenID("one", "hi"))
		c := b.nextCall()
		b.send(withChosenID("two", "hi")).want(t, string(a2a.ReasonResourceExhausted))
		c.finishTask(status(a2a.StateCompleted))
		s := b.send(withChosenID("two", "hi"))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
	})
}

func TestTaskIDOfAnUndecidedTurnIsRejected(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		s := b.send(withChosenID(c.TaskID, "hi"))
		if problem, ok := errors.AsType[*a2a.Error](s.err); !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Field != "message.taskId" {
			t.Errorf("Send() = %s", s.result())
		}
		b.send(withTask(newRequest("m2", "hi"), c.TaskID)).want(t, string(a2a.ReasonTaskNotFound))
	})
}

func TestWire11_MessageToATerminalTask(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(withChosenID("mine", "hi"))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		s := b.send(withChosenID("mine", "more"))
		if problem, ok := errors.AsType[*a2a.Error](s.err); !ok || problem.Reason != a2a.ReasonInvalidParams || problem.Message != "Task is in a terminal state; send the message with another task id" {
			t.Errorf("Send() with a name of its own: %v", s.err)
		}
		b.send(withTask(newRequest("m", "more"), "mine")).want(t, string(a2a.ReasonUnsupportedOperation))
		b.wantNoCall()
	})
}

func TestRestart(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.stream(withChosenID("mine", "one"))
		c := b.nextCall()
		done := status(a2a.StateCompleted, "done")
		done.Status.Note = "note"
		c.finishTask(chunk("x"), done)
		first.want(t, "task:submitted status:working artifact:turn-1=x status:completed(done) EOF")
		second := b.stream(withRestart(withChosenID("mine", "two")))
		c = b.nextCall()
		if c.Number != 2 || c.Task.Status.State != a2a.StateCompleted || len(c.Task.Artifacts) != 1 || c.Task.Note != "" {
			t.Errorf("the agent received of turn %d on %+v", c.Number, c.Task)
		}
		follower := b.subscribe("mine", nil)
		c.finishTask(chunk("y"), status(a2a.StateFailed))
		second.want(t, "task:working artifact:turn-2=y status:failed EOF")
		follower.want(t, "task:working artifact:turn-2=y status:failed EOF")
		task := b.task("mine")
		var history []string
		for _, m := range task.History {
			history = append(history, text(m.Parts))
		}
		if got := strings.Join(history, " "); got != "one done two" || len(task.Artifacts) != 2 {
			t.Errorf("history = %s, %d artifacts; want those of both runs", got, len(task.Artifacts))
		}
		if _, err := b.cancel("mine"); reasonOf(err) != string(a2a.ReasonTaskNotCancelable) {
			t.Errorf("Cancel() error = %v", err)
		}
	})
}

// A message that arrives during a run restarts the task if the run has ended the
// task.
func TestRestartWaitsForTheEndingRun(t *testing.T) {
	ends := map[string]func(*fixture, *call){
		"completed": func(_ *fixture, c *call) { c.finishTask(status(a2a.StateCompleted)) },
		"failed":    func(_ *fixture, c *call) { c.endRun(backend.Failed("x", nil)) },
		"canceled":  func(b *fixture, _ *call) { _, _ = b.cancel("mine") },
	}
	for want, end := range ends {
		t.Run(want, func(t *testing.T) {
			withEngine(t, engine.Options{Turns: limitTurns(1)}, func(t *testing.T, b *fixture) {
				first := b.send(withChosenID("mine", "one"))
				c := b.nextCall()
				c.mustEmit(status(a2a.StateWorking))
				second := b.send(withRestart(withChosenID("mine", "two")))
				refused := b.send(withChosenID("mine", "three"))
				b.wantNoCall()
				end(b, c)
				if got := first.result(); got != "task:"+want {
					t.Errorf("first Send() = %s", got)
				}
				if got := refused.result(); got != string(a2a.ReasonInvalidParams) {
					t.Errorf("Send() without a restart = %s", got)
				}
				again := b.nextCall()
				if text(again.Message.Parts) != "two" || b.Running() != 1 {
					t.Errorf("the agent is asked %q, %d turns run", text(again.Message.Parts), b.Running())
				}
				if task, err := b.cancel("mine"); err != nil || task.Status.State != a2a.StateCanceled {
					t.Errorf("Cancel() of the new run = %v, %v", task, err)
				}
				if got := second.result(); got != "task:canceled" {
					t.Errorf("second Send() = %s", got)
				}
				if got := b.Running(); got != 0 {
					t.Errorf("Running() = %d", got)
				}
			})
		})
	}
}

func TestDrainRefusesAWaitingRestart(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(withChosenID("mine", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waits := b.send(withRestart(withChosenID("mine", "two")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = b.Drain(ctx)
		synctest.Wait()
		waits.want(t, string(a2a.ReasonUnavailable))
		b.wantState("mine", a2a.StateFailed)
	})
}
