// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agentclient

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(contentType, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// TestFailureOfAMessageThatMayBeAccepted checks that the error of a call proposes to send the message
// again only if no agent can have it.
func TestFailureOfAMessageThatMayBeAccepted(t *testing.T) {
	refusal := func(*http.Request) (*http.Response, error) {
		return respond("application/json", `{"error":{"code":-32602,"message":"no"}}`)
	}
	empty := func(*http.Request) (*http.Response, error) { return respond("text/event-stream", "") }
	cut := func(*http.Request) (*http.Response, error) { return nil, errors.New("reset") }
	for name, tt := range map[string]struct {
		gateway      roundTripper
		task, wanted string
	}{
		"refused":           {refusal, "", "no"},
		"no event":          {empty, "", "do not send it again unless the work may be done twice"},
		"cut":               {cut, "", "do not send it again unless the work may be done twice"},
		"cut, with a task":  {cut, "t1", "do not send it again, but wait for task t1 without a message"},
		"cut after a start": {startsAndBreaks(), "", "The connection to the agent broke"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{Gateway: tt.gateway, Memory: limit.NewBudget(64<<20, time.Second), MaxWait: time.Minute})
				defer c.stream.Close()
				r, err := c.Do(t.Context(), &Call{
					URL: "http://gateway/agents/a/b/", Reservation: &limit.Reservation{},
					Message: &a2a.Message{ID: "m", TaskID: tt.task, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
				})
				if r != nil && r.Failure != nil {
					err = r.Failure
				}
				if err == nil || !strings.HasSuffix(err.Error(), tt.wanted) || strings.Contains(err.Error(), "try again") {
					t.Errorf("Do() error = %v, want %q", err, tt.wanted)
				}
			})
		})
	}
}

// startsAndBreaks returns a gateway whose agent names an artifact of its task, and is then gone.
func startsAndBreaks() roundTripper {
	calls := 0
	return func(*http.Request) (*http.Response, error) {
		if calls++; calls == 1 {
			return respond("text/event-stream", `data: {"result":{"artifactUpdate":{"taskId":"t2","artifact":{"artifactId":"a","parts":[{"text":"x"}]}}}}`+"\n\n")
		}
		return nil, errors.New("reset")
	}
}

// TestAgentWithoutStreamingIsPolled checks that a message to an agent that does not stream is answered
// at once, and that its task is polled.
func TestAgentWithoutStreamingIsPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gets := 0
		c := New(Options{Memory: limit.NewBudget(64<<20, time.Second), MaxWait: time.Hour, Gateway: roundTripper(func(r *http.Request) (*http.Response, error) {
			text, _ := io.ReadAll(r.Body)
			body := string(text)
			switch {
			case strings.Contains(body, "SendStreamingMessage"), strings.Contains(body, "SubscribeToTask"):
				return respond("application/json", `{"error":{"code":-32004,"message":"no"}}`)
			case strings.Contains(body, "SendMessage"):
				if !strings.Contains(body, `"returnImmediately":true`) {
					t.Errorf("request = %s", body)
				}
				return respond("application/json", `{"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}`)
			default:
				state := "WORKING"
				if gets++; gets > 30 {
					state = "COMPLETED"
				}
				return respond("application/json", `{"result":{"id":"t","status":{"state":"TASK_STATE_`+state+`"}}}`)
			}
		})})
		defer c.stream.Close()
		r, err := c.Do(t.Context(), &Call{
			URL: "http://gateway/agents/a/b/", Reservation: &limit.Reservation{},
			Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
		})
		if err != nil || r.Task.Status.State != a2a.StateCompleted {
			t.Errorf("Do() = %+v, %v", r, err)
		}
	})
}

// TestManySmallValuesNeedMemory checks that an agent cannot make its caller decode more than the caller has memory for: three bytes of
// JSON may become a struct of hundreds of bytes.
func TestManySmallValuesNeedMemory(t *testing.T) {
	const count = 100_000
	many := strings.TrimSuffix(strings.Repeat(`{},`, count), ",")
	history := `{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"history":[` + many + `]}`
	done := `{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}`
	hostile := map[string][]string{
		"event":   {`data: {"result":{"task":` + history + `}}` + "\n\n"},
		"message": {`{"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[` + many + `]}}}`},
		"task":    {`data: {"result":` + done + `}` + "\n\n", `{"result":` + history + `}`},
	}
	securitypage.Attempts(t, "T-VALUES", len(hostile))
	for name, answers := range hostile {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				memory := limit.NewBudget(16<<20, time.Second)
				c := New(Options{Memory: memory, MaxWait: time.Minute, Gateway: roundTripper(func(*http.Request) (*http.Response, error) {
					answer := answers[min(calls, len(answers)-1)]
					calls++
					if strings.HasPrefix(answer, "data:") {
						return respond("text/event-stream", answer)
					}
					return respond("application/json", answer)
				})})
				defer c.stream.Close()
				call := &Call{
					URL: "http://gateway/agents/a/b/", Reservation: &limit.Reservation{},
					Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
				}
				r, err := c.Do(t.Context(), call)
				if r != nil && r.Failure != nil {
					err = r.Failure
				}
				if err == nil || !strings.Contains(err.Error(), "the memory limit of the sidecar allows 12288 KiB") {
					t.Errorf("Do() = %v, %v, want that the memory does not suffice", r, err)
				}
				call.Reservation.Release()
				if memory.Used() != 0 {
					t.Errorf("%d bytes stay reserved", memory.Used())
				}
			})
		})
	}
}

// TestLargeAnswersFit calls an agent whose task has a large table, which stays text, and one with many parts, in the memory of a sidecar with
// the default limit.
func TestLargeAnswersFit(t *testing.T) {
	table := `{"data":[` + strings.Repeat(`{"id":1,"v":2},`, 50_000) + `{}]}`
	parts := strings.Repeat(`{"text":"`+strings.Repeat("x", 6000)+`"},`, 500) + `{"text":"end"}`
	for name, part := range map[string]string{"table": table, "parts": parts, "small parts": strings.Repeat(`{"text":"a"},`, 15_000) + `{"text":"end"}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				task := `{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[` + part + `]}]}`
				c := New(Options{Memory: limit.NewBudget(18<<20, time.Second), MaxWait: time.Minute, Gateway: roundTripper(func(r *http.Request) (*http.Response, error) {
					body, _ := io.ReadAll(r.Body)
					if strings.Contains(string(body), "SendStreamingMessage") {
						return respond("text/event-stream", `data: {"result":{"task":`+task+`}}`+"\n\n")
					}
					answer, err := respond("application/json", `{"result":`+task+`}`)
					answer.ContentLength = -1
					return answer, err
				})})
				defer c.stream.Close()
				r, err := c.Do(t.Context(), &Call{
					URL: "http://gateway/agents/a/b/", Reservation: &limit.Reservation{},
					Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}},
				})
				if err != nil || r.Failure != nil || len(r.Task.Artifacts) != 1 {
					t.Errorf("Do() = %+v, %v", r, err)
				}
			})
		})
	}
}

// TestManyArtifacts composes a task of many artifacts and parts in a time that grows with their number, not with its square.
func TestManyArtifacts(t *testing.T) {
	const count = 5_000
	c := composedTask{charge: func(int64) bool { return true }}
	for i := range count {
		c.extend(&a2a.ArtifactUpdate{TaskID: "t", Artifact: a2a.Artifact{ID: strconv.Itoa(i)}})
		c.extend(&a2a.ArtifactUpdate{TaskID: "t", Append: true, Artifact: a2a.Artifact{ID: "0", Parts: []a2a.Part{a2a.TextPart("x"), {Content: a2a.ContentData, Data: a2a.Value("1")}}}})
	}
	c.identify("t", "")
	task := c.result()
	if c.truncated || len(task.Artifacts) != count || len(task.Artifacts[0].Parts) != 2*count {
		t.Errorf("truncated: %t, %d artifacts, %d parts of the first", c.truncated, len(task.Artifacts), len(task.Artifacts[0].Parts))
	}
	allocated := testing.AllocsPerRun(1, func() {
		c.extend(&a2a.ArtifactUpdate{TaskID: "t", Append: true, Artifact: a2a.Artifact{ID: "0", Parts: []a2a.Part{a2a.TextPart("x"), {Content: a2a.ContentData, Data: a2a.Value("1")}}}})
	})
	if allocated > 4 {
		t.Errorf("two more parts need %v allocations", allocated)
	}
}
