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

// emitAsync emits in the background.
func (c *call) emitAsync(events ...a2a.Event) chan error {
	done := make(chan error, 1)
	go func() { done <- c.emitEvents(events...) }()
	synctest.Wait()
	return done
}

func TestShortOutageLosesNothing(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		r := a.stream(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(chunk("one"))
		a.member.set(storeDown)
		two := c.emitAsync(chunk("two"))
		if got := a.send(newRequest("m2", "hi")); got.result() != string(a2a.ReasonUnavailable) || !errors.Is(got.err, errOutage) {
			t.Errorf("Send() = %s, %v", got.result(), got.err)
		}
		if _, err := a.cancel(c.TaskID); reasonOf(err) != string(a2a.ReasonUnavailable) {
			t.Errorf("Cancel() error = %v", err)
		}
		time.Sleep(8 * time.Second)
		select {
		case err := <-two:
			t.Fatalf("emit() = %v before the store is back", err)
		default:
		}
		a.member.clear(storeDown)
		if err := <-two; err != nil {
			t.Fatalf("emit() error = %v", err)
		}
		c.mustEmit(chunk("three"))
		c.finishTask(status(a2a.StateCompleted))
		time.Sleep(time.Second)
		r.want(t, "task:submitted status:working artifact:turn-1=one artifact:turn-1+two artifact:turn-1+three status:completed EOF")
	})
}

// If the response to an append is lost, the events are still appended only once.
func TestAppendWithALostResponseHappensOnce(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		r := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		b.member.set(responseLost)
		one := c.emitAsync(chunk("one"))
		time.Sleep(time.Second)
		b.member.clear(responseLost)
		if err := <-one; err != nil {
			t.Fatalf("emit() error = %v", err)
		}
		c.mustEmit(chunk("two"))
		// The cancel of another replica is not mistaken for the append.
		b.member.set(storeDown)
		last := c.emitAsync(chunk("late"))
		if _, err := a.cancel(c.TaskID); err != nil {
			t.Fatal(err)
		}
		b.member.clear(storeDown)
		if err := <-last; !errors.Is(err, backend.ErrTurnEnded) && !errors.Is(err, backend.ErrCanceled) {
			t.Errorf("emit() error = %v", err)
		}
		time.Sleep(time.Second)
		r.want(t, "task:submitted status:working artifact:turn-1=one artifact:turn-1+two status:canceled EOF")
	})
}

func TestLongOutageFailsTheTurn(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprint("retry ", again), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: func() bool { return again }}, func(t *testing.T, a, b *replica) {
				time.Sleep(time.Minute)
				blocks := a.send(newRequest("m1", "hi"))
				c := a.nextCall()
				c.mustEmit(chunk("one"))
				waits := a.send(withTask(newRequest("m2", "more"), c.TaskID))
				a.member.set(storeDown)
				b.member.set(storeDown)
				two := c.emitAsync(chunk("two"))
				time.Sleep(time.Minute)
				if err := <-two; err == nil {
					t.Error("emit() took what was not stored")
				}
				if got := waits.result(); got != string(a2a.ReasonUnavailable) {
					t.Errorf("waiting Send() = %s", got)
				}
				if a.Running() > 0 {
					t.Errorf("%d turns run", a.Running())
				}
				a.member.clear(storeDown)
				b.member.clear(storeDown)
				time.Sleep(5 * time.Second)
				b.wantNoCall()
				if !again {
					a.wantNoCall()
					a.wantState(c.TaskID, a2a.StateFailed)
					task := b.task(c.TaskID)
					if got := text(task.Status.Message.Parts); got != "The task could not be stored" {
						t.Errorf("reason is %q", got)
					}
					return
				}
				next := a.nextCall()
				if next.Attempt != 2 {
					t.Errorf("attempt is %d", next.Attempt)
				}
				next.finishTask(status(a2a.StateCompleted))
				_ = blocks
				b.wantState(c.TaskID, a2a.StateCompleted)
			})
		})
	}
}

// No replica can renew its lease during an outage. The replica that reaches the store first
// must not treat the others as dead.
func TestOutageExpiresNoLease(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		a.member.set(storeDown)
		b.member.set(storeDown)
		time.Sleep(20 * time.Second)
		// The other replica reaches the store first.
		b.member.clear(storeDown)
		time.Sleep(9 * time.Second)
		a.member.clear(storeDown)
		time.Sleep(time.Minute)
		c.mustEmit(chunk("x"))
		c.finishTask(status(a2a.StateCompleted))
		b.wantState(c.TaskID, a2a.StateCompleted)
	})
}

// sendIndeterminate sends a message that the store stores. The response is lost, and the
// store is then down for longer than a client waits.
func (p *replica) sendIndeterminate(r *a2a.SendRequest) *pendingSend {
	p.member.set(responseLost)
	s := p.send(r)
	p.member.set(storeDown)
	p.member.clear(responseLost)
	time.Sleep(beginRetryFor + time.Second)
	p.member.clear(storeDown)
	return s
}

// beginRetryFor is how long the beginning of a turn waits for the store.
const beginRetryFor = 5 * time.Second

// A replica that finds the task of a refused message does not run the message.
func TestRefusedMessageIsNotRun(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		s := a.sendIndeterminate(returnImmediately(newRequest("m1", "hi")))
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		time.Sleep(10 * time.Second)
		a.wantNoCall()
		b.wantNoCall()
		page, err := b.List(t.Context(), &a2a.ListRequest{Owner: "owner"})
		if err != nil || len(page.Tasks) != 1 || page.Tasks[0].Status.State != a2a.StateFailed {
			t.Errorf("List() = %+v, %v", page, err)
		}
	})
}

// A full store does not report whether it stored the message before it was full. If the
// store has room again in time, the message is run once; otherwise the message is refused
// and not run.
func TestAppendWithALostResponseInAFullStore(t *testing.T) {
	for _, test := range []struct{ first, full bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		t.Run(fmt.Sprintf("first %t, full for long %t", test.first, test.full), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
				time.Sleep(time.Minute)
				message := returnImmediately(newRequest("m2", "hi"))
				if !test.first {
					a.send(returnImmediately(newRequest("m1", "hi")))
					c := a.nextCall()
					c.mustEmit(status(a2a.StateInputRequired, "what?"))
					c.endRun(nil)
					message = withTask(message, c.TaskID)
				}
				a.member.set(responseLost)
				s := a.send(message)
				a.member.set(storeFull)
				a.member.clear(responseLost)
				if !test.full {
					time.Sleep(time.Second)
					a.member.clear(storeFull)
					time.Sleep(time.Second)
					a.nextCall().finishTask(status(a2a.StateCompleted))
					if got := s.result(); got != "task:submitted" && got != "task:working" {
						t.Errorf("Send() = %s", got)
					}
					a.wantNoCall()
					return
				}
				time.Sleep(beginRetryFor + time.Second)
				s.want(t, string(a2a.ReasonUnavailable))
				a.member.clear(storeFull)
				time.Sleep(10 * time.Second)
				a.wantNoCall()
				b.wantNoCall()
			})
		})
	}
}

// A replica remembers a bounded number of refused messages that the store may have. Refused
// messages that the store does not have must not fill this bound: a later message that was
// stored and refused is still not run.
func TestRefusalsOfUnstoredMessagesAreForgotten(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		for round := range 4 {
			a.member.set(appendsFail)
			for i := range 64 {
				a.send(returnImmediately(newRequest(fmt.Sprint("m", round, "-", i), "hi")))
			}
			time.Sleep(beginRetryFor + time.Second)
			a.member.clear(appendsFail)
			time.Sleep(time.Minute)
		}
		if got := a.sendIndeterminate(returnImmediately(newRequest("m1", "hi"))).result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		time.Sleep(10 * time.Second)
		a.wantNoCall()
		b.wantNoCall()
	})
}

// If a message was refused but is stored, its task ends, and so does the run that waits
// for the message.
func TestStoredInputThatWasRejectedEndsTheTask(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		s := a.sendIndeterminate(withTask(newRequest("m2", "that"), c.TaskID))
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Fatalf("Send() = %s", got)
		}
		r := b.subscribe(c.TaskID, nil)
		time.Sleep(5 * time.Second)
		r.want(t, "task:working status:failed(The message was refused) EOF")
		if c.ctx.Err() == nil {
			t.Error("the run goes on")
		}
	})
}

// If the store answers the append of a message late, or only a repeated append reaches the
// store, the turn of the message runs once.
func TestShortOutageRefusesNoInput(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("stored ", lost), func(t *testing.T) {
			withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
				time.Sleep(time.Minute)
				a.send(newRequest("m1", "hi"))
				c := a.nextCall()
				c.mustEmit(status(a2a.StateInputRequired, "what?"))
				c.endRun(nil)
				a.member.setEither(lost, responseLost, appendsFail)
				s := a.send(withTask(newRequest("m2", "that"), c.TaskID))
				time.Sleep(3 * time.Second)
				if !lost {
					a.wantNoCall()
				}
				a.member.clear(responseLost)
				a.member.clear(appendsFail)
				time.Sleep(time.Second)
				a.nextCall().finishTask(status(a2a.StateCompleted))
				s.want(t, "task:completed")
				if n := len(b.task(c.TaskID).History); n != 3 {
					t.Errorf("history has %d messages, want 3", n)
				}
			})
		})
	}
}

func TestShortOutageDelaysATurn(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, _ *replica) {
		a.member.set(recallFails)
		request := newRequest("m1", "hi")
		request.Message.ContextID = "c"
		s := a.send(request)
		time.Sleep(5 * time.Second)
		a.wantNoCall()
		a.member.clear(recallFails)
		time.Sleep(time.Second)
		a.nextCall().finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
	})
}

func TestDrainEndsDuringAnOutage(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		a.member.set(storeDown)
		c.emitAsync(chunk("x"))
		done := a.drain(5 * time.Second)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		select {
		case err := <-done:
			if err == nil {
				t.Error("Drain() error = nil, though a turn was cut off")
			}
		default:
			t.Fatal("Drain() does not end")
		}
		time.Sleep(20 * time.Second)
		b.wantState(c.TaskID, a2a.StateFailed)
	})
}

func TestDrainHandsTurnsOver(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		time.Sleep(time.Minute)
		r := a.stream(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(chunk("one"))
		blocks := a.send(withTask(newRequest("m2", "more"), c.TaskID))
		waits := b.send(withTask(newRequest("m3", "and more"), c.TaskID))
		done := a.drain(5 * time.Second)
		for _, s := range []*pendingSend{blocks, waits} {
			if got := s.result(); got != string(a2a.ReasonUnavailable) {
				t.Errorf("waiting Send() = %s", got)
			}
		}
		c.mustEmit(chunk("two"))
		time.Sleep(5 * time.Second)
		if err := <-done; err == nil {
			t.Error("Drain() error = nil, though a turn was cut off")
		}
		r.want(t, "task:submitted status:working artifact:turn-1=one artifact:turn-1+two "+a2a.ErrDraining.Error())
		after := r.seq[len(r.seq)-1]
		rest := b.subscribe(c.TaskID, &after)
		time.Sleep(4 * time.Second)
		again := b.nextCall()
		// The attempt did not fail, so it does not count.
		if again.Attempt != 1 {
			t.Errorf("attempt is %d", again.Attempt)
		}
		again.mustEmit(chunk("three"))
		again.finishTask(status(a2a.StateCompleted))
		rest.want(t, "status:working artifact:turn-1=three status:completed EOF")
	})
}

func TestDrainFailsTurnsThatAreNotRerun(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(chunk("one"))
		a.send(newRequest("m2", "hi"))
		waiting := a.nextCall()
		waiting.mustEmit(paused(a2a.StateInputRequired, "what?"))
		done := a.drain(5 * time.Second)
		time.Sleep(5 * time.Second)
		if err := <-done; err == nil {
			t.Error("Drain() error = nil, though a turn was cut off")
		}
		b.wantState(c.TaskID, a2a.StateFailed)
		b.send(withTask(newRequest("m3", "that"), waiting.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
	})
}

// A turn is also re-run after a crash of the agent if there are no other replicas.
func TestTurnIsRerunAfterACrashOfTheAgent(t *testing.T) {
	broke := backend.Interrupted("The agent's answer broke off", nil)
	withEngine(t, engine.Options{Retry: retry}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m1", "hi"))
		s := b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(chunk("ha"))
		c.endRun(broke)
		b.wantNoCall()
		time.Sleep(time.Second)
		c = b.nextCall()
		if c.Attempt != 2 || c.Task != nil || len(c.History) > 0 {
			t.Errorf("the agent is shown %+v", c.Turn)
		}
		c.mustEmit(chunk("hallo"))
		c.finishTask(status(a2a.StateCompleted))
		r.want(t, "task:submitted status:working artifact:turn-1=ha status:working artifact:turn-1=hallo status:completed EOF")
		s.want(t, "task:completed")
		// The number of attempts is bounded.
		r = b.stream(newRequest("m2", "hi"))
		for _, pause := range []time.Duration{0, time.Second, 5 * time.Second} {
			time.Sleep(pause)
			b.nextCall().endRun(broke)
		}
		r.want(t, "task:submitted status:working status:working status:failed(The agent's answer broke off) EOF")
		// A cancel does not wait for the delay before the next attempt.
		b.send(newRequest("m3", "hi"))
		c = b.nextCall()
		c.mustEmit(chunk("x"))
		c.endRun(broke)
		if _, err := b.cancel(c.TaskID); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if b.Running() > 0 {
			t.Errorf("%d turns run", b.Running())
		}
		b.wantNoCall()
		// A failure that the agent reports is not followed by another attempt.
		b.send(newRequest("m4", "hi"))
		c = b.nextCall()
		c.mustEmit(chunk("x"))
		c.endRun(backend.Failed("no", nil))
		b.wantState(c.TaskID, a2a.StateFailed)
		time.Sleep(time.Minute) // longer than all delays
		b.wantNoCall()
	})
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(chunk("ha"))
		c.endRun(broke)
		b.wantState(c.TaskID, a2a.StateFailed)
		time.Sleep(time.Minute)
		b.wantNoCall()
	})
}
