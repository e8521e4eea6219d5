// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

func TestTaskOrMessageIsDecided(t *testing.T) {
	tests := map[string]struct {
		first      a2a.Event
		want, then string
	}{
		"message":  {message("hello"), "", "message:hello EOF"},
		"status":   {status(a2a.StateWorking), "task:submitted status:working", "task:submitted status:working status:completed EOF"},
		"artifact": {chunk("x"), "task:submitted status:working artifact:turn-1=x", "task:submitted status:working artifact:turn-1=x status:completed EOF"},
		"task":     {a2a.Event{Task: &a2a.Task{Status: a2a.Status{State: a2a.StateSubmitted}}}, "task:submitted", "task:submitted status:completed EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m", "hi"))
				c := b.nextCall()
				r.want(t, "")
				c.mustEmit(tt.first)
				r.want(t, tt.want)
				c.endRun(nil)
				r.want(t, tt.then)
			})
		})
	}
}

func TestSilentTurnBecomesATaskAfterASecond(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m", "hi"))
		c := b.nextCall()
		time.Sleep(999 * time.Millisecond)
		r.want(t, "")
		time.Sleep(time.Millisecond)
		r.want(t, "task:submitted status:working")
		c.mustEmit(message("late"))
		r.want(t, "task:submitted status:working status:working(late)")
		c.endRun(nil)
		r.want(t, "task:submitted status:working status:working(late) status:completed(late) EOF")
		task := b.task(c.TaskID)
		if len(task.History) != 1 || text(task.Status.Message.Parts) != "late" {
			t.Errorf("history has %d messages, status message %v; the last word belongs to the status alone", len(task.History), task.Status.Message)
		}
	})
}

func TestReturnImmediatelyCreatesATaskAtOnce(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		request := newRequest("m", "hi")
		request.ReturnImmediately = true
		s := b.send(request)
		if got := s.result(); got != "task:submitted" {
			t.Fatalf("Send() = %s, want task:submitted", got)
		}
		c := b.nextCall()
		c.mustEmit(message("answer"))
		c.endRun(nil)
		b.wantState(s.event.Task.ID, a2a.StateCompleted)
	})
}

func TestSendReturnsOnTerminalOrInterrupted(t *testing.T) {
	for _, state := range []a2a.State{
		a2a.StateCompleted, a2a.StateFailed, a2a.StateRejected, a2a.StateCanceled,
		a2a.StateInputRequired, a2a.StateAuthRequired,
	} {
		t.Run(state.String(), func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				s := b.send(newRequest("m", "hi"))
				c := b.nextCall()
				c.mustEmit(status(a2a.StateWorking), chunk("x"))
				if !s.pending() {
					t.Fatalf("Send() = %s while the task works", s.result())
				}
				_ = c.emitEvents(status(state))
				if got := s.result(); got != "task:"+state.String() {
					t.Errorf("Send() = %s", got)
				}
			})
		})
	}
}

func TestEmptyResponseCompletes(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m", "hi"))
		b.nextCall().endRun(nil)
		r.want(t, "task:submitted status:completed EOF")
	})
}

func TestFailureOfTheAgentIsReported(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"failed":   {backend.Failed("It broke", errors.New("secret")), "task:submitted status:failed(It broke) EOF"},
		"rejected": {backend.Rejected("It would not"), "task:submitted status:rejected(It would not) EOF"},
		"unknown":  {errors.New("secret"), "task:submitted status:failed(The agent could not be run) EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m", "hi"))
				b.nextCall().endRun(tt.err)
				r.want(t, tt.want)
			})
		})
	}
}

func TestSendIsCappedAtFiveMinutes(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		s := b.send(newRequest("m", "hi"))
		b.nextCall()
		time.Sleep(5*time.Minute - time.Second)
		if !s.pending() {
			t.Fatal("Send() returned early")
		}
		time.Sleep(2 * time.Second)
		if got := s.result(); got != "task:working" {
			t.Errorf("Send() = %s, want the task as it is", got)
		}
	})
}

func TestClientDisconnectChangesNothing(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := b.Send(ctx, newRequest("m", "hi"))
			done <- err
		}()
		c := b.nextCall()
		r := b.stream(newRequest("m", "hi"))
		leave()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Send() error = %v, want Canceled", err)
		}
		c.mustEmit(chunk("x"))
		r.want(t, "task:submitted status:working artifact:turn-1=x")
		r.cancel()
		c.mustEmit(chunk("y"))
		c.endRun(nil)
		b.wantState(c.TaskID, a2a.StateCompleted)
		if got := text(b.task(c.TaskID).Artifacts[0].Parts); got != "xy" {
			t.Errorf("artifact = %q, want xy", got)
		}
	})
}

// A later message in another dialect does not change the dialect of a task.
func TestTaskKeepsTheDialectOfItsFirstMessage(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		request := newRequest("m", "hi")
		request.Dialect = a2a.DialectV10GRPC
		first := b.send(request)
		c := b.nextCall()
		c.mustEmit(chunk("x"), status(a2a.StateInputRequired))
		c.endRun(nil)
		if got := first.event.Task.Dialect; got != a2a.DialectV10GRPC {
			t.Errorf("new task has dialect %d", got)
		}
		request = withTask(newRequest("m2", "more"), c.TaskID)
		request.Dialect = a2a.DialectV03
		b.send(request)
		c = b.nextCall()
		c.finishTask(status(a2a.StateCompleted))
		if got := b.task(c.TaskID).Dialect; got != a2a.DialectV10GRPC || c.Task.Dialect != got {
			t.Errorf("continued task has dialect %d", got)
		}
	})
}

// The owner of a task combines the principal and the tenant. The agent receives the two
// separately.
func TestAgentReceivesThePrincipalAndTheTenant(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		request := newRequest("m", "hi")
		request.Owner, request.Tenant = request.Owner.In("north"), "north"
		b.send(request)
		if c := b.nextCall(); c.Owner != "owner" || c.Tenant != "north" {
			t.Errorf("the agent received of %q in tenant %q", c.Owner, c.Tenant)
		}
	})
}

func TestContextIsKeptOrCreated(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		request := newRequest("m", "hi")
		request.Message.ContextID = "mine"
		b.send(request)
		c := b.nextCall()
		if c.ContextID != "mine" || c.Message.ContextID != "mine" {
			t.Errorf("context = %q and %q, want the client's", c.ContextID, c.Message.ContextID)
		}
		if request.Message.TaskID != "" {
			t.Error("the caller's message was changed")
		}
		b.send(newRequest("m2", "hi"))
		if c := b.nextCall(); uuid.MustParse(c.ContextID).Version() != 7 || uuid.MustParse(c.TaskID).Version() != 7 {
			t.Errorf("ids %q and %q are not of version 7", c.ContextID, c.TaskID)
		}
	})
}

func TestWire11_InvalidMessagesToTasksAreRefused(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		wrongContext := withTask(newRequest("m2", "x"), c.TaskID)
		wrongContext.Message.ContextID = "other"
		wrongOwner := withTask(newRequest("m3", "x"), c.TaskID)
		wrongOwner.Owner = "somebody else"
		tests := map[string]struct {
			request *a2a.SendRequest
			want    *a2a.Error
		}{
			"unknown task": {withTask(newRequest("m4", "x"), "none"), a2a.TaskNotFound("none")},
			"other owner":  {wrongOwner, a2a.TaskNotFound(c.TaskID)},
			"other context": {wrongContext, &a2a.Error{
				Reason: a2a.ReasonInvalidParams, Message: "is not the context of the task",
				Field: "message.contextId", TaskID: c.TaskID,
			}},
		}
		for name, tt := range tests {
			s := b.send(tt.request)
			if diff := cmp.Diff(error(tt.want), s.err); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		c.finishTask(status(a2a.StateCompleted))
		if got := b.send(withTask(newRequest("m5", "x"), c.TaskID)).result(); got != string(a2a.ReasonUnsupportedOperation) {
			t.Errorf("message to a terminal task: %s", got)
		}
		b.wantNoCall()
	})
}

func TestWire15_History(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking, "thinking"), status(a2a.StateWorking), status(a2a.StateInputRequired, "which?"))
		c.endRun(nil)
		if first.pending() {
			t.Fatal("Send() is pending")
		}
		b.send(withTask(newRequest("m2", "two"), c.TaskID))
		c = b.nextCall()
		if c.Task.Status.State != a2a.StateInputRequired || len(c.Task.History) != 2 {
			t.Errorf("the agent sees a task that is %s with %d messages, want it without the new message", c.Task.Status.State, len(c.Task.History))
		}
		if c.Number != 2 {
			t.Errorf("turn is number %d, want 2", c.Number)
		}
		c.finishTask(status(a2a.StateCompleted, "done"))
		var got []string
		task := b.task(c.TaskID)
		for _, m := range task.History {
			got = append(got, text(m.Parts))
		}
		if diff := cmp.Diff([]string{"one", "thinking", "which?", "two"}, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if text(task.Status.Message.Parts) != "done" {
			t.Errorf("status message = %v", task.Status.Message)
		}
		for length, want := range map[int]int{0: 0, 1: 1, 3: 3, 4: 4, 100: 4} {
			task, err := b.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: c.TaskID, HistoryLength: &length})
			if err != nil || len(task.History) != want || want > 0 && task.History[want-1].ID != b.task(c.TaskID).History[3].ID {
				t.Errorf("Get() with %d = %d messages, %v, want the newest %d", length, len(task.History), err, want)
			}
		}
	})
}

func TestAgentReceivesTheConversationOfTheContext(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		inContext := func(id, words string) *a2a.SendRequest {
			r := newRequest(id, words)
			r.Message.ContextID = "c"
			return r
		}
		b.send(inContext("m1", "one"))
		c := b.nextCall()
		_ = c.emitEvents(message("direct answer"))
		c.endRun(nil)
		b.send(inContext("m2", "two"))
		c = b.nextCall()
		reference := c.TaskID
		c.mustEmit(chunk("streamed "), chunk("answer"))
		c.endRun(nil)
		other := newRequest("m3", "elsewhere")
		other.Owner, other.Message.ContextID = "somebody else", "c"
		b.send(other)
		if c := b.nextCall(); len(c.History) != 0 {
			t.Errorf("another owner's agent is told %d messages", len(c.History))
		}
		last := inContext("m4", "three")
		last.Message.ReferenceTasks = []string{reference, "none"}
		b.send(last)
		c = b.nextCall()
		var got []string
		for _, m := range c.History {
			got = append(got, text(m.Parts))
		}
		if diff := cmp.Diff([]string{"one", "direct answer", "two", "streamed answer"}, got); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if len(c.References) != 1 || c.References[0].ID != reference {
			t.Errorf("references = %v, want the task that exists", c.References)
		}
	})
}

func TestTaskEventAddsStateArtifactsAndMetadata(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m", "hi"))
		c := b.nextCall()
		_ = c.emitEvents(a2a.Event{Task: &a2a.Task{
			ID: "its own", ContextID: "its own",
			Status:    a2a.Status{State: a2a.StateCompleted},
			Artifacts: []a2a.Artifact{{ID: "a", Parts: []a2a.Part{a2a.TextPart("x")}}},
			History:   []*a2a.Message{{ID: "its own"}},
			Metadata:  a2a.Object(`{"k":1}`),
		}})
		r.want(t, "task:submitted status:working artifact:a=x/last status:completed EOF")
		task := b.task(c.TaskID)
		if task.ContextID != c.ContextID || len(task.History) != 1 || string(task.Metadata) != `{"k":1}` {
			t.Errorf("task = %+v", task)
		}
	})
}

func TestRunningTurnsAreBounded(t *testing.T) {
	withEngine(t, engine.Options{Turns: limitTurns(2)}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "x"))
		b.send(newRequest("m2", "x"))
		if got := b.send(newRequest("m3", "x")).result(); got != string(a2a.ReasonResourceExhausted) {
			t.Errorf("third Send() = %s", got)
		}
		if got := b.Running(); got != 2 {
			t.Errorf("Running() = %d, want 2", got)
		}
		b.nextCall().endRun(nil)
		if s := b.send(newRequest("m3", "x")); !s.pending() {
			t.Errorf("Send() = %s after a turn ended", s.result())
		}
		synctest.Wait()
	})
}

// agents are backends, one for each way to end a turn.
var agents = map[string]backendFunc{
	"message":        func(emit backend.Emit) error { return emit([]a2a.Event{message("x")}) },
	"terminal event": func(emit backend.Emit) error { return emit([]a2a.Event{chunk("x"), status(a2a.StateCompleted)}) },
	"whole answer":   func(emit backend.Emit) error { return emit([]a2a.Event{chunk("x")}) },
	"failure":        func(backend.Emit) error { return backend.Failed("x", nil) },
}

type backendFunc func(emit backend.Emit) error

func (f backendFunc) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error { return f(emit) }

// A client that has its answer may send the next message at once, even at the limit
// of turns.
func TestDecidedTurnReleasesItsSlot(t *testing.T) {
	for name, agent := range agents {
		t.Run(name, func(t *testing.T) {
			e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: agent, Turns: limitTurns(1)})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1_000 {
				if _, err := e.Send(t.Context(), newRequest("", "hi")); err != nil {
					t.Fatalf("Send() number %d: error = %v", i, err)
				}
			}
			if err := e.Drain(t.Context()); err != nil || e.Running() != 0 {
				t.Errorf("Drain() error = %v, %d turns are left", err, e.Running())
			}
		})
	}
}

// The engine counts turns by the messages with the role user, and names artifacts after the
// number of the turn. If a client sends messages with the role agent, its second turn must
// still not overwrite the artifact of the first turn.
func TestMessageWithTheRoleOfAgentIsATurn(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		r := newRequest("m1", "one")
		r.Message.Role = a2a.RoleAgent
		b.send(r)
		c := b.nextCall()
		if c.Message.Role != a2a.RoleUser {
			t.Errorf("the agent is shown a message of role %d", c.Message.Role)
		}
		c.mustEmit(chunk("x"), status(a2a.StateInputRequired))
		c.endRun(nil)
		r = withTask(newRequest("m2", "two"), c.TaskID)
		r.Message.Role = a2a.RoleAgent
		b.send(r)
		c = b.nextCall()
		if c.Number != 2 {
			t.Errorf("turn is number %d, want 2", c.Number)
		}
		c.finishTask(status(a2a.StateCompleted))
	})
}
