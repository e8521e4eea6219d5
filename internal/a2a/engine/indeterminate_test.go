// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
)

// The return of a run completes the task only if the run has received all messages of the
// task. A run that asked for input has not received a message that came after its question.
func TestRunDoesNotCompleteATaskWithAnUnreadMessage(t *testing.T) {
	tests := map[string]func(a, b *replica, c *call){
		"a message that was stored and refused, and another that was not": func(a, _ *replica, c *call) {
			a.sendIndeterminate(withTask(newRequest("m2", "that"), c.TaskID))
			a.member.set(appendsFail)
			a.send(withTask(newRequest("m3", "or that"), c.TaskID))
			time.Sleep(6 * time.Second)
		},
		"a message that was stored and refused, and renewals of the lease": func(a, _ *replica, c *call) {
			a.sendIndeterminate(withTask(newRequest("m2", "that"), c.TaskID))
			a.member.set(appendsFail)
			time.Sleep(time.Minute)
		},
		"a message that was stored and refused, while the run continues": func(a, _ *replica, c *call) {
			a.sendIndeterminate(withTask(newRequest("m2", "that"), c.TaskID))
			_ = c.emitEvents(status(a2a.StateWorking), chunk("well"))
		},
		"a message at another replica, while the lease had lapsed": func(a, b *replica, c *call) {
			a.member.set(storeDown)
			time.Sleep(3 * time.Minute)
			b.send(returnImmediately(withTask(newRequest("m2", "that"), c.TaskID)))
			b.nextCall().mustEmit(chunk("x"))
			a.member.set(appendsFail)
			a.member.clear(storeDown)
			a.send(withTask(newRequest("m3", "or that"), c.TaskID))
		},
	}
	for name, happens := range tests {
		for _, holds := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", holds ", holds), func(t *testing.T) {
				// Everything happens between two lease renewals.
				withTwoReplicas(t, engine.Options{Lease: time.Minute}, func(t *testing.T, a, b *replica) {
					time.Sleep(61 * time.Second)
					a.send(returnImmediately(newRequest("m1", "hi")))
					c := a.nextCall()
					question := status(a2a.StateInputRequired, "what?")
					question.Status.Paused = holds
					c.mustEmit(question)
					happens(a, b, c)
					c.endRun(nil)
					a.member.clear(responseLost)
					a.member.clear(appendsFail)
					time.Sleep(2 * time.Minute)
					if got := b.task(c.TaskID).Status.State; got == a2a.StateCompleted {
						t.Error("the task completed, though nobody worked on the second message")
					}
				})
			})
		}
	}
}

// Messages that wait while the run asks keep their order.
func TestWaitingMessagesKeepTheirOrder(t *testing.T) {
	withTwoReplicas(t, engine.Options{Lease: time.Minute}, func(t *testing.T, a, b *replica) {
		time.Sleep(61 * time.Second)
		a.send(returnImmediately(newRequest("m1", "hi")))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		second, third := a.send(withTask(newRequest("m2", "that"), c.TaskID)), a.send(withTask(newRequest("m3", "or that"), c.TaskID))
		a.member.set(responseLost)
		asked := c.emitAsync(status(a2a.StateInputRequired, "what?"))
		time.Sleep(time.Second)
		a.member.clear(responseLost)
		if err := <-asked; err != nil {
			t.Fatalf("emit() error = %v", err)
		}
		c.endRun(nil)
		next := a.nextCall()
		if got := text(next.Message.Parts); got != "that" {
			t.Errorf("the agent received %q", got)
		}
		next.mustEmit(status(a2a.StateInputRequired, "and?"))
		next.endRun(nil)
		a.nextCall().endRun(nil)
		if second.result() != "task:input-required" || third.result() != "task:completed" {
			t.Errorf("Send() = %s, then %s", second.result(), third.result())
		}
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

// A client may read a question while the engine still retries the append of the question.
// The client's answer waits for the end of this append, for at most beginRetryFor.
func TestInputWaitsForAnIndeterminateQuestion(t *testing.T) {
	for _, stored := range []bool{true, false} {
		t.Run(fmt.Sprint("stored ", stored), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				c := a.startRun(status(a2a.StateWorking))
				a.member.setEither(stored, responseLost, appendsFail)
				c.emitAsync(paused(a2a.StateInputRequired, "what?"))
				s := a.send(withTask(newRequest("m2", "that"), c.TaskID))
				time.Sleep(time.Second)
				a.member.clear(responseLost)
				time.Sleep(5 * time.Second)
				if !stored {
					s.want(t, string(a2a.ReasonUnavailable))
					return
				}
				b.wantState(c.TaskID, a2a.StateWorking)
				input := a.nextCall()
				if !input.Input {
					t.Error("the message is not for the run that waits")
				}
				input.endRun(backend.ErrInputAccepted)
				c.finishTask(status(a2a.StateCompleted))
				s.want(t, "task:completed")
			})
		})
	}
}

// A run that has returned receives no input. The message begins a turn of its own.
func TestInputForAnEndedRunBecomesATurn(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, _ *replica) {
		c := a.startRun(paused(a2a.StateInputRequired, "what?"))
		a.member.set(appendsFail)
		s := a.send(withTask(newRequest("m2", "that"), c.TaskID))
		go c.endRun(nil)
		time.Sleep(time.Second)
		a.member.clear(appendsFail)
		time.Sleep(2 * time.Second)
		next := a.nextCall()
		if next.Input {
			t.Error("the agent is asked to go on with a run that is over")
		}
		next.mustEmit(chunk("x"))
		next.endRun(nil)
		s.want(t, "task:completed")
	})
}

// An outage that is shorter than the retries of an append loses neither the message nor
// the paused run.
func TestShortOutageKeepsThePausedRun(t *testing.T) {
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprint("stored ", stored), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				c := a.startRun(paused(a2a.StateInputRequired, "what?"))
				a.member.setEither(stored, responseLost, appendsFail)
				s := a.send(withTask(newRequest("m2", "that"), c.TaskID))
				time.Sleep(3 * time.Second)
				if !stored {
					a.wantNoCall()
				}
				a.member.clear(responseLost)
				a.member.clear(appendsFail)
				time.Sleep(time.Second)
				input := a.nextCall()
				if !input.Input {
					t.Error("the message is not for the run that waits")
				}
				input.endRun(backend.ErrInputAccepted)
				c.finishTask(status(a2a.StateCompleted))
				s.want(t, "task:completed")
				if n := len(b.task(c.TaskID).History); n != 3 {
					t.Errorf("history has %d messages, want 3", n)
				}
			})
		})
	}
}

// An event of another replica at the expected number does not confirm the append of this
// replica.
func TestEventOfAnotherReplicaDoesNotConfirmAnAppend(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(paused(a2a.StateInputRequired, "what?"))
		// The lease expires, and the other replica takes the task over. Its event in the
		// log has the number that the run expects for its own event.
		a.member.set(storeDown)
		said := c.emitAsync(chunk("lost?"))
		time.Sleep(25 * time.Second)
		a.member.clear(storeDown)
		if err := <-said; err == nil {
			t.Error("emit() took what is not in the log")
		}
		synctest.Wait()
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

// A read of the store may return an older state of the log than the last append.
func TestStaleReadDoesNotRejectAnAppend(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(chunk("one"))
		r := b.subscribe(c.TaskID, nil)
		a.member.set(readsLag)
		a.member.set(responseLost)
		two := c.emitAsync(chunk("two"), chunk("three"))
		time.Sleep(time.Second)
		a.member.clear(responseLost)
		if err := <-two; err != nil {
			t.Fatalf("emit() error = %v", err)
		}
		c.finishTask(status(a2a.StateCompleted))
		r.want(t, "task:working artifact:turn-1+two artifact:turn-1+three status:completed EOF")
	})
}

// If the store answers the creation of a task late, the message keeps this task and creates
// no second one.
func TestShortOutageRefusesNoTask(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprint("at once ", atOnce), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				time.Sleep(time.Minute)
				a.member.set(responseLost)
				request := newRequest("m1", "hi")
				request.ReturnImmediately = atOnce
				s := a.send(request)
				var said chan error
				if !atOnce {
					said = a.nextCall().emitAsync(chunk("x"))
				}
				time.Sleep(3 * time.Second)
				a.member.clear(responseLost)
				time.Sleep(time.Second)
				if atOnce {
					if got := s.result(); got != "task:submitted" {
						t.Fatalf("Send() = %s, want one task", got)
					}
					said = a.nextCall().emitAsync(chunk("x"))
				}
				if err := <-said; err != nil {
					t.Errorf("emit() error = %v", err)
				}
				page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
				if err != nil || len(page.Tasks) != 1 || page.Tasks[0].Status.State != a2a.StateWorking {
					t.Errorf("List() = %+v, %v", page, err)
				}
			})
		})
	}
}

// A message that was refused may be sent again, and the copy begins a turn of its own.
func TestMessageWithoutAStoredTaskMayBeRepeated(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, _ *replica) {
		time.Sleep(time.Minute)
		s := a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		a.member.set(appendsFail)
		said := c.emitAsync(chunk("x"))
		time.Sleep(10 * time.Second)
		c.endRun(<-said)
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		a.member.clear(appendsFail)
		again := a.send(newRequest("m1", "hi"))
		next := a.nextCall()
		next.finishTask(status(a2a.StateCompleted))
		again.want(t, "task:completed")
	})
}

// The first events of an agent are stored together with its task, even if the answer of
// the store is lost or late.
func TestTaskIsCreatedWithItsFirstEvents(t *testing.T) {
	for name, failing := range map[string]fault{
		"no fault": 0, "stored, response lost": responseLost, "not stored at once": appendsFail,
	} {
		t.Run(name, func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				time.Sleep(time.Minute)
				s := a.send(newRequest("m1", "hi"))
				c := a.nextCall()
				a.member.set(failing)
				time.AfterFunc(time.Second, func() { a.member.clear(failing) })
				before := a.member.appends.Load()
				if err := c.emitEvents(chunk("x"), status(a2a.StateCompleted)); !errors.Is(err, backend.ErrTurnEnded) {
					t.Errorf("emit() error = %v, want ErrTurnEnded", err)
				}
				c.endRun(nil)
				s.want(t, "task:completed")
				if got := b.task(c.TaskID); got.Status.State != a2a.StateCompleted || len(got.Artifacts) != 1 || text(got.Artifacts[0].Parts) != "x" {
					t.Errorf("the task is %+v", got)
				}
				if n := a.member.appends.Load() - before; n != 0 {
					t.Errorf("%d appends behind the beginning, want none", n)
				}
			})
		})
	}
}
