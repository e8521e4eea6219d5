// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
	"github.com/a2a-operator/a2a-operator/internal/a2a/client/answer"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// errStopped is the cause of the end of a turn that the user interrupted.
var errStopped = failure.New(failure.Internal, "stopped")

// turn is one exchange: a message, or the request to follow a task, and the events of the answer. It runs in a tea.Cmd.
// It delivers an event only when the model requests it, so that an agent cannot send faster than the terminal prints.
type turn struct {
	// answer is used only by the methods of the model.
	answer *answer.Reader
	events chan turnEvent
	// stop is closed to end the turn.
	stop chan struct{}
	// err is the error that ended the turn, nil if the task has ended or waits. It is set before events is closed.
	err error
}

// turnEvent is an event of the answer, the task before the message (earlier), or the error because of which the stream is
// resumed.
type turnEvent struct {
	event, earlier *client.Event
	resuming       error
}

func newTurn(reader *answer.Reader) *turn {
	return &turn{answer: reader, events: make(chan turnEvent), stop: make(chan struct{})}
}

// run calls start, which sends the message or follows the task. It passes the events that start
// observes to t.events, and closes t.events when start returns. The timeout of o and t.stop end
// start.
func (t *turn) run(ctx context.Context, o *Options, start func(context.Context, *client.Following) error) tea.Msg {
	defer close(t.events)
	if o.Timeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeoutCause(ctx, o.Timeout, failure.New(failure.Timeout, "the task did not end within %s (--timeout)", o.Timeout))
		defer end()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	hand := func(e turnEvent) error {
		select {
		case t.events <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	t.err = start(ctx, &client.Following{
		Client: o.Client, PollInterval: max(o.PollInterval, 100*time.Millisecond),
		Earlier:  func(e *client.Event) error { return hand(turnEvent{earlier: e}) },
		Observe:  func(e *client.Event) error { return hand(turnEvent{event: e}) },
		Resuming: func(cause error) { _ = hand(turnEvent{resuming: cause}) },
	})
	return nil
}

// Messages of a turn to the model.
type (
	turnMsg struct {
		turn *turn
		turnEvent
	}
	turnEndedMsg struct{ turn *turn }
)

// next waits for the next event and returns it, or turnEndedMsg if the turn has ended.
func (t *turn) next() tea.Msg {
	if e, ok := <-t.events; ok {
		return turnMsg{t, e}
	}
	return turnEndedMsg{t}
}
