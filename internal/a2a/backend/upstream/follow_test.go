// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// script has the responses of an agent to the requests of one operation, in order. The last
// response is repeated.
type script []func(*responder, agentRequest)

func (s script) answer(out *responder, a agentRequest, n int) { s[min(n, len(s)-1)](out, a) }

// runFollowed runs a turn whose stream begins a task and then ends. If whole is false, the
// connection is cut instead.
func runFollowed(t *testing.T, name string, whole bool, limits stream.Limits, begin []a2a.Event, subscribe, get script) (h *emitted, outcome, ops string) {
	t.Helper()
	var subscriptions, gets atomic.Int32
	b, calls := newAgent(t, name, true, upstream.Options{Limits: limits}, func(s *responder, a agentRequest) {
		switch a.op {
		case "stream":
			s.stream(s.withID(a.task, begin...)...)
			if !whole {
				panic(abort)
			}
		case "subscribe":
			subscribe.answer(s, a, int(subscriptions.Add(1))-1)
		case "get":
			get.answer(s, a, int(gets.Add(1))-1)
		case "cancel":
			s.respondTask(task(a2a.StateCanceled))
		}
	})
	h, outcome = run(t, b, newTurn())
	b.Close()
	return h, outcome, calls.ops()
}

func returnsTask(state a2a.State, texts ...string) func(*responder, agentRequest) {
	return func(s *responder, a agentRequest) {
		s.respondTask(s.withID(a.task, taskEvent(task(state, texts...)))[0].Task)
	}
}

func streamsEvents(events ...a2a.Event) func(*responder, agentRequest) {
	return func(s *responder, a agentRequest) { s.stream(s.withID(a.task, events...)...) }
}

func returnsError(code int) func(*responder, agentRequest) {
	return func(s *responder, _ agentRequest) { s.respondError(code) }
}

func breaksConnection(*responder, agentRequest) { panic(abort) }

// staysOpen returns a response that streams events, and then comments until the client
// disconnects.
func staysOpen(events ...a2a.Event) func(*responder, agentRequest) {
	return func(s *responder, a agentRequest) {
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.stream(s.withID(a.task, events...)...)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			_, _ = io.WriteString(s.w, ": ping\n\n")
			_ = http.NewResponseController(s.w).Flush()
			select {
			case <-s.r.Context().Done():
				return
			case <-tick.C:
			}
		}
	}
}

// resubscribes reports whether the backend subscribes again to a running task of an
// agent.
func resubscribes(name string) bool { return strings.HasPrefix(name, "1.0") }

// TestCutStreamBeforeV10IsPolled checks that the backend polls the task of an agent before
// 1.0 and does not subscribe to it, because a subscription may change a running task.
// a2a-sdk 0.3.26 appends each chunk of an artifact to the stored task once for each
// subscriber.
func TestCutStreamBeforeV10IsPolled(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		if resubscribes(name) {
			t.Skip("the sidecar subscribes again")
		}
		for _, tt := range []struct {
			get                  script
			output, outcome, ops string
		}{
			{script{returnsTask(a2a.StateWorking, "x"), returnsTask(a2a.StateCompleted, "xy")}, "working =x =x =xy completed", "ended", "stream get get"},
			{script{breaksConnection, returnsTask(a2a.StateInputRequired, "xy")}, "working =x =xy input-required", "whole", "stream get get"},
			{script{returnsError(-32001)}, "working =x", "failed: The agent no longer has the task; it may have been restarted", "stream get cancel"},
			{script{returnsError(-32004)}, "working =x", "failed: The agent does not support the operation, or its task has ended", "stream get cancel"},
		} {
			h, outcome, ops := runFollowed(t, name, false, stream.Limits{}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, script{streamsEvents(artifact("y", true))}, tt.get)
			if h.String() != tt.output || outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %q, %s after %s", h, outcome, ops, tt.output, tt.outcome, tt.ops)
			}
		}
	})
}

// TestEndOfResumedSubscriptionIsConfirmed checks that the backend emits the end only after
// a poll has confirmed the output, because the subscription may have repeated an event.
func TestEndOfResumedSubscriptionIsConfirmed(t *testing.T) {
	t.Parallel()
	const broke = "failed: The agent's answer broke off, and its task could not be read"
	completed, waits := status(a2a.StateCompleted), status(a2a.StateInputRequired, "which?")
	twice := func(end a2a.Event) func(*responder, agentRequest) {
		return streamsEvents(taskEvent(task(a2a.StateWorking, "xy")), artifact("y", true), end)
	}
	waiting := task(a2a.StateInputRequired, "xy")
	waiting.Status = statusOf(a2a.StateInputRequired, "which?")
	asks := func(s *responder, _ agentRequest) { s.respondTask(waiting) }
	for name, tt := range map[string]struct {
		subscribe            func(*responder, agentRequest)
		get                  script
		output, outcome, ops string
	}{
		"the poll breaks": {
			twice(completed),
			script{breaksConnection, returnsTask(a2a.StateCompleted, "xy")},
			"working =x =xy +y =xy completed", "ended", "stream subscribe get get",
		},
		"every poll breaks": {twice(completed), script{breaksConnection}, "working =x =xy +y", broke, "stream subscribe get get get get cancel"},
		"polls are refused": {twice(completed), script{returnsError(-32603)}, "working =x =xy +y", broke, "stream subscribe get cancel"},
		"a poll finds it unfinished": {
			twice(completed),
			script{returnsTask(a2a.StateWorking, "xy"), returnsTask(a2a.StateCompleted, "xyz")},
			"working =x =xy +y =xy =xyz completed", "ended", "stream subscribe get get",
		},
		"all polls find it unfinished": {
			twice(completed),
			script{returnsTask(a2a.StateWorking, "xy")},
			"working =x =xy +y =xy", broke, "stream subscribe get get get get cancel",
		},
		"a failure needs no poll":       {twice(status(a2a.StateFailed, "why")), script{breaksConnection}, "working =x =xy +y failed(why)", "ended", "stream subscribe get get get get"},
		"a question":                    {twice(waits), script{breaksConnection, asks}, "working =x =xy +y =xy input-required(which?)", "whole", "stream subscribe get get"},
		"a question that is not polled": {twice(waits), script{returnsError(-32603)}, "working =x =xy +y", broke, "stream subscribe get cancel"},
		"a task that waits, repeated": {
			streamsEvents(taskEvent(waiting), artifact("y", true), waits),
			script{asks},
			"working =x =xy input-required(which?)", "whole", "stream subscribe get",
		},
		"a stream that stays open": {
			staysOpen(taskEvent(task(a2a.StateWorking, "xy")), completed),
			script{returnsTask(a2a.StateCompleted, "xy")},
			"working =x =xy completed", "ended", "stream subscribe get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, outcome, ops := runFollowed(t, "1.0", false, stream.Limits{}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, script{tt.subscribe}, tt.get)
			if h.String() != tt.output || outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %q, %s after %s", h, outcome, ops, tt.output, tt.outcome, tt.ops)
			}
		})
	}
}

// TestIdleSubscriptionIsClosed checks that a subscription that never ends and sends only
// comments neither hides the end of the task nor counts as activity.
func TestIdleSubscriptionIsClosed(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, name string) {
		t.Parallel()
		ended := !resubscribes(name) // after a cut stream, the backend would poll and not subscribe
		for _, tt := range []struct {
			subscribe, get script
			idle           time.Duration
			outcome, ops   string
		}{
			{script{staysOpen()}, script{returnsTask(a2a.StateCompleted, "xy")}, 6 * time.Second, "ended", "stream subscribe get"},
			{
				script{staysOpen(artifact("y", true)), streamsEvents(status(a2a.StateWorking), status(a2a.StateCompleted))},
				script{returnsTask(a2a.StateWorking, "xy"), returnsTask(a2a.StateCompleted, "xy")},
				6 * time.Second, "ended", "stream subscribe get subscribe get",
			},
			{script{staysOpen()}, script{breaksConnection, returnsTask(a2a.StateCompleted, "xy")}, 6 * time.Second, "ended", "stream subscribe get subscribe get"},
			{script{staysOpen()}, script{returnsTask(a2a.StateWorking, "x")}, 3 * time.Second, "failed: The agent was silent for 3s", ""},
			{script{staysOpen(taskEvent(task(a2a.StateWorking, "x")))}, script{returnsTask(a2a.StateWorking, "x")}, 3 * time.Second, "failed: The agent was silent for 3s", ""},
		} {
			if name == "0.1" && tt.ops == "" {
				continue // in 0.1, a subscription does not begin with the task
			}
			h, outcome, ops := runFollowed(t, name, ended, stream.Limits{Idle: tt.idle, Turn: time.Minute}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, tt.subscribe, tt.get)
			if outcome != tt.outcome || tt.ops != "" && ops != tt.ops || !strings.HasPrefix(ops, "stream subscribe get") {
				t.Errorf("Run() = %q, %s after %s\nwant %s after %s", h, outcome, ops, tt.outcome, tt.ops)
			}
		}
	})
}

// TestStreamOpenAfterTheTaskEndedIsClosed checks that the backend closes a stream that
// the agent keeps open after the end of the task, and polls the task for output that the
// stream did not contain.
func TestStreamOpenAfterTheTaskEndedIsClosed(t *testing.T) {
	t.Parallel()
	b, calls := newAgent(t, "1.0", true, upstream.Options{}, func(s *responder, a agentRequest) {
		if a.op == "get" {
			returnsTask(a2a.StateCompleted, "x")(s, a)
			return
		}
		staysOpen(status(a2a.StateSubmitted), status(a2a.StateCompleted))(s, a)
	})
	if h, outcome := run(t, b, newTurn()); h.String() != "submitted working =x completed" || outcome != "ended" || calls.ops() != "stream get" {
		t.Errorf("Run() = %q, %s after %s", h, outcome, calls.ops())
	}
}

// TestTaskThatTheAgentDoesNotRunFails tests agents that end the stream before the task.
// If the agent evidently does not run the task, the turn must fail before timeouts.idle.
func TestTaskThatTheAgentDoesNotRunFails(t *testing.T) {
	t.Parallel()
	const (
		left  = "failed: The agent ended its answer, left its task in the state working, and no longer runs it"
		broke = "failed: The agent ended its answer early and left its task in the state submitted; the agent's log may have the cause"
	)
	working, submitted, unknown := returnsTask(a2a.StateWorking, "x"), returnsTask(a2a.StateSubmitted), returnsError(-32001)
	for name, tt := range map[string]struct {
		whole        bool
		idle         time.Duration
		subscribe    func(*responder, agentRequest)
		get          script
		outcome, ops string
	}{
		"its executor failed at work": {true, time.Minute, unknown, script{working}, left, "stream subscribe get get get get cancel"},
		// The fourth poll follows 1.75 s after the stream, which is more than half of the
		// idle timeout of 3.4 s.
		"its executor failed": {false, 3400 * time.Millisecond, unknown, script{submitted}, broke, "stream get get get get cancel"},
		"its executor failed, and its subscriptions never end": {
			true, 6 * time.Second, staysOpen(), script{submitted}, broke, "stream subscribe get subscribe get cancel",
		},
		// After a lost connection, another replica of the agent may run the task.
		"another replica runs it": {
			false, time.Minute, unknown,
			script{working, working, working, working, returnsTask(a2a.StateCompleted, "xy")},
			"ended", "stream get get get get get",
		},
		"it starts late": {
			true, 6 * time.Second, staysOpen(),
			script{submitted, working, working, returnsTask(a2a.StateCompleted, "xy")},
			"ended", "stream subscribe get subscribe get subscribe get subscribe get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, outcome, ops := runFollowed(t, "0.3", tt.whole, stream.Limits{Idle: tt.idle}, []a2a.Event{status(a2a.StateSubmitted)}, script{tt.subscribe}, tt.get)
			if outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %s after %s", h, outcome, ops, tt.outcome, tt.ops)
			}
		})
	}
}
