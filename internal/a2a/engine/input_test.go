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

// asks is what an agent says that waits for its client.
func asks(request string) a2a.Event {
	e := paused(a2a.StateInputRequired, "which?")
	e.Status.Status.Message.Metadata = a2a.Object(`{"inputRequest":` + request + `}`)
	return e
}

// result answers a request without naming the task that waits for it.
func result(id, task, request, value string) *a2a.SendRequest {
	r := say(id, "here")
	r.Message.ReferenceTasks = []string{task}
	r.Message.Parts = append(r.Message.Parts, a2a.Part{
		Content: a2a.ContentData, Data: a2a.Value(`{"toolUseId":"` + request + `","result":"` + value + `"}`),
		Metadata: a2a.Object(`{"a2a.partKind":"tool-result"}`),
	})
	return r
}

func TestWire13_AnswerByReferenceResumesTheRunThatWaits(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := b.stream(say("m1", "hi"))
		c := b.call()
		c.must(asks(`{"requestId":"r1","prompt":"which?"}`))
		first.want(t, "task:submitted status:input-required(which?)/paused")
		second := b.stream(result("m2", c.TaskID, "r1", "that"))
		input := b.call()
		if !input.Input || input.TaskID != c.TaskID || !strings.Contains(text(input.Message.Parts), "that") {
			t.Errorf("the agent is told %+v", input.Turn)
		}
		input.ends(backend.ErrInputAccepted)
		c.must(status(a2a.StateWorking), chunk("x"))
		c.ends(nil)
		// Both see the same task to its end, the second one from where it came in.
		first.want(t, "task:submitted status:input-required(which?)/paused status:working status:working artifact:turn-1+x status:completed EOF")
		second.want(t, "task:working status:working artifact:turn-1+x status:completed EOF")
		if n := len(b.task(c.TaskID).History); n != 3 {
			t.Errorf("history has %d messages, want what was said, asked and answered", n)
		}
	})
}

func TestWire13_ResultForATaskWithoutAPausedRun(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		first := b.stream(say("m1", "hi"))
		c := b.call()
		question := asks(`{"requestId":"r1"}`)
		question.Status.Paused = false
		c.must(question)
		c.ends(nil)
		first.want(t, "task:submitted status:input-required(which?) EOF")
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateInputRequired)
		b.send(result("m2", c.TaskID, "r1", "that"))
		if again := b.call(); again.Input || again.TaskID != c.TaskID || again.Number != 2 {
			t.Errorf("the agent is told %+v", again.Turn)
		}
	})
}

func TestWire13_ReferencesThatAnswerNothing(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		c.must(asks(`{"requestId":"r1"}`))
		b.send(say("m2", "hi"))
		working := b.call()
		working.must(asks(`{"requestId":"r1"}`))
		working.must(status(a2a.StateWorking))
		b.send(say("m3", "hi"))
		nameless := b.call()
		nameless.must(paused(a2a.StateInputRequired, "which?"))
		change := func(f func(*a2a.SendRequest)) *a2a.SendRequest {
			r := result("m", c.TaskID, "r1", "x")
			f(r)
			return r
		}
		tests := map[string]*a2a.SendRequest{
			"other request":     result("m", c.TaskID, "r2", "x"),
			"task that works":   result("m", working.TaskID, "r1", "x"),
			"task without name": result("m", nameless.TaskID, "", "x"),
			"unknown task":      result("m", "none", "r1", "x"),
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
			fresh := b.call()
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

// The agent alone gets what is not to be kept.
func TestSensitiveAnswersAreRedactedInTheLog(t *testing.T) {
	answers := map[string]func(task string) *a2a.SendRequest{
		"by reference": func(task string) *a2a.SendRequest { return result("m2", task, "r1", "secret") },
		"by task":      func(task string) *a2a.SendRequest { return to(say("m2", "secret"), task) },
		"with metadata": func(task string) *a2a.SendRequest {
			r := to(say("m2", "secret"), task)
			r.Message.Metadata = a2a.Object(`{"key":"secret"}`)
			return r
		},
	}
	for name, answer := range answers {
		for _, waits := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", waits ", waits), func(t *testing.T) {
				s := memory.New(memory.Options{})
				play(t, engine.Options{Store: s}, func(t *testing.T, b *bench) {
					b.send(say("m1", "hi"))
					c := b.call()
					question := asks(`{"requestId":"r1","sensitive":true}`)
					question.Status.Paused = waits
					c.must(question)
					if !waits {
						c.ends(nil)
					}
					r := b.stream(answer(c.TaskID))
					input := b.call()
					if !strings.Contains(text(input.Message.Parts), "secret") {
						t.Errorf("the agent is told %q", text(input.Message.Parts))
					}
					input.must(status(a2a.StateInputRequired, "and?"))
					input.ends(nil)
					r.want(t, "task:working status:input-required(and?) EOF")
					next := b.send(to(say("m3", "public"), c.TaskID))
					last := b.call()
					last.finishes(status(a2a.StateCompleted))
					if got := next.result(); got != "task:completed" {
						t.Errorf("Send() = %s", got)
					}
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
			play(t, options, func(t *testing.T, b *bench) {
				r := b.stream(say("m1", "hi"))
				c := b.call()
				c.must(asks(tt.request))
				time.Sleep(tt.want - time.Millisecond)
				r.want(t, "task:submitted status:input-required(which?)/paused")
				time.Sleep(time.Millisecond)
				r.want(t, "task:submitted status:input-required(which?)/paused status:failed(No input was given within "+tt.want.String()+") EOF")
				if got := string(b.task(c.TaskID).Metadata); got != `{"a2a.inputTimeout":true}` {
					t.Errorf("metadata = %s", got)
				}
				<-c.ctx.Done()
				if got := b.send(result("m2", c.TaskID, "r", "late")); !got.pending() {
					t.Errorf("late answer: %s, want a task of its own", got.result())
				}
				if late := b.call(); late.TaskID == c.TaskID {
					t.Error("the task that failed goes on")
				}
				b.wantState(c.TaskID, a2a.StateFailed)
			})
		})
	}
}

func TestInputThatIsGivenInTime(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		c.must(asks(`{}`))
		time.Sleep(4 * time.Minute)
		b.send(to(say("m2", "that"), c.TaskID))
		b.call().ends(backend.ErrInputAccepted)
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateWorking)
		// Each question has its own time.
		c.must(asks(`{}`))
		time.Sleep(4 * time.Minute)
		c.must(asks(`{"timeoutSeconds":120}`))
		time.Sleep(119 * time.Second)
		b.wantState(c.TaskID, a2a.StateInputRequired)
		// A run that leaves its question behind does not wait for the answer.
		c.ends(nil)
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateInputRequired)
	})
}

func TestAuthenticationHasNoInputTimeout(t *testing.T) {
	play(t, engine.Options{}, func(t *testing.T, b *bench) {
		b.send(say("m1", "hi"))
		c := b.call()
		c.must(paused(a2a.StateAuthRequired))
		time.Sleep(time.Hour)
		b.wantState(c.TaskID, a2a.StateAuthRequired)
	})
}

// An answer, a cancel and the input timeout come at the same moment: one of them decides,
// and every call returns.
func TestInputTimeoutRaces(t *testing.T) {
	for _, early := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		for range 20 {
			play(t, engine.Options{}, func(t *testing.T, b *bench) {
				r := b.stream(say("m1", "hi"))
				c := b.call()
				c.must(asks(`{"timeoutSeconds":1,"requestId":"r1"}`))
				outcome := make(chan string, 2)
				go func() {
					time.Sleep(time.Second + early)
					e, err := b.Send(t.Context(), to(say("m2", "that"), c.TaskID))
					if err != nil {
						outcome <- reason(err)
						return
					}
					outcome <- short(&e)
				}()
				go func() {
					time.Sleep(time.Second)
					_, err := b.cancel(c.TaskID)
					if err != nil {
						outcome <- reason(err)
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
