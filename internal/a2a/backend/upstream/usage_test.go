// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

func usage(output int) a2a.Object {
	return a2a.Object(fmt.Sprintf(`{"a2a-operator.dev/usage":{"prompt_tokens":0,"completion_tokens":%d}}`, output))
}

func taskWithUsage(s a2a.State, output int) a2a.Event {
	t := task(s)
	t.Metadata = usage(output)
	return taskEvent(t)
}

func statusWithUsage(s a2a.State, output int) a2a.Event {
	e := status(s)
	e.Status.Metadata = usage(output)
	return e
}

// TestUsageOfTheFormerTurnIsNotReported tests the metadata of a task that has the usage of
// the former turn until the agent reports the usage of the next turn.
func TestUsageOfTheFormerTurnIsNotReported(t *testing.T) {
	t.Parallel()
	const former = 100_000
	tests := map[string]struct {
		events []a2a.Event
		want   []int
	}{
		"task, then a status":         {[]a2a.Event{taskWithUsage(a2a.StateWorking, former), statusWithUsage(a2a.StateCompleted, 50)}, []int{50}},
		"task, then a task":           {[]a2a.Event{taskWithUsage(a2a.StateWorking, former), taskWithUsage(a2a.StateCompleted, 50)}, []int{50}},
		"no report":                   {[]a2a.Event{taskWithUsage(a2a.StateWorking, former), taskWithUsage(a2a.StateCompleted, former)}, nil},
		"the same number in a status": {[]a2a.Event{taskWithUsage(a2a.StateWorking, former), statusWithUsage(a2a.StateCompleted, former)}, []int{former}},
		"status, then an old task":    {[]a2a.Event{statusWithUsage(a2a.StateWorking, 50), taskWithUsage(a2a.StateCompleted, former)}, []int{50}},
		"message":                     {[]a2a.Event{{Message: &a2a.Message{ID: "m", ContextID: agentContext, Role: a2a.RoleAgent, Parts: []a2a.Part{a2a.TextPart("x")}, Metadata: usage(50)}}}, []int{50}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b, _ := newAgent(t, "1.0", true, upstream.Options{}, func(s *responder, a agentRequest) {
				if a.op == "stream" {
					s.stream(test.events...)
					return
				}
				s.respondTask(taskWithUsage(a2a.StateCompleted, former).Task) // the poll confirms that the turn has no output
			})
			turn := newTurn()
			turn.Number = 2
			turn.Task = &a2a.Task{ID: "our-task", ContextID: "our-context", Status: a2a.Status{State: a2a.StateInputRequired}, Metadata: usage(former)}
			var got []int
			turn.ReportUsage = func(u backend.Usage) { got = append(got, u.Output) }
			if _, outcome := run(t, b, turn); outcome != "ended" && outcome != "whole" {
				t.Errorf("Run() %s", outcome)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("reported %v, want %v", got, test.want)
			}
		})
	}
}
