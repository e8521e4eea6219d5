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
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/storetest"
)

// peer is one of several engines on one store.
type peer struct {
	*bench
	member *faultyMember
}

// dies is a process that is killed: it never gets through to the store again.
func (p *peer) dies() { p.member.set(storeDown) }

func retry() bool { return true }

// share plays two engines on one store.
func share(t *testing.T, options engine.Options, test func(t *testing.T, a, b *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		a, b := newPeer(t, s, "a", options), newPeer(t, s, "b", options)
		// A test that fails must stop the renewal of the leases.
		defer b.leaves()
		defer a.leaves()
		test(t, a, b)
	})
}

func newPeer(t *testing.T, s *storetest.Memory, name string, options engine.Options) *peer {
	t.Helper()
	p := &peer{bench: &bench{t: t, calls: make(chan *call, 100)}, member: &faultyMember{Member: s.Join(name)}}
	options.Member, options.Backend = p.member, p.bench
	e, err := engine.New(options)
	if err != nil {
		t.Fatal(err)
	}
	p.Engine = e
	synctest.Wait()
	return p
}

func (p *peer) leaves() {
	ended, cancel := context.WithCancelCause(p.t.Context())
	cancel(errEndOfTest)
	_ = p.Drain(ended)
}

// now asks for the answer at once.
func now(r *a2a.SendRequest) *a2a.SendRequest {
	r.ReturnImmediately = true
	return r
}

func TestMessageGoesToTheReplicaThatRunsItsTask(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
		waits := b.stream(to(say("m2", "more"), c.TaskID))
		blocks := b.send(to(say("m3", "still more"), c.TaskID))
		waits.want(t, "")
		c.must(status(a2a.StateInputRequired, "what?"))
		c.ends(nil)
		second := a.call()
		if got := text(second.Message.Parts); got != "more" {
			t.Errorf("the agent is told %q", got)
		}
		second.must(chunk("x"))
		waits.want(t, "task:working artifact:turn-2+x")
		second.must(status(a2a.StateInputRequired, "and?"))
		second.ends(nil)
		waits.want(t, "task:working artifact:turn-2+x status:input-required(and?) EOF")
		third := a.call()
		third.finishes(status(a2a.StateCompleted))
		if got := blocks.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
		if n := len(blocks.event.Task.History); n != 5 {
			t.Errorf("history has %d messages, want 5", n)
		}
		b.noCall()
	})
}

func TestForwardedMessagesAreRefusedLikeLocalOnes(t *testing.T) {
	share(t, engine.Options{MaxWaiting: 1}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
		first := b.send(to(say("m2", "two"), c.TaskID))
		if got := b.send(to(say("m3", "three"), c.TaskID)).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("Send() beyond the bound = %s", got)
		}
		c.finishes(status(a2a.StateCompleted))
		if got := first.result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("Send() to a task that ended = %s", got)
		}
	})
}

// A paused run receives the answer, whichever replica gets it from the client.
func TestForwardedInputReachesTheRunThatWaits(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(paused(a2a.StateInputRequired, "what?"))
		answer := b.send(to(say("m2", "that"), c.TaskID))
		input := a.call()
		if !input.Input || text(input.Message.Parts) != "that" {
			t.Errorf("the agent is asked %+v", input.Turn)
		}
		input.ends(backend.ErrInputAccepted)
		c.finishes(status(a2a.StateCompleted, "thanks"))
		if got := answer.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestAnyReplicaContinuesATaskWithoutARun(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateInputRequired, "what?"))
		c.ends(nil)
		s := b.send(to(say("m2", "that"), c.TaskID))
		next := b.call()
		if next.Task == nil || next.Number != 2 {
			t.Errorf("the agent is shown turn %d of %v", next.Number, next.Task)
		}
		next.must(chunk("x"))
		a.subscribe(c.TaskID, nil).want(t, "task:working")
		next.finishes(status(a2a.StateCompleted))
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
		a.noCall()
		if got := a.send(to(say("m3", "too late"), c.TaskID)).result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestCancelAtAnyReplicaEndsTheRunAtOnce(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		r := a.stream(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
		if task, err := b.cancel(c.TaskID); err != nil || task.Status.State != a2a.StateCanceled {
			t.Fatalf("Cancel() = %v, %v", task, err)
		}
		synctest.Wait()
		if cause := context.Cause(c.ctx); !errors.Is(cause, backend.ErrCanceled) {
			t.Errorf("the run's context ends with %v", cause)
		}
		r.want(t, "task:submitted status:working status:canceled EOF")
		if len(b.canceled) > 0 {
			t.Error("the agent is told twice")
		}
		if _, err := a.cancel(c.TaskID); reason(err) != string(a2a.ReasonTaskNotCancelable) {
			t.Errorf("second Cancel() error = %v", err)
		}
	})
}

// When the note gets lost, the renewal of the lease tells.
func TestLeaseRenewalDetectsTheEndOfATask(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, _ *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
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
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		works := a.call()
		works.must(status(a2a.StateWorking))
		a.send(say("m2", "hi"))
		asks := a.call()
		asks.must(paused(a2a.StateInputRequired, "what?"))
		time.Sleep(time.Minute)
		r := b.subscribe(works.TaskID, nil)
		a.dies()
		b.noCall()
		time.Sleep(20 * time.Second)
		r.want(t, "task:working status:failed(The replica that ran the agent is gone) EOF")
		// A task that waits for its client keeps waiting, and another replica continues it.
		b.subscribe(asks.TaskID, nil).want(t, "task:input-required")
		s := b.send(to(say("m3", "that"), asks.TaskID))
		b.call().finishes(status(a2a.StateCompleted))
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
		// The dead may only think that they are.
		a.member.clear(storeDown)
		if err := works.says(chunk("late")); err == nil {
			t.Error("the run goes on that lost its task")
		}
		time.Sleep(10 * time.Second)
		b.wantState(works.TaskID, a2a.StateFailed)
		b.wantState(asks.TaskID, a2a.StateCompleted)
	})
}

// A store that fails at the first attempt of each renewal, and serves in between, ends no
// lease.
func TestLeaseIsRenewedBetweenTwoOutages(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(now(say("m1", "hi")))
		c := a.call()
		c.must(status(a2a.StateWorking))
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
		c.finishes(status(a2a.StateCompleted))
	})
}

// The replica that receives a message takes the task over at once.
func TestMessageToATaskOfADeadReplica(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateInputRequired, "what?"))
		time.Sleep(time.Minute)
		a.dies()
		time.Sleep(10*time.Second + time.Millisecond)
		s := b.send(to(say("m2", "that"), c.TaskID))
		b.call().finishes(status(a2a.StateCompleted))
		if got := s.result(); got != "task:completed" {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestRestartedReplicaRecoversItsTasksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory(memory.Options{})
		former := newPeer(t, s, "a", engine.Options{})
		former.send(say("m1", "hi"))
		c := former.call()
		c.must(status(a2a.StateWorking))
		former.dies()
		a := newPeer(t, s, "a", engine.Options{})
		a.wantState(c.TaskID, a2a.StateFailed)
		a.leaves()
		former.leaves()
	})
}

func TestTurnOfADeadReplicaIsRerun(t *testing.T) {
	share(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *peer) {
		before := b.stream(&a2a.SendRequest{Owner: "owner", Message: &a2a.Message{ID: "m0", ContextID: "c", Parts: []a2a.Part{a2a.TextPart("first")}}})
		first := b.call()
		first.must(a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("old")}}}})
		first.must(status(a2a.StateInputRequired, "go on?"))
		first.ends(nil)
		before.want(t, "task:submitted status:working artifact:kept=old status:input-required(go on?) EOF")
		time.Sleep(time.Minute)

		request := to(say("m1", "yes"), first.TaskID)
		request.Metadata, request.Extensions, request.AcceptedOutputModes = a2a.Object(`{"k":1}`), []string{"urn:x"}, []string{"text/plain"}
		r := b.subscribe(first.TaskID, nil)
		a.send(request)
		c := a.call()
		c.must(chunk("ha"), a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("+new")}}, Append: true,
		}})
		a.dies()
		time.Sleep(20 * time.Second)
		again := b.call()
		want, got := *c.Turn, *again.Turn
		want.Attempt = 2
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the agent is shown another turn (-want +got):\n%s", diff)
		}
		again.must(chunk("hal"), chunk("lo"), a2a.Event{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "kept", Parts: []a2a.Part{a2a.TextPart("+new")}}, Append: true,
		}})
		again.finishes(status(a2a.StateCompleted))
		r.want(t, "task:input-required status:working artifact:turn-2+ha artifact:kept++new "+
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
		var dead []*peer
		first := newPeer(t, s, "0", options)
		event, err := first.Send(t.Context(), now(say("m1", "poison")))
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"1", "2", "3"} {
			c := first.call()
			if c.Attempt != i+1 {
				t.Errorf("attempt %d is called %d", i+1, c.Attempt)
			}
			first.dies()
			dead = append(dead, first)
			first = newPeer(t, s, name, options)
			time.Sleep(30 * time.Second)
		}
		first.noCall()
		task := first.task(event.Task.ID)
		if got := text(task.Status.Message.Parts); task.Status.State != a2a.StateFailed || got != "The agent was interrupted too often" {
			t.Errorf("task is %s: %s", task.Status.State, got)
		}
		for _, p := range append(dead, first) {
			p.leaves()
		}
	})
}

// While one replica cannot reach the store, its turns are run again by others:
// it stops them before.
func TestTurnNeverRunsOnTwoReplicas(t *testing.T) {
	share(t, engine.Options{Retry: retry}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
		time.Sleep(time.Minute)
		a.dies()
		for range 100 {
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			if len(b.calls) > 0 && c.ctx.Err() == nil {
				t.Fatal("both run it")
			}
		}
		b.call().finishes(status(a2a.StateCompleted))
		a.member.clear(storeDown)
		time.Sleep(time.Minute)
		a.noCall()
		a.wantState(c.TaskID, a2a.StateCompleted)
	})
}

func TestSameMessageAtTwoReplicas(t *testing.T) {
	t.Run("whose task runs", func(t *testing.T) {
		share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
			one := a.stream(say("m1", "hi"))
			c := a.call()
			c.must(chunk("x"))
			two := b.stream(say("m1", "hi"))
			c.finishes(status(a2a.StateCompleted))
			one.want(t, "task:submitted status:working artifact:turn-1+x status:completed EOF")
			two.want(t, "task:submitted status:working artifact:turn-1+x status:completed EOF")
			if got := b.send(say("m1", "hi")).result(); got != "task:completed" {
				t.Errorf("Send() = %s", got)
			}
			b.noCall()
			b.send(say("m1", "something else"))
			b.call()
		})
	})
	t.Run("that is answered without a task", func(t *testing.T) {
		share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
			one, two := a.send(say("m1", "hi")), b.send(say("m1", "hi"))
			c := a.call()
			_ = c.says(message("hello"))
			c.ends(nil)
			for _, s := range []*sent{one, two} {
				if got := s.result(); got != "message:hello" {
					t.Errorf("Send() = %s", got)
				}
			}
			if got := b.send(say("m1", "hi")).result(); got != "message:hello" {
				t.Errorf("later Send() = %s", got)
			}
			b.noCall()
			time.Sleep(time.Minute)
			b.send(say("m1", "hi"))
			b.call()
		})
	})
	t.Run("of which one is dead", func(t *testing.T) {
		share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
			time.Sleep(time.Minute)
			a.send(say("m1", "hi"))
			a.call()
			a.dies()
			lost := b.send(say("m1", "hi"))
			time.Sleep(15 * time.Second)
			if got := lost.result(); got != string(a2a.ReasonUnavailable) {
				t.Errorf("Send() = %s", got)
			}
			b.noCall()
			again := b.send(say("m1", "hi"))
			b.call().finishes(status(a2a.StateCompleted))
			if got := again.result(); got != "task:completed" {
				t.Errorf("Send() = %s", got)
			}
		})
	})
	t.Run("that was refused", func(t *testing.T) {
		share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
			for _, p := range []*peer{a, b, a} {
				if got := p.send(to(say("m1", "hi"), "nothing")).result(); got != string(a2a.ReasonTaskNotFound) {
					t.Errorf("Send() = %s", got)
				}
			}
		})
	})
}

func TestMessageThatWaitsAtADeadReplicaIsRefused(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		a.send(say("m1", "hi"))
		c := a.call()
		c.must(status(a2a.StateWorking))
		waits := b.send(to(say("m2", "more"), c.TaskID))
		time.Sleep(time.Minute)
		a.dies()
		if !waits.pending() {
			t.Fatalf("Send() = %s", waits.result())
		}
		time.Sleep(20 * time.Second)
		if got := waits.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() = %s", got)
		}
	})
}

func TestReplicaThatDoesNotReadItsInbox(t *testing.T) {
	share(t, engine.Options{}, func(t *testing.T, a, b *peer) {
		// A life without an engine reads none.
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
		s := b.send(to(say("m1", "hi"), "t1"))
		if !s.pending() {
			t.Fatalf("Send() = %s", s.result())
		}
		time.Sleep(5 * time.Second)
		if got := s.result(); got != string(a2a.ReasonUnavailable) {
			t.Errorf("Send() = %s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if mail, err := mute.Receive(ctx); err == nil {
			t.Errorf("a message that was refused is still received: %+v", mail[0])
		}
	})
}
