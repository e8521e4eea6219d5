// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// inputRequest returns a status with an input request, given as JSON. The run of the agent
// waits for the answer.
func inputRequest(request string) a2a.Event {
	e := paused(a2a.StateInputRequired, "which?")
	e.Status.Status.Message.Metadata = a2a.Object(`{"inputRequest":` + request + `}`)
	return e
}

// answerByReference answers an input request. It refers to the paused task instead of naming it.
func answerByReference(id, task, request, value string) *a2a.SendRequest {
	r := newRequest(id, "here")
	r.Message.ReferenceTasks = []string{task}
	r.Message.Parts = append(r.Message.Parts, a2a.Part{
		Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"` + request + `","result":"` + value + `"}`),
		Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`),
	})
	return r
}

func TestWire13_AnswerByReferenceResumesThePausedRun(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(inputRequest(`{"requestId":"r1","prompt":"which?"}`))
		first.want(t, "task:submitted status:input-required(which?)/paused")
		second := b.stream(answerByReference("m2", c.TaskID, "r1", "that"))
		input := b.nextCall()
		if !input.Input || input.TaskID != c.TaskID || !strings.Contains(text(input.Message.Parts), "that") {
			t.Errorf("the agent received %+v", input.Turn)
		}
		input.endRun(backend.ErrInputAccepted)
		c.mustEmit(status(a2a.StateWorking), chunk("x"))
		c.endRun(nil)
		// Both streams show the same task to its end. The second stream begins when its
		// client joins.
		first.want(t, "task:submitted status:input-required(which?)/paused status:working status:working artifact:turn-1=x status:completed EOF")
		second.want(t, "task:working status:working artifact:turn-1=x status:completed EOF")
		if n := len(b.task(c.TaskID).History); n != 3 {
			t.Errorf("history has %d messages, want what was said, asked and answered", n)
		}
	})
}

func TestWire13_ToolResultForATaskWithoutAPausedRun(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		first := b.stream(newRequest("m1", "hi"))
		c := b.nextCall()
		question := inputRequest(`{"requestId":"r1"}`)
		question.Status.Paused = false
		c.mustEmit(question)
		c.endRun(nil)
		first.want(t, "task:submitted status:input-required(which?) EOF")
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateInputRequired)
		b.send(answerByReference("m2", c.TaskID, "r1", "that"))
		if again := b.nextCall(); again.Input || again.TaskID != c.TaskID || again.Number != 2 {
			t.Errorf("the agent received %+v", again.Turn)
		}
	})
}

func TestWire13_ReferencesToUnpausedTasksStartATask(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(inputRequest(`{"requestId":"r1"}`))
		b.send(newRequest("m2", "hi"))
		working := b.nextCall()
		working.mustEmit(inputRequest(`{"requestId":"r1"}`))
		working.mustEmit(status(a2a.StateWorking))
		b.send(newRequest("m3", "hi"))
		nameless := b.nextCall()
		nameless.mustEmit(paused(a2a.StateInputRequired, "which?"))
		change := func(f func(*a2a.SendRequest)) *a2a.SendRequest {
			r := answerByReference("m", c.TaskID, "r1", "x")
			f(r)
			return r
		}
		tests := map[string]*a2a.SendRequest{
			"other request":     answerByReference("m", c.TaskID, "r2", "x"),
			"task that works":   answerByReference("m", working.TaskID, "r1", "x"),
			"task without name": answerByReference("m", nameless.TaskID, "", "x"),
			"unknown task":      answerByReference("m", "none", "r1", "x"),
			"two tasks":         change(func(r *a2a.SendRequest) { r.Message.ReferenceTasks = append(r.Message.ReferenceTasks, "none") }),
			"no task":           change(func(r *a2a.SendRequest) { r.Message.ReferenceTasks = nil }),
			"other context":     change(func(r *a2a.SendRequest) { r.Message.ContextID = "other" }),
			"other owner":       change(func(r *a2a.SendRequest) { r.Owner = "somebody else" }),
			"other tenant":      change(func(r *a2a.SendRequest) { r.Owner = r.Owner.In("north") }),
			"no mark":           change(func(r *a2a.SendRequest) { r.Message.Parts[1].Metadata = nil }),
			"no result":         change(func(r *a2a.SendRequest) { r.Message.Parts = r.Message.Parts[:1] }),
		}
		for name, r := range tests {
			b.send(r)
			fresh := b.nextCall()
			if fresh.Task != nil || fresh.Input || fresh.TaskID == c.TaskID {
				t.Errorf("%s: the message continues %s", name, fresh.TaskID)
			}
			if strings.HasPrefix(name, "other owner") || strings.HasPrefix(name, "other tenant") {
				if len(fresh.References) != 0 {
					t.Errorf("%s: the agent learns of a task of somebody else", name)
				}
			}
		}
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

// Only the agent receives the sensitive content.
func TestSensitiveAnswersAreRedactedInTheLog(t *testing.T) {
	answers := map[string]func(task string) *a2a.SendRequest{
		"by reference": func(task string) *a2a.SendRequest { return answerByReference("m2", task, "r1", "secret") },
		"by task":      func(task string) *a2a.SendRequest { return withTask(newRequest("m2", "secret"), task) },
		"with metadata": func(task string) *a2a.SendRequest {
			r := withTask(newRequest("m2", "secret"), task)
			r.Message.Metadata = a2a.Object(`{"key":"secret"}`)
			return r
		},
	}
	for name, answer := range answers {
		for _, waits := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", waits ", waits), func(t *testing.T) {
				s := memory.New(memory.Options{})
				withEngine(t, engine.Options{Store: s}, func(t *testing.T, b *fixture) {
					b.send(newRequest("m1", "hi"))
					c := b.nextCall()
					question := inputRequest(`{"requestId":"r1","sensitive":true}`)
					question.Status.Paused = waits
					c.mustEmit(question)
					if !waits {
						c.endRun(nil)
					}
					r := b.stream(answer(c.TaskID))
					input := b.nextCall()
					if !strings.Contains(text(input.Message.Parts), "secret") {
						t.Errorf("the agent received %q", text(input.Message.Parts))
					}
					input.mustEmit(status(a2a.StateInputRequired, "and?"))
					input.endRun(nil)
					r.want(t, "task:working status:input-required(and?) EOF")
					next := b.send(withTask(newRequest("m3", "public"), c.TaskID))
					last := b.nextCall()
					last.finishTask(status(a2a.StateCompleted))
					next.want(t, "task:completed")
					log, err := s.Open(t.Context(), store.Key{Owner: "owner", TaskID: c.TaskID})
					if err != nil {
						t.Fatal(err)
					}
					records, err := log.Read(t.Context(), nil, 0)
					if err != nil {
						t.Fatal(err)
					}
					var kept []*a2a.Message
					for _, r := range records {
						kept = append(kept, r.Message)
					}
					kept = append(kept, b.task(c.TaskID).History...)
					kept = append(kept, last.History...)
					kept = append(kept, last.Task.History...)
					public := 0
					for _, m := range kept {
						if m == nil {
							continue
						}
						if all := text(m.Parts) + string(m.Metadata); strings.Contains(all, "secret") {
							t.Errorf("kept: %s", all)
						}
						if text(m.Parts) == "public" {
							public++
						}
					}
					if public < 2 {
						t.Error("an answer to a question that is not sensitive is not kept")
					}
				})
			})
		}
	}
}

func TestWire13_InputTimeoutFailsTheTask(t *testing.T) {
	tests := map[string]struct {
		request string
		limit   time.Duration
		want    time.Duration
	}{
		"default":           {`{}`, 0, 5 * time.Minute},
		"option":            {`{"requestId":"r"}`, time.Minute, time.Minute},
		"that of the agent": {`{"timeoutSeconds":1.5}`, 0, 1500 * time.Millisecond},
		"bounded":           {`{"timeoutSeconds":86400}`, 0, 5 * time.Minute},
		"nonsense":          {`{"timeoutSeconds":-1}`, 0, 5 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			options := engine.Options{}
			if tt.limit > 0 {
				options.InputTimeout = func() time.Duration { return tt.limit }
			}
			withEngine(t, options, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m1", "hi"))
				c := b.nextCall()
				c.mustEmit(inputRequest(tt.request))
				time.Sleep(tt.want - time.Millisecond)
				r.want(t, "task:submitted status:input-required(which?)/paused")
				time.Sleep(time.Millisecond)
				r.want(t, "task:submitted status:input-required(which?)/paused status:failed(No input arrived within "+tt.want.String()+") EOF")
				if got := string(b.task(c.TaskID).Metadata); got != `{"a2a.inputTimeout":true}` {
					t.Errorf("metadata = %s", got)
				}
				<-c.ctx.Done()
				if got := b.send(answerByReference("m2", c.TaskID, "r", "late")); !got.pending() {
					t.Errorf("late answer: %s, want a task of its own", got.result())
				}
				if late := b.nextCall(); late.TaskID == c.TaskID {
					t.Error("the task that failed goes on")
				}
				b.wantState(c.TaskID, a2a.StateFailed)
			})
		})
	}
}

func TestInputBeforeTheTimeout(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(inputRequest(`{}`))
		time.Sleep(4 * time.Minute)
		b.send(withTask(newRequest("m2", "that"), c.TaskID))
		b.nextCall().endRun(backend.ErrInputAccepted)
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateWorking)
		// Each question has its own timeout.
		c.mustEmit(inputRequest(`{}`))
		time.Sleep(4 * time.Minute)
		c.mustEmit(inputRequest(`{"timeoutSeconds":120}`))
		time.Sleep(119 * time.Second)
		b.wantState(c.TaskID, a2a.StateInputRequired)
		// A run that has returned does not wait for the answer to its question.
		c.endRun(nil)
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

func TestAuthenticationHasNoInputTimeout(t *testing.T) {
	withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
		b.send(newRequest("m1", "hi"))
		c := b.nextCall()
		c.mustEmit(paused(a2a.StateAuthRequired))
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateAuthRequired)
	})
}

// An answer, a cancel and the input timeout come at the same moment. One of them decides
// the state of the task, and every call returns.
func TestInputTimeoutRaces(t *testing.T) {
	for _, early := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		for range 20 {
			withEngine(t, engine.Options{}, func(t *testing.T, b *fixture) {
				r := b.stream(newRequest("m1", "hi"))
				c := b.nextCall()
				c.mustEmit(inputRequest(`{"timeoutSeconds":1,"requestId":"r1"}`))
				outcome := make(chan string, 2)
				go func() {
					time.Sleep(time.Second + early)
					e, err := b.Send(t.Context(), withTask(newRequest("m2", "that"), c.TaskID))
					if err != nil {
						outcome <- reasonOf(err)
						return
					}
					outcome <- summary(&e)
				}()
				go func() {
					time.Sleep(time.Second)
					_, err := b.cancel(c.TaskID)
					if err != nil {
						outcome <- reasonOf(err)
						return
					}
					outcome <- "canceled"
				}()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if got, also := <-outcome, <-outcome; got == also {
					t.Errorf("both clients get %s", got)
				}
				if state := b.task(c.TaskID).Status.State; !state.Terminal() {
					t.Errorf("task is left %s", state)
				}
				if n := strings.Count(strings.Join(r.got, " "), "failed") + strings.Count(strings.Join(r.got, " "), "canceled"); n != 1 {
					t.Errorf("stream = %v", r.got)
				}
			})
		}
	}
}
