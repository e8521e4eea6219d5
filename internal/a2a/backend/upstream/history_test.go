// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// said returns a message of an agent. Each word is one chunk of a message with the id.
func said(id string, words ...string) []*a2a.Message {
	var all []*a2a.Message
	for _, word := range words {
		all = append(all, &a2a.Message{ID: id, TaskID: agentTask, ContextID: agentContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart(word)}})
	}
	return all
}

// TestAnswerInTheHistoryOnly tests agents that store an answer in the history of their task, and
// send neither an artifact nor a status with a message.
func TestAnswerInTheHistoryOnly(t *testing.T) {
	t.Parallel()
	client := func(id string) *a2a.Message {
		return &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart("hi")}}
	}
	for name, history := range map[string][]*a2a.Message{
		"one message":                    append([]*a2a.Message{client("m1")}, said("a", "42")...),
		"four chunks":                    append([]*a2a.Message{client("m1")}, said("a", "4", "", "", "2")...),
		"a message that is stored twice": append([]*a2a.Message{client("m1")}, said("a", "42", "42")...),
		"without the client's message":   said("a", "42"),
		"after an earlier answer":        append(append(said("old", "41"), client("m1")), said("a", "42")...),
		"other ids for the client":       append(append([]*a2a.Message{client("x")}, said("old", "41")...), append([]*a2a.Message{client("y")}, said("a", "42")...)...),
	} {
		for _, state := range []a2a.State{a2a.StateCompleted, a2a.StateInputRequired} {
			whole := task(state)
			whole.History = history
			for _, tt := range []struct {
				streaming bool
				begin     a2a.Event
				ops       string
			}{
				{false, taskEvent(whole), "send"},
				{false, taskEvent(task(state)), "send get"},
				{true, status(state), "stream get"},
				{true, taskEvent(task(state)), "stream get"},
				{true, taskEvent(whole), "stream"},
			} {
				t.Run(name+", "+state.String()+", "+tt.ops, func(t *testing.T) {
					t.Parallel()
					b, calls := newAgent(t, "0.3", tt.streaming, upstream.Options{}, func(s *responder, a agentRequest) {
						switch a.op {
						case "send":
							s.respond(tt.begin)
						case "stream":
							s.stream(tt.begin)
						default:
							s.respondTask(whole)
						}
					})
					h, _ := run(t, b, newTurn())
					want := "working(42) " + state.String() + "(42)"
					if h.String() != want || calls.ops() != tt.ops {
						t.Errorf("Run() = %q after %s, want %q after %s", h, calls.ops(), want, tt.ops)
					}
				})
			}
		}
	}
}

// TestAnswerInAnEarlierStatus checks that the status that ends a turn without output has the newest
// message of the agent, in every version and binding.
func TestAnswerInAnEarlierStatus(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		b, calls := newAgent(t, name, true, upstream.Options{}, func(s *responder, a agentRequest) {
			s.stream(s.withID(a.task, status(a2a.StateWorking, "one"), status(a2a.StateWorking, "two"), status(a2a.StateCompleted))...)
		})
		if h, _ := run(t, b, newTurn()); h.String() != "working(one) working(two) completed(two)" || calls.ops() != "stream" {
			t.Errorf("Run() = %q after %s", h, calls.ops())
		}
	})
}

// TestPauseWithAnEarlierMessageIsRecognized checks that an agent may repeat the status with which it
// paused, although the stored status has a message that the agent's status lacks.
func TestPauseWithAnEarlierMessageIsRecognized(t *testing.T) {
	t.Parallel()
	asked := task(a2a.StateInputRequired)
	asked.Status.Time = time.Date(2026, 1, 2, 3, 4, 5, 1234567, time.UTC)
	before := task(a2a.StateInputRequired)
	before.Status = statusOf(a2a.StateInputRequired, "which?")
	before.Status.Time = asked.Status.Time.Truncate(time.Millisecond)
	b, _ := newAgent(t, "1.0", true, upstream.Options{}, func(s *responder, _ agentRequest) {
		s.stream(taskEvent(asked), artifact("x", false), status(a2a.StateCompleted))
	})
	turn := newTurn()
	turn.Task = before
	if h, outcome := run(t, b, turn); h.String() != "working =x completed" || outcome != "ended" {
		t.Errorf("Run() = %q, %s", h, outcome)
	}
}

// TestMessagesAfterATask checks that the relay passes on the messages of a stream with a task.
func TestMessagesAfterATask(t *testing.T) {
	t.Parallel()
	b, calls := newAgent(t, "1.0", true, upstream.Options{}, func(s *responder, _ agentRequest) {
		whole := task(a2a.StateCompleted)
		whole.History = said("a", "42")
		s.stream(status(a2a.StateWorking), a2a.Event{Message: said("a", "4")[0]}, a2a.Event{Message: said("a", "2")[0]}, status(a2a.StateCompleted), taskEvent(whole))
	})
	if h, _ := run(t, b, newTurn()); h.String() != "working message:4 message:2 completed" || calls.ops() != "stream" {
		t.Errorf("Run() = %q after %s", h, calls.ops())
	}
}
