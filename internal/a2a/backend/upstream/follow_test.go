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

// script is how an agent answers its calls of one operation, in turn; the last
// answer is that of all later calls.
type script []func(*said, asked)

func (s script) answer(out *said, a asked, n int) { s[min(n, len(s)-1)](out, a) }

// follows runs a turn whose stream tells of a task, and then breaks off or, if
// whole, ends.
func follows(t *testing.T, name string, whole bool, limits stream.Limits, begin []a2a.Event, subscribe, get script) (h *heard, outcome, ops string) {
	t.Helper()
	var subscriptions, gets atomic.Int32
	b, calls := agent(t, name, true, upstream.Options{Limits: limits}, func(s *said, a asked) {
		switch a.op {
		case "stream":
			s.streams(s.named(a.task, begin...)...)
			if !whole {
				panic(abort)
			}
		case "subscribe":
			subscribe.answer(s, a, int(subscriptions.Add(1))-1)
		case "get":
			get.answer(s, a, int(gets.Add(1))-1)
		case "cancel":
			s.tells(task(a2a.StateCanceled))
		}
	})
	h, outcome = run(t, b, turn())
	b.Close()
	return h, outcome, calls.ops()
}

func tells(state a2a.State, texts ...string) func(*said, asked) {
	return func(s *said, a asked) { s.tells(s.named(a.task, whole(task(state, texts...)))[0].Task) }
}

func subscribes(events ...a2a.Event) func(*said, asked) {
	return func(s *said, a asked) { s.streams(s.named(a.task, events...)...) }
}

func refuses(code int) func(*said, asked) { return func(s *said, _ asked) { s.fails(code) } }

func breaks(*said, asked) { panic(abort) }

// pings keeps a subscription open, with a comment now and then, after its events.
func pings(events ...a2a.Event) func(*said, asked) {
	return func(s *said, a asked) {
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.streams(s.named(a.task, events...)...)
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

// resubscribes reports whether the sidecar subscribes again to a running task in a
// version of the protocol.
func resubscribes(name string) bool { return strings.HasPrefix(name, "1.0") }

// A subscription to a running task of an agent before 1.0 may add to the task:
// a2a-sdk 0.3.26 appends each chunk of an artifact to the stored task once for each
// subscriber. The sidecar polls the task of a stream that was cut there.
func TestCutStreamBefore10IsPolled(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		if resubscribes(name) {
			t.Skip("the sidecar subscribes again")
		}
		for _, tt := range []struct {
			get                script
			said, outcome, ops string
		}{
			{script{tells(a2a.StateWorking, "x"), tells(a2a.StateCompleted, "xy")}, "working =x =x =xy completed", "ended", "stream get get"},
			{script{breaks, tells(a2a.StateInputRequired, "xy")}, "working =x =xy input-required", "whole", "stream get get"},
			{script{refuses(-32001)}, "working =x", "failed: The agent does not know the task any more; it may have been restarted", "stream get cancel"},
			{script{refuses(-32004)}, "working =x", "failed: The agent does not support this, or its task has ended", "stream get cancel"},
		} {
			h, outcome, ops := follows(t, name, false, stream.Limits{}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, script{subscribes(artifact("y", true))}, tt.get)
			if h.String() != tt.said || outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %q, %s after %s", h, outcome, ops, tt.said, tt.outcome, tt.ops)
			}
		}
	})
}

// The end that a resumed subscription reports is passed on only once a poll has
// confirmed the output: the subscription may have repeated an event.
func TestEndOfResumedSubscriptionIsConfirmed(t *testing.T) {
	const broke = "failed: The agent's answer broke off, and its task could not be read"
	completed, waits := status(a2a.StateCompleted), status(a2a.StateInputRequired, "which?")
	twice := func(end a2a.Event) func(*said, asked) {
		return subscribes(whole(task(a2a.StateWorking, "xy")), artifact("y", true), end)
	}
	waiting := task(a2a.StateInputRequired, "xy")
	waiting.Status = statusOf(a2a.StateInputRequired, "which?")
	asks := func(s *said, _ asked) { s.tells(waiting) }
	for name, tt := range map[string]struct {
		subscribe          func(*said, asked)
		get                script
		said, outcome, ops string
	}{
		"the poll breaks": {
			twice(completed),
			script{breaks, tells(a2a.StateCompleted, "xy")},
			"working =x =xy +y =xy completed", "ended", "stream subscribe get get",
		},
		"every poll breaks": {twice(completed), script{breaks}, "working =x =xy +y", broke, "stream subscribe get get get get cancel"},
		"polls are refused": {twice(completed), script{refuses(-32603)}, "working =x =xy +y", broke, "stream subscribe get cancel"},
		"a poll finds it unfinished": {
			twice(completed),
			script{tells(a2a.StateWorking, "xy"), tells(a2a.StateCompleted, "xyz")},
			"working =x =xy +y =xy =xyz completed", "ended", "stream subscribe get get",
		},
		"all polls find it unfinished": {
			twice(completed),
			script{tells(a2a.StateWorking, "xy")},
			"working =x =xy +y =xy", broke, "stream subscribe get get get get cancel",
		},
		"a failure needs no poll":       {twice(status(a2a.StateFailed, "why")), script{breaks}, "working =x =xy +y failed(why)", "ended", "stream subscribe get get get get"},
		"a question":                    {twice(waits), script{breaks, asks}, "working =x =xy +y =xy input-required(which?)", "whole", "stream subscribe get get"},
		"a question that is not polled": {twice(waits), script{refuses(-32603)}, "working =x =xy +y", broke, "stream subscribe get cancel"},
		"a task that waits, repeated": {
			subscribes(whole(waiting), artifact("y", true), waits),
			script{asks},
			"working =x =xy input-required(which?)", "whole", "stream subscribe get",
		},
		"a stream that stays open": {
			pings(whole(task(a2a.StateWorking, "xy")), completed),
			script{tells(a2a.StateCompleted, "xy")},
			"working =x =xy completed", "ended", "stream subscribe get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, outcome, ops := follows(t, "1.0", false, stream.Limits{}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, script{tt.subscribe}, tt.get)
			if h.String() != tt.said || outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %q, %s after %s", h, outcome, ops, tt.said, tt.outcome, tt.ops)
			}
		})
	}
}

// A subscription that never ends, and brings nothing but comments, does not keep
// the turn from the end of the task, nor alive.
func TestSubscriptionThatNeverEnds(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		t.Parallel()
		ended := !resubscribes(name) // the sidecar polls those that were cut
		for _, tt := range []struct {
			subscribe, get script
			idle           time.Duration
			outcome, ops   string
		}{
			{script{pings()}, script{tells(a2a.StateCompleted, "xy")}, 6 * time.Second, "ended", "stream subscribe get"},
			{
				script{pings(artifact("y", true)), subscribes(status(a2a.StateWorking), status(a2a.StateCompleted))},
				script{tells(a2a.StateWorking, "xy"), tells(a2a.StateCompleted, "xy")},
				6 * time.Second, "ended", "stream subscribe get subscribe get",
			},
			{script{pings()}, script{breaks, tells(a2a.StateCompleted, "xy")}, 6 * time.Second, "ended", "stream subscribe get subscribe get"},
			{script{pings()}, script{tells(a2a.StateWorking, "x")}, 800 * time.Millisecond, "failed: The agent was silent for 800ms", ""},
			{script{pings(whole(task(a2a.StateWorking, "x")))}, script{tells(a2a.StateWorking, "x")}, 800 * time.Millisecond, "failed: The agent was silent for 800ms", ""},
		} {
			if name == "0.1" && tt.ops == "" {
				continue // a subscription does not begin with a task
			}
			h, outcome, ops := follows(t, name, ended, stream.Limits{Idle: tt.idle, Turn: time.Minute}, []a2a.Event{status(a2a.StateWorking), artifact("x", false)}, tt.subscribe, tt.get)
			if outcome != tt.outcome || tt.ops != "" && ops != tt.ops || !strings.HasPrefix(ops, "stream subscribe get") {
				t.Errorf("Run() = %q, %s after %s\nwant %s after %s", h, outcome, ops, tt.outcome, tt.ops)
			}
		}
	})
}

// A stream that stays open after the end of the task does not keep the sidecar from asking
// for output that the stream did not bring.
func TestStreamThatStaysOpenAfterTheEnd(t *testing.T) {
	b, calls := agent(t, "1.0", true, upstream.Options{}, func(s *said, a asked) {
		if a.op == "get" {
			tells(a2a.StateCompleted, "x")(s, a)
			return
		}
		pings(status(a2a.StateSubmitted), status(a2a.StateCompleted))(s, a)
	})
	if h, outcome := run(t, b, turn()); h.String() != "submitted working =x completed" || outcome != "ended" || calls.ops() != "stream get" {
		t.Errorf("Run() = %q, %s after %s", h, outcome, calls.ops())
	}
}

// A task of which the agent ended the stream, or which it left as submitted, fails
// without waiting for timeouts.idle when the agent does not run it.
func TestTaskThatDoesNotRun(t *testing.T) {
	const (
		left  = "failed: The agent ended its answer and left its task working, which it does not run any more"
		broke = "failed: The agent broke off its answer and left its task submitted; the agent's log may say why"
	)
	working, submitted, unknown := tells(a2a.StateWorking, "x"), tells(a2a.StateSubmitted), refuses(-32001)
	for name, tt := range map[string]struct {
		whole        bool
		idle         time.Duration
		subscribe    func(*said, asked)
		get          script
		outcome, ops string
	}{
		"its executor failed at work": {true, time.Minute, unknown, script{working}, left, "stream subscribe get get get get cancel"},
		"its executor failed":         {false, 2 * time.Second, unknown, script{submitted}, broke, "stream get get get get cancel"},
		"its executor failed, and its subscriptions never end": {
			true, 6 * time.Second, pings(), script{submitted}, broke, "stream subscribe get subscribe get cancel",
		},
		// A connection that broke does not say so: another replica of the agent may run it.
		"another replica runs it": {
			false, time.Minute, unknown,
			script{working, working, working, working, tells(a2a.StateCompleted, "xy")},
			"ended", "stream get get get get get",
		},
		"it starts late": {
			true, 6 * time.Second, pings(),
			script{submitted, working, working, tells(a2a.StateCompleted, "xy")},
			"ended", "stream subscribe get subscribe get subscribe get subscribe get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, outcome, ops := follows(t, "0.3", tt.whole, stream.Limits{Idle: tt.idle}, []a2a.Event{status(a2a.StateSubmitted)}, script{tt.subscribe}, tt.get)
			if outcome != tt.outcome || ops != tt.ops {
				t.Errorf("Run() = %q, %s after %s\nwant %s after %s", h, outcome, ops, tt.outcome, tt.ops)
			}
		})
	}
}
