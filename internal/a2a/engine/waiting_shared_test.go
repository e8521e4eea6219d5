// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// A run pauses the task during a drain, and returns only after the time limit of the drain.
// The other replica begins the turn of the accepted message.
func TestAcceptedMessageOutlivesADrainWithASlowRun(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.accept("m2", c.TaskID)
		a.drain(time.Second)
		_ = c.emitEvents(status(a2a.StateInputRequired))
		time.Sleep(2 * time.Second)
		c.endRun(nil)
		time.Sleep(time.Minute)
		next := b.nextCall()
		if next.Message.ID != "m2" {
			t.Errorf("the agent received %s", next.Message.ID)
		}
		next.finishTask(status(a2a.StateCompleted))
	})
}

// The drain cancels the run that waits for its client, and the run that delivers a message
// to it. The other replica begins the turn of the accepted message.
func TestAcceptedMessageOutlivesADrainOfAPausedRun(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(paused(a2a.StateInputRequired, "which?"))
		a.send(withTask(newRequest("m2", "two"), c.TaskID))
		input := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "and?"))
		a.send(returnImmediately(withTask(newRequest("m3", "three"), c.TaskID))).want(t, "task:input-required")
		a.drain(time.Second)
		time.Sleep(2 * time.Second)
		input.endRun(backend.ErrInputAccepted)
		c.endRun(nil)
		time.Sleep(time.Minute)
		next := b.nextCall()
		if next.Message.ID != "m3" {
			t.Errorf("the agent received %s", next.Message.ID)
		}
		next.finishTask(status(a2a.StateCompleted))
	})
}

// The lost writes may include the beginning of the turn of the message.
func TestRolledBackStoreBeginsNoAcceptedMessageAgain(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.accept("m2", c.TaskID)
		a.pauseWhileDraining(c)
		a.crash()
		b.member.rollBack()
		c.endRun(nil)
		time.Sleep(2 * time.Minute)
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateFailed)
		wantUnprocessed(t, b.task(c.TaskID), `["m2"]`)
	})
}

func TestSensitiveAnswerThatWaitsIsNotStored(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(paused(a2a.StateInputRequired, "which?"))
		a.send(withTask(newRequest("m2", "two"), c.TaskID))
		input := a.nextCall()
		ask := inputRequest(`{"requestId":"r1","sensitive":true}`)
		ask.Status.Paused = true
		c.mustEmit(ask)
		a.send(returnImmediately(withTask(newRequest("m3", "hunter2"), c.TaskID)))
		stored, err := b.member.Member.Waiting(t.Context(), store.Key{Owner: "owner", TaskID: c.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range stored {
			if s := fmt.Sprint(text(w.Request.Message.Parts)); strings.Contains(s, "hunter2") {
				t.Errorf("the store has %q", s)
			}
		}
		input.endRun(backend.ErrInputAccepted)
		answer := a.nextCall()
		if text(answer.Message.Parts) != "hunter2" {
			t.Errorf("the agent received %q", text(answer.Message.Parts))
		}
		answer.endRun(backend.ErrInputAccepted)
		c.finishTask(status(a2a.StateCompleted))
	})
}

// A client whose answer was lost sends the message again, through any replica.
func TestRepeatedMessageIsAcceptedOnce(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		m := func() *a2a.SendRequest { return returnImmediately(withTask(newRequest("m2", "two"), c.TaskID)) }
		b.member.set(claimResponseLost)
		b.send(m())
		b.member.clear(claimResponseLost)
		b.member.set(inboxLost)
		for range 2 {
			a.send(m())
			b.send(m())
			time.Sleep(50 * time.Second)
		}
		b.member.clear(inboxLost)
		wantUnprocessed(t, a.task(c.TaskID), `["m2"]`)
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		next := a.nextCall()
		next.mustEmit(status(a2a.StateInputRequired))
		next.endRun(nil)
		a.wantNoCall()
	})
}

// An outage while a message is accepted does not end the turn that runs.
func TestOutageWhileAMessageIsAccepted(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		c := a.startRun(status(a2a.StateWorking))
		a.crash()
		b.crash()
		a.send(returnImmediately(withTask(newRequest("m2", "two"), c.TaskID)))
		time.Sleep(40 * time.Second)
		a.member.clear(storeDown)
		b.member.clear(storeDown)
		time.Sleep(time.Minute)
		b.wantState(c.TaskID, a2a.StateWorking)
	})
}
