// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// The errors for a missing task, the task of another owner and the task of another tenant
// are the same.
func TestWire10_ForeignTasksDoNotExist(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired))
		c.endRun(nil)
		operations := map[string]func(a2a.Owner) error{
			"get": func(o a2a.Owner) error {
				_, err := b.Get(t.Context(), &a2a.GetRequest{Owner: o, TaskID: c.TaskID})
				return err
			},
			"cancel": func(o a2a.Owner) error {
				_, err := b.Cancel(t.Context(), &a2a.CancelRequest{Owner: o, TaskID: c.TaskID})
				return err
			},
			"subscribe": func(o a2a.Owner) error {
				after := uint64(1)
				_, err := b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: o, TaskID: c.TaskID, After: &after})
				return err
			},
			"send": func(o a2a.Owner) error {
				r := withTask(newRequest("m", "x"), c.TaskID)
				r.Owner, r.Message.ContextID = o, "whatever"
				_, err := b.Send(t.Context(), r)
				return err
			},
			"stream": func(o a2a.Owner) error {
				r := withTask(newRequest("m", "x"), c.TaskID)
				r.Owner = o
				_, err := b.Stream(t.Context(), r)
				return err
			},
		}
		for name, operation := range operations {
			for _, owner := range []a2a.Owner{"other", a2a.Owner("owner").In("north"), ""} {
				if diff := cmp.Diff(error(a2a.TaskNotFound(c.TaskID)), operation(owner)); diff != "" {
					t.Errorf("%s by %q (-want +got):\n%s", name, owner, diff)
				}
			}
		}
		b.wantNoCall()
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

// Equal messages are deduplicated only for the same owner in the same tenant.
func TestIdempotencyStaysWithinTheTenant(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m", "hi"))
		first := b.nextCall()
		b.send(newRequest("m", "hi"))
		b.wantNoCall()
		r := newRequest("m", "hi")
		r.Owner = r.Owner.In("north")
		b.send(r)
		if second := b.nextCall(); second.TaskID == first.TaskID {
			t.Error("a message joined the turn of another tenant")
		}
	})
}

// uncancelableAgent ignores the end of its context.
type uncancelableAgent struct{ free chan struct{} }

func (d uncancelableAgent) Run(_ context.Context, _ *backend.Turn, emit backend.Emit) error {
	if err := emit([]a2a.Event{chunk("x")}); err != nil {
		return err
	}
	<-d.free
	return emit([]a2a.Event{status(a2a.StateCompleted)})
}

func TestWire11_CancelWithAnUnresponsiveAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := uncancelableAgent{free: make(chan struct{})}
		e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: agent})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest("m", "hi")
		r.ReturnImmediately = true
		event, err := e.Send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		task, err := e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: event.Task.ID})
		if err != nil || task.Status.State != a2a.StateCanceled || time.Since(start) > 0 {
			t.Errorf("Cancel() = %v, %v after %v", task, err, time.Since(start))
		}
		close(agent.free)
		if err := e.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		task, err = e.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: event.Task.ID})
		if err != nil || task.Status.State != a2a.StateCanceled {
			t.Errorf("Get() = %v, %v: the agent's last word counts", task, err)
		}
	})
}

// Many clients cancel while the agent completes the task. A cancel succeeds only if the
// final state of the task is canceled, and then at least one succeeds.
func TestWire11_CancelRacesCompletion(t *testing.T) {
	for range 200 {
		e, err := engine.New(engine.Options{Store: memory.New(memory.Options{}), Backend: agents["terminal event"]})
		if err != nil {
			t.Fatal(err)
		}
		r := newRequest("m", "hi")
		r.ReturnImmediately = true
		event, err := e.Send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		results := make([]string, 4)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				task, err := e.Cancel(t.Context(), &a2a.CancelRequest{Owner: "owner", TaskID: event.Task.ID})
				if err != nil {
					results[i] = reasonOf(err)
				} else {
					results[i] = task.Status.State.String()
				}
			})
		}
		wg.Wait()
		if err := e.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		task, err := e.Get(t.Context(), &a2a.GetRequest{Owner: "owner", TaskID: event.Task.ID})
		if err != nil {
			t.Fatal(err)
		}
		canceled := 0
		for _, s := range results {
			if s == "canceled" {
				canceled++
			} else if s != string(a2a.ReasonTaskNotCancelable) {
				t.Errorf("Cancel() = %s", s)
			}
		}
		if (canceled > 0) != (task.Status.State == a2a.StateCanceled) {
			t.Errorf("%d cancels succeeded, the task is %s", canceled, task.Status.State)
		}
	}
}

func TestWire14_AuthRequiredKeepsTheStreamAndEndsTheCall(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		call := b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateWorking))
		stream := b.stream(withTask(newRequest("m2", "me too"), c.TaskID))
		c.mustEmit(status(a2a.StateAuthRequired, "log in"))
		call.want(t, "task:auth-required")
		// The message that waited is the next turn.
		c.endRun(nil)
		next := b.nextCall()
		next.mustEmit(status(a2a.StateAuthRequired, "again"))
		next.endRun(nil)
		stream.want(t, "task:working status:auth-required(again)")
		follower := b.subscribe(c.TaskID, nil)
		b.send(withTask(newRequest("m3", "logged in"), c.TaskID))
		b.nextCall().finishTask(status(a2a.StateCompleted))
		stream.want(t, "task:working status:auth-required(again) status:working status:completed EOF")
		follower.want(t, "task:auth-required status:working status:completed EOF")
	})
}

func TestWire15_HistoryLengthOfSnapshots(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "one"))
		c := b.nextCall()
		c.mustEmit(status(a2a.StateInputRequired, "two"))
		c.endRun(nil)
		none, one, many := 0, 1, 100
		opens := func(s a2a.Stream, err error) string {
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			records, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return historyText(records[0].Task.History)
		}
		for _, tt := range []struct {
			length *int
			want   string
		}{{nil, "one"}, {&none, ""}, {&one, "one"}, {&many, "one"}} {
			got := opens(b.Subscribe(t.Context(), &a2a.SubscribeRequest{Owner: "owner", TaskID: c.TaskID, HistoryLength: tt.length}))
			if got != tt.want {
				t.Errorf("subscription opens with %q, want %q", got, tt.want)
			}
		}
		for _, tt := range []struct {
			length *int
			want   string
		}{{nil, "one two three"}, {&none, ""}, {&one, "three"}, {&many, "one two three"}} {
			// Repeated messages join the turn of the first copy.
			r := withTask(newRequest("m3", "three"), c.TaskID)
			r.HistoryLength = tt.length
			if got := opens(b.Stream(t.Context(), r)); got != tt.want {
				t.Errorf("stream opens with %q, want %q", got, tt.want)
			}
			r.ReturnImmediately = true
			event, err := b.Send(t.Context(), r)
			if err != nil || historyText(event.Task.History) != tt.want {
				t.Errorf("Send() = %q, %v, want %q", historyText(event.Task.History), err, tt.want)
			}
		}
	})
}

func historyText(history []*a2a.Message) string {
	var all []string
	for _, m := range history {
		all = append(all, text(m.Parts))
	}
	return strings.Join(all, " ")
}

// Clients see neither internal events of the agent nor events after the end of the task.
func TestWire22_InternalEventsReachNoClient(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, strings.Join([]string{
			`{"kind":"internal:llm-call","model":"m"}`,
			`{"kind":"status-update","status":{"state":"working"},"final":false}`,
			`{"kind":"internal:tool","text":"secret"}`,
			`{"text":"a"}`,
			`{"kind":"status-update","status":{"state":"completed"},"final":true}`,
			`{"text":"secret"}`,
			`{"kind":"internal:late"}`,
			`{"kind":"status-update","status":{"state":"failed"},"final":true}`,
		}, "\n")+"\n")
	})
	stream, err := e.Stream(t.Context(), newRequest("m1", "hi"))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	const want = "task:submitted status:working artifact:turn-1=a status:completed"
	if got := strings.Join(readAll(t, stream), " "); got != want {
		t.Errorf("stream = %q\n    want %q", got, want)
	}
	page, err := e.List(t.Context(), &a2a.ListRequest{Owner: "owner", IncludeArtifacts: true})
	if err != nil || len(page.Tasks) != 1 || text(page.Tasks[0].Artifacts[0].Parts) != "a" || page.Tasks[0].Status.State != a2a.StateCompleted {
		t.Errorf("List() = %+v, %v", page, err)
	}
}

func TestWire22_EventsAfterTheEndAreDroppedAndCounted(t *testing.T) {
	observer := &countingObserver{}
	withEngine(t, engine.Options{Observer: observer}, func(t *testing.T, b *fixture) {
		r := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		_ = c.emitEvents(chunk("x"), status(a2a.StateCompleted), chunk("y"), status(a2a.StateFailed), message("z"))
		_ = c.emitEvents(chunk("late"))
		_ = c.emitEvents(status(a2a.StateWorking), chunk("later"))
		c.endRun(nil)
		r.want(t, "task:submitted status:working artifact:turn-1=x status:completed EOF")
		if observer.drops != 6 {
			t.Errorf("%d events were counted as dropped, want 6", observer.drops)
		}
		if task := b.task(c.TaskID); task.Status.State != a2a.StateCompleted || text(task.Artifacts[0].Parts) != "x" {
			t.Errorf("task = %+v", task)
		}
	})
}
