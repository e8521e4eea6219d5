// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// replica is one of several engines that share a store.
type replica struct {
	*fixture
	member *faultyMember
}

// crash cuts the connection to the store permanently, as the end of the process would.
func (p *replica) crash() { p.member.set(storeDown) }

func retry() bool { return true }

// withTwoReplicas runs a test with two engines that share a store.
func withTwoReplicas(t *testing.T, options engine.Options, test func(t *testing.T, a, b *replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		a, b := newReplica(t, s, "a", options), newReplica(t, s, "b", options)
		// A test that fails must stop the renewal of the leases.
		defer b.shutDown()
		defer a.shutDown()
		test(t, a, b)
	})
}

func newReplica(t *testing.T, s *storetest.Memory, name string, options engine.Options) *replica {
	t.Helper()
	p := newIdleReplica(t, s, name, options)
	p.Start()
	synctest.Wait()
	return p
}

// newIdleReplica returns a replica before its start.
func newIdleReplica(t *testing.T, s *storetest.Memory, name string, options engine.Options) *replica {
	t.Helper()
	p := &replica{fixture: &fixture{t: t, calls: make(chan *call, 100)}, member: &faultyMember{Member: s.Join(name)}}
	options.Member, options.Backend = p.member, p.fixture
	options.Moved = checkMove(t)
	e, err := engine.New(options)
	if err != nil {
		t.Fatal(err)
	}
	p.Engine = e
	return p
}

func (p *replica) shutDown() {
	ended, cancel := context.WithCancelCause(p.t.Context())
	cancel(errEndOfTest)
	_ = p.Drain(ended)
}

// startRun waits for a renewal of the leases, and starts a task whose run emits the event
// first.
func (p *replica) startRun(first a2a.Event) *call {
	p.t.Helper()
	time.Sleep(time.Minute)
	p.send(returnImmediately(newRequest("m1", "hi")))
	c := p.nextCall()
	c.mustEmit(first)
	return c
}

// returnImmediately requests a response without waiting for the turn.
func returnImmediately(r *a2a.SendRequest) *a2a.SendRequest {
	r.ReturnImmediately = true
	return r
}

// A sidecar creates its engine before its backend has a configuration. A takeover would
// call the backend, so it must not happen before Start.
func TestReplicaTakesOverAfterItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		a := newReplica(t, s, "a", engine.Options{})
		defer a.shutDown()
		configured := false
		b := newIdleReplica(t, s, "b", engine.Options{Retry: func() bool {
			if !configured {
				t.Error("the engine asked for its options before its start")
			}
			return true
		}})
		defer b.shutDown()
		c := a.startRun(status(a2a.StateWorking))
		a.crash()
		time.Sleep(10 * time.Minute)
		b.wantNoCall()
		configured = true
		b.Start()
		time.Sleep(time.Minute)
		again := b.nextCall()
		if again.TaskID != c.TaskID {
			t.Errorf("the replica runs task %s, want %s", again.TaskID, c.TaskID)
		}
		again.finishTask(status(a2a.StateCompleted))
	})
}

func TestMessageGoesToTheReplicaThatRunsItsTask(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waits := b.stream(withTask(newRequest("m2", "more"), c.TaskID))
		blocks := b.send(withTask(newRequest("m3", "still more"), c.TaskID))
		waits.want(t, "")
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		c.endRun(nil)
		second := a.nextCall()
		if got := text(second.Message.Parts); got != "more" {
			t.Errorf("the agent received %q", got)
		}
		second.mustEmit(chunk("x"))
		waits.want(t, "task:working artifact:turn-2=x")
		second.mustEmit(status(a2a.StateInputRequired, "and?"))
		second.endRun(nil)
		waits.want(t, "task:working artifact:turn-2=x status:input-required(and?) EOF")
		third := a.nextCall()
		third.finishTask(status(a2a.StateCompleted))
		blocks.want(t, "task:completed")
		if n := len(blocks.event.Task.History); n != 5 {
			t.Errorf("history has %d messages, want 5", n)
		}
		b.wantNoCall()
	})
}

func TestForwardedMessagesAreRefusedLikeLocalOnes(t *testing.T) {
	withTwoReplicas(t, engine.Options{MaxWaiting: 1}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		first := b.send(withTask(newRequest("m2", "two"), c.TaskID))
		if got := b.send(withTask(newRequest("m3", "three"), c.TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() beyond the bound = %s", got)
		}
		c.finishTask(status(a2a.StateCompleted))
		if got := first.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("Send() to a task that ended = %s", got)
		}
	})
}

// A paused run receives the answer, whichever replica gets it from the client.
func TestForwardedInputReachesThePausedRun(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		input := a.nextCall()
		if !input.Input || text(input.Message.Parts) != "that" {
			t.Errorf("the agent is asked %+v", input.Turn)
		}
		input.endRun(backend.ErrInputAccepted)
		c.finishTask(status(a2a.StateCompleted, "thanks"))
		answer.want(t, "task:completed")
	})
}

func TestAnyReplicaContinuesATaskWithoutARun(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		c.endRun(nil)
		s := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		next := b.nextCall()
		if next.Task == nil || next.Number != 2 {
			t.Errorf("the agent is shown turn %d of %v", next.Number, next.Task)
		}
		next.mustEmit(chunk("x"))
		a.subscribe(c.TaskID, nil).want(t, "task:working")
		next.finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
		a.wantNoCall()
		a.send(withTask(newRequest("m3", "too late"), c.TaskID)).want(t, string(a2a.ReasonUnsupportedOperation))
	})
}

func TestCancelAtAnyReplicaEndsTheRunAtOnce(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		r := a.stream(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		if task, err := b.cancel(c.TaskID); err != nil || task.Status.State != a2a.StateCanceled {
			t.Fatalf("Cancel() = %v, %v", task, err)
		}
		synctest.Wait()
		if cause := context.Cause(c.ctx); !errors.Is(cause, backend.ErrCanceled) {
			t.Errorf("the run's context ends with %v", cause)
		}
		r.want(t, "task:submitted status:working status:canceled EOF")
		if len(b.canceled) > 0 {
			t.Error("the agent received twice")
		}
		if _, err := a.cancel(c.TaskID); reasonOf(err) != string(a2a.ReasonTaskNotCancelable) {
			t.Errorf("second Cancel() error = %v", err)
		}
	})
}

// If the notification of the owner is lost, the renewal of its lease detects the end of
// the task.
func TestLeaseRenewalDetectsTheEndOfATask(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, _ *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		log, err := a.member.Member.Open(t.Context(), store.Key{Owner: "owner", TaskID: c.TaskID})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{status(a2a.StateCanceled)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		if !errors.Is(context.Cause(c.ctx), backend.ErrCanceled) {
			t.Error("the run goes on")
		}
	})
}

func TestTasksOfADeadReplicaFail(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		works := a.nextCall()
		works.mustEmit(status(a2a.StateWorking))
		a.send(newRequest("m2", "hi"))
		asks := a.nextCall()
		asks.mustEmit(paused(a2a.StateInputRequired, "what?"))
		time.Sleep(time.Minute)
		r := b.subscribe(works.TaskID, nil)
		a.crash()
		b.wantNoCall()
		time.Sleep(20 * time.Second)
		r.want(t, "task:working status:failed(The replica that ran the agent is gone) EOF")
		// A task that waits for its client keeps waiting, and another replica continues it.
		b.subscribe(asks.TaskID, nil).want(t, "task:input-required")
		s := b.send(withTask(newRequest("m3", "that"), asks.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
		// The replica was only disconnected from the store, and returns.
		a.member.clear(storeDown)
		if err := works.emitEvents(chunk("late")); err == nil {
			t.Error("the run goes on that lost its task")
		}
		time.Sleep(10 * time.Second)
		b.wantState(works.TaskID, a2a.StateFailed)
		b.wantState(asks.TaskID, a2a.StateCompleted)
	})
}

// If the first attempt of each renewal fails and a later attempt succeeds, no lease ends.
func TestLeaseIsRenewedBetweenTwoOutages(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(returnImmediately(newRequest("m1", "hi")))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		for range 5 {
			time.Sleep(3 * time.Second)
			a.member.set(storeDown)
			time.Sleep(time.Second)
			a.member.clear(storeDown)
			time.Sleep(2 * time.Second)
			a.member.set(storeDown)
			time.Sleep(6 * time.Second)
			b.wantState(c.TaskID, a2a.StateWorking)
			a.member.clear(storeDown)
			time.Sleep(time.Second)
		}
		c.finishTask(status(a2a.StateCompleted))
	})
}

// The replica that receives a message takes the task over at once.
func TestMessageToATaskOfADeadReplica(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateInputRequired, "what?"))
		time.Sleep(time.Minute)
		a.crash()
		time.Sleep(10*time.Second + time.Millisecond)
		s := b.send(withTask(newRequest("m2", "that"), c.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		s.want(t, "task:completed")
	})
}

func TestRestartedReplicaRecoversItsTasksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		former := newReplica(t, s, "a", engine.Options{})
		former.send(newRequest("m1", "hi"))
		c := former.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		former.crash()
		a := newReplica(t, s, "a", engine.Options{})
		a.wantState(c.TaskID, a2a.StateFailed)
		a.shutDown()
		former.shutDown()
	})
}

func TestTurnOfADeadReplicaIsRerun(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		before := b.stream(&a2a.SendRequest{Owner: "owner", Message: &a2a.Message{ID: "m0", ContextID: "c", Parts: []a2a.Part{a2a.TextPart("first")}}})
		first := b.nextCall()
		first.mustEmit(a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("old")}}}})
		first.mustEmit(status(a2a.StateInputRequired, "go on?"))
		first.endRun(nil)
		before.want(t, "task:submitted status:working artifact:kept=old status:input-required(go on?) EOF")
		time.Sleep(time.Minute)

		request := withTask(newRequest("m1", "yes"), first.TaskID)
		request.Metadata, request.Extensions, request.AcceptedOutputModes = a2a.Object(`{"k":1}`), []string{"urn:x"}, []string{"text/plain"}
		r := b.subscribe(first.TaskID, nil)
		a.send(request)
		c := a.nextCall()
		c.mustEmit(chunk("ha"), a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("+new")}}, Append: true,
		}})
		a.crash()
		time.Sleep(20 * time.Second)
		again := b.nextCall()
		want, got := *c.Turn, *again.Turn
		want.Attempt = 2
		want.Interrupted = got.Interrupted
		if ago := time.Since(got.Interrupted); ago < 10*time.Second || ago > 20*time.Second {
			t.Errorf("the turn was interrupted %v ago, want a time before the crash", ago)
		}
		want.Journal = nil
		want.Counted = nil
		got.Counted = nil
		got.Journal = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the agent is shown another turn (-want +got):\n%s", diff)
		}
		again.mustEmit(chunk("hal"), chunk("lo"), a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("+new")}}, Append: true,
		}})
		again.finishTask(status(a2a.StateCompleted))
		r.want(t, "task:input-required status:working artifact:turn-2=ha artifact:kept++new "+
			"status:working artifact:kept=old/last artifact:turn-2=hal artifact:turn-2+lo artifact:kept++new status:completed EOF")
		task := b.task(first.TaskID)
		var all []string
		for _, a := range task.Artifacts {
			all = append(all, a.ID+"="+text(a.Parts))
		}
		if got := strings.Join(all, " "); got != "kept=old+new turn-2=hallo" {
			t.Errorf("artifacts are %q", got)
		}
		if string(task.Metadata) != `{"a2a.attempt":2}` {
			t.Errorf("metadata is %s", task.Metadata)
		}
	})
}

func TestTurnHasThreeAttemptsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		options := engine.Options{Retry: retry}
		var dead []*replica
		first := newReplica(t, s, "0", options)
		event, err := first.Send(t.Context(), returnImmediately(newRequest("m1", "poison")))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"1", "2", "3"} {
			c := first.nextCall()
			if c.Attempt != i+1 {
				t.Errorf("attempt %d is called %d", i+1, c.Attempt)
			}
			first.crash()
			dead = append(dead, first)
			first = newReplica(t, s, name, options)
			time.Sleep(30 * time.Second)
		}
		first.wantNoCall()
		task := first.task(event.Task.ID)
		if got := text(task.Status.Message.Parts); task.Status.State != a2a.StateFailed || got != "The agent was interrupted too often" {
			t.Errorf("task is %s: %s", task.Status.State, got)
		}
		for _, p := range append(dead, first) {
			p.shutDown()
		}
	})
}

// While one replica cannot reach the store, other replicas re-run its turns. The
// disconnected replica stops the turns before they are re-run.
func TestTurnNeverRunsOnTwoReplicas(t *testing.T) {
	withTwoReplicas(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		time.Sleep(time.Minute)
		a.crash()
		for range 100 {
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if len(b.calls) > 0 && c.ctx.Err() == nil {
				t.Fatal("both run it")
			}
		}
		b.nextCall().finishTask(status(a2a.StateCompleted))
		a.member.clear(storeDown)
		time.Sleep(time.Minute)
		a.wantNoCall()
		a.wantState(c.TaskID, a2a.StateCompleted)
	})
}

func TestRepeatedMessageAtTwoReplicas(t *testing.T) {
	t.Run("whose task runs", func(t *testing.T) {
		withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
			one := a.stream(newRequest("m1", "hi"))
			c := a.nextCall()
			c.mustEmit(chunk("x"))
			two := b.stream(newRequest("m1", "hi"))
			c.finishTask(status(a2a.StateCompleted))
			one.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
			two.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
			b.send(newRequest("m1", "hi")).want(t, "task:completed")
			b.wantNoCall()
			b.send(newRequest("m1", "something else"))
			b.nextCall()
		})
	})
	t.Run("that is answered without a task", func(t *testing.T) {
		withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
			one, two := a.send(newRequest("m1", "hi")), b.send(newRequest("m1", "hi"))
			c := a.nextCall()
			_ = c.emitEvents(message("hello"))
			c.endRun(nil)
			for _, s := range []*pendingSend{one, two} {
				s.want(t, "message:hello")
			}
			if got := b.send(newRequest("m1", "hi")).result(); got != "message:hello" {
				t.Errorf("later Send() = %s", got)
			}
			b.wantNoCall()
			time.Sleep(time.Minute)
			b.send(newRequest("m1", "hi"))
			b.nextCall()
		})
	})
	t.Run("of which one is dead", func(t *testing.T) {
		withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
			time.Sleep(time.Minute)
			a.send(newRequest("m1", "hi"))
			a.nextCall()
			a.crash()
			lost := b.send(newRequest("m1", "hi"))
			time.Sleep(15 * time.Second)
			lost.want(t, string(a2a.ReasonUnavailable))
			b.wantNoCall()
			again := b.send(newRequest("m1", "hi"))
			b.nextCall().finishTask(status(a2a.StateCompleted))
			again.want(t, "task:completed")
		})
	})
	t.Run("that was refused", func(t *testing.T) {
		withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
			for _, p := range []*replica{a, b, a} {
				p.send(withTask(newRequest("m1", "hi"), "nothing")).want(t, string(a2a.ReasonTaskNotFound))
			}
		})
	})
}

func TestMessageWaitingAtADeadReplicaIsRejected(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		a.send(newRequest("m1", "hi"))
		c := a.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		waits := b.send(withTask(newRequest("m2", "more"), c.TaskID))
		time.Sleep(time.Minute)
		a.crash()
		if !waits.pending() {
			t.Fatalf("Send() = %s", waits.result())
		}
		time.Sleep(20 * time.Second)
		waits.want(t, string(a2a.ReasonUnavailable))
	})
}

func TestReplicaThatDoesNotReadItsInbox(t *testing.T) {
	withTwoReplicas(t, engine.Options{}, func(t *testing.T, a, b *replica) {
		// An incarnation without an engine does not read its inbox.
		mute := a.member.Member.(interface{ Join(string) store.Member }).Join("mute")
		if _, err := mute.Renew(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		key := store.Key{Owner: "owner", TaskID: "t1"}
		if _, err := mute.Create(t.Context(), store.NewTask{
			Key: key, Origin: store.Origin{ContextID: "c"},
			Events: []a2a.Event{{Message: &a2a.Message{ID: "m0", Role: a2a.RoleUser}}, status(a2a.StateWorking)},
			Write:  store.Write{Replica: mute.Self(), Turn: &store.TurnDescriptor{Begin: 1, Attempt: 1}},
		}); err != nil {
			t.Fatal(err)
		}
		s := b.send(withTask(newRequest("m1", "hi"), "t1"))
		if !s.pending() {
			t.Fatalf("Send() = %s", s.result())
		}
		time.Sleep(5 * time.Second)
		s.want(t, string(a2a.ReasonUnavailable))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if mail, err := mute.Receive(ctx); err == nil {
			t.Errorf("a message that was refused is still received: %+v", mail[0])
		}
	})
}
