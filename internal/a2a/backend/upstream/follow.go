// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
)

// Limits on following a task whose events ended before the task did.
const (
	// pollFirst and pollMost bound the backoff between polls.
	pollFirst = 250 * time.Millisecond
	pollMost  = 5 * time.Second
	// maxBrokenPolls is how many polls in a row may fail because a connection
	// broke, before the turn does.
	maxBrokenPolls = 3
	// maxUnfinishedPolls is how many polls in a row may find a task unfinished, and
	// as it was, of which the agent said otherwise that it has ended or that it does
	// not run.
	maxUnfinishedPolls = 4
	// maxQuiet and a quarter of timeouts.idle bound how long a resumed subscription
	// stays open without an event.
	maxQuiet = 10 * time.Second
	// maxUnstarted and half of timeouts.idle bound how long a task may stay submitted
	// once an agent beside the sidecar broke off its answer.
	maxUnstarted = 30 * time.Second
)

// errUnfinished says that polls contradict the end of a subscription.
var errUnfinished = errors.New("the task is unfinished")

// errQuiet ends a subscription that brought no event.
var errQuiet = errors.New("the subscription brought no event")

// follower stays with a task whose events ended before the task did.
type follower struct {
	*run

	call *call
	// subscribes is true while the task is to be subscribed to before it is polled.
	subscribes bool
	// whole is true when the stream ended by itself, false when its connection
	// broke. unknown is true once the agent refused a subscription because it does
	// not know the task.
	whole, unknown bool
	// broken and unfinished count polls in a row; seen is news as of the last.
	broken, unfinished, seen int
	// quiet bounds a subscription without an event. waited is the sum of the pauses
	// and quiet subscriptions since the last news.
	quiet, waited time.Duration
}

// follow subscribes to the task again and polls it until it has ended, waits, or
// was silent for timeouts.idle. Whole says that the stream ended by itself. Before
// 1.0, follow only polls a task whose stream was cut, because a subscription may
// change the stored task of an agent that still runs it.
//
// A resumed subscription may miss events and repeat others, so an end that it
// reports is held back until a poll has confirmed the output of the task, or the
// turn fails. It may also never end: a2a-sdk 0.3 subscribes to a queue that it
// does not close when the task ends meanwhile. So one that is quiet is left, and
// opened again only if a poll finds the task unfinished.
func (r *run) follow(ctx context.Context, whole bool) error {
	endedEarly := r.ending == nil && r.peer.streaming.Load()
	f := &follower{
		run: r, whole: whole, subscribes: endedEarly && (whole || r.peer.resubscribes), call: &call{taskID: r.link.task, tenant: r.peer.tenantOf(r.turn)},
		seen: r.news, quiet: min(maxQuiet, r.backend.client.Limits().Idle/4),
	}
	if endedEarly {
		r.brokeOff = true
	}
	if endedEarly || r.ending != nil {
		f.call.history = maxMissed
	}
	for pause := pollFirst; ; {
		if f.subscribes {
			if over, err := f.subscribe(ctx); over {
				return err
			}
		}
		if over, err := f.judge(ctx, r.poll(ctx, f.call)); over {
			return err
		}
		if f.subscribes && f.broken == 0 {
			continue // the quiet subscription was the pause
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err //nolint:wrapcheck // it is the cause of the end
		}
		f.waited += pause
		pause = min(2*pause, pollMost)
	}
}

// subscribe reads a resumed subscription to its end, or until it is quiet, and
// reports whether the turn is over by that. Other failures than that of the turn
// do not matter: the task is polled.
func (f *follower) subscribe(ctx context.Context) (over bool, err error) {
	subscription, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	timer := time.AfterFunc(f.quiet, func() { leave(errQuiet) })
	defer timer.Stop()
	f.resumed, f.signal = true, func() { timer.Reset(f.quiet) }
	err = f.run.call(subscription, opSubscribe, f.call)
	f.resumed, f.signal = false, nil
	if errors.Is(err, backend.ErrEnded) || ctx.Err() != nil {
		return true, err
	}
	if problem, ok := errors.AsType[*fault](err); ok {
		f.unknown = problem.reason == a2a.ReasonTaskNotFound
	}
	f.subscribes = err != nil && f.ending == nil && errors.Is(context.Cause(subscription), errQuiet)
	if f.subscribes {
		f.waited += f.quiet
	}
	return f.settled(), nil
}

// judge decides from the result of a poll whether the turn is over, and how.
func (f *follower) judge(ctx context.Context, err error) (over bool, _ error) {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	_, isFault := errors.AsType[*fault](err)
	switch {
	case ctx.Err() != nil, f.doubts(err), f.settled():
		return err != nil || f.settled(), err
	case isFailure && failure.Interrupted && f.broken < maxBrokenPolls:
		f.broken++
		return false, nil
	case err == nil:
		f.broken = 0
		return f.lives()
	case f.ending == nil, !isFailure && !isFault:
		return true, err
	case f.brokeOff, isFailure && failure.Interrupted:
		return f.unconfirmed(err)
	default:
		// An agent that refuses polls is believed, as its stream was whole.
		return true, f.believe()
	}
}

// lives judges a poll that found the task unfinished. The turn goes on, unless the
// agent said that the task has ended, or shows that it does not run it.
func (f *follower) lives() (over bool, err error) {
	if f.news != f.seen {
		f.seen, f.unfinished, f.waited = f.news, 0, 0
	}
	f.unfinished++
	switch {
	case f.unstarted():
		return true, backend.Failed("The agent broke off its answer and left its task submitted; the agent's log may say why", nil)
	case f.unfinished < maxUnfinishedPolls:
		return false, nil
	case f.ending != nil && f.brokeOff:
		return f.unconfirmed(errUnfinished)
	case f.ending != nil:
		return true, f.believe()
	case f.whole && f.unknown:
		return true, backend.Failed("The agent ended its answer and left its task "+f.state.String()+", which it does not run any more", nil)
	default:
		return false, nil
	}
}

// unstarted reports whether an agent beside the sidecar broke off its answer and
// has not started its task since. A connection within a pod breaks only if the
// server closes it: a2a-sdk 0.3 does so when its executor raises an exception, and
// leaves the task and its subscriptions as they are.
func (f *follower) unstarted() bool {
	return f.backend.elsewhere == nil && f.ending == nil && f.brokeOff && f.state == a2a.StateSubmitted && !f.produced &&
		f.waited >= min(maxUnstarted, f.backend.client.Limits().Idle/2)
}

// unconfirmed ends a turn whose output could not be confirmed by a poll. An end
// that is no success is passed on, because it has its own reason.
func (f *follower) unconfirmed(err error) (over bool, _ error) {
	if state := f.ending.Status.State; state.Terminal() && state != a2a.StateCompleted {
		return true, f.believe()
	}
	// The cause is kept as text only, for a fault would pass for the agent's answer to
	// the message.
	return true, backend.Interrupted("The agent's answer broke off, and its task could not be asked for the output", errors.New(err.Error()))
}

// believe passes on the end that was held back.
func (f *follower) believe() error {
	u := f.ending
	f.ending = nil
	f.status(u)
	return f.send()
}
