// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// taskReads is an agent without streams. It answers each read of the task with the next of its states, and
// records the times of the reads.
type taskReads struct {
	states []string
	times  []time.Time
}

// RoundTrip implements http.RoundTripper.
func (a *taskReads) RoundTrip(*http.Request) (*http.Response, error) {
	a.times = append(a.times, time.Now())
	state := a.states[min(len(a.times), len(a.states))-1]
	if state == "" {
		return nil, errors.New("connection refused")
	}
	return response("application/json", `{"jsonrpc":"2.0","id":"1","result":{"id":"t","contextId":"c","status":{"state":"`+state+`"}}}`), nil
}

// pauses returns the times between the reads.
func (a *taskReads) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(a.times); i++ {
		all = append(all, a.times[i].Sub(a.times[i-1]))
	}
	return all
}

// following returns a Following for the task of the agent.
func (a *taskReads) following(t *testing.T, interval time.Duration) *Following {
	t.Helper()
	return newFollowing(a, false, interval)
}

// newFollowing returns a Following for an agent behind a transport.
func newFollowing(to http.RoundTripper, streaming bool, interval time.Duration) *Following {
	u := &url.URL{Scheme: "http", Host: "agent.example", Path: "/"}
	return &Following{
		Client:       New(Options{HTTP: stream.New(to, stream.Limits{Once: true}), Endpoint: NewEndpoint(RPCV10, u, "", streaming)}),
		PollInterval: interval, Observe: func(*Event) error { return nil },
	}
}

// TestPollsBackOffToEightTimesTheirInterval covers A2ACLI_TASK_POLL_002 of the a2a-cli specification.
func TestPollsBackOffToEightTimesTheirInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := &taskReads{states: append(slices.Repeat([]string{"TASK_STATE_WORKING"}, 9), "TASK_STATE_COMPLETED")}
		follow := agent.following(t, 16*time.Second)
		if err := follow.Task(t.Context(), "t", ""); err != nil || follow.State() != a2a.StateCompleted {
			t.Fatalf("state %v, %v", follow.State(), err)
		}
		want := []time.Duration{16 * time.Second, 24 * time.Second, 36 * time.Second, 54 * time.Second, 81 * time.Second, 121500 * time.Millisecond, 128 * time.Second, 128 * time.Second, 128 * time.Second}
		if got := agent.pauses(); !slices.Equal(got, want) {
			t.Errorf("the pauses are %v, want %v", got, want)
		}
	})
}

// TestPollsEndAtAQuestionAndNotAtAnUnknownState covers A2ACLI_TASK_POLL_003.
func TestPollsEndAtAQuestionAndNotAtAnUnknownState(t *testing.T) {
	for _, question := range []string{"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"} {
		synctest.Test(t, func(t *testing.T) {
			agent := &taskReads{states: []string{"TASK_STATE_UNSPECIFIED", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", question}}
			follow := agent.following(t, time.Second)
			if err := follow.Task(t.Context(), "t", ""); err != nil || !follow.State().Interrupted() || len(agent.times) != 4 {
				t.Errorf("state %v after %d reads, %v", follow.State(), len(agent.times), err)
			}
		})
	}
}

func TestPollsSurviveFailuresOfTheConnectionAndKeepTheirBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := &taskReads{states: []string{"TASK_STATE_WORKING", "", "", "TASK_STATE_COMPLETED"}}
		follow := agent.following(t, 4*time.Second)
		if err := follow.Task(t.Context(), "t", ""); err != nil || follow.State() != a2a.StateCompleted {
			t.Errorf("state %v, %v", follow.State(), err)
		}
		if got, want := agent.pauses(), []time.Duration{4 * time.Second, 6 * time.Second, 9 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("the pauses are %v, want %v", got, want)
		}
	})
}

func TestAPollEndsWithItsTimeoutAndKeepsTheTaskID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := &taskReads{states: []string{"TASK_STATE_WORKING"}}
		follow := agent.following(t, time.Second)
		expired := errors.New("expired")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, expired)
		defer cancel()
		began := time.Now()
		if err := follow.Task(ctx, "t", ""); !errors.Is(err, expired) || follow.TaskID() != "t" || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v, task %q", time.Since(began), err, follow.TaskID())
		}
	})
}

// TestABrokenStreamBecomesPollsWhenTheAgentCannotResume covers A2ACLI_TASK_POLL_004.
func TestABrokenStreamBecomesPollsWhenTheAgentCannotResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls := &taskReads{states: []string{"TASK_STATE_WORKING", "TASK_STATE_COMPLETED"}}
		var methods []string
		follow := newFollowing(roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			var request struct{ Method string }
			if err := json.Unmarshal(body, &request); err != nil {
				return nil, err
			}
			methods = append(methods, request.Method)
			switch request.Method {
			case "SendStreamingMessage":
				return response("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"task\":{\"id\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}}}\n\n"), nil
			case "SubscribeToTask":
				return response("application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"no"}}`), nil
			default:
				return polls.RoundTrip(r)
			}
		}), true, time.Second)
		if err := follow.Send(t.Context(), &a2a.SendRequest{Message: &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("x")}}}); err != nil || follow.State() != a2a.StateCompleted {
			t.Errorf("state %v, %v", follow.State(), err)
		}
		if want := []string{"SendStreamingMessage", "SubscribeToTask", "GetTask", "GetTask"}; !slices.Equal(methods, want) {
			t.Errorf("the calls are %q, want %q", methods, want)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func response(mediaType, body string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}
