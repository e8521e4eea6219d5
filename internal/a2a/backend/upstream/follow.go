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
	minPollDelay = 250 * time.Millisecond
	maxPollDelay = 5 * time.Second
	// maxBrokenPolls is how many polls in a row may fail because a connection
	// broke, before the turn does.
	maxBrokenPolls = 3
	// maxUnfinishedPolls is how many polls in a row may find a task unfinished, and
	// as it was, of which the agent said otherwise that it has ended or that it does
	// not run.
	maxUnfinishedPolls = 4
	// maxQuiet and a quarter of timeouts.idle bound how long a resumed subscription
	// stays open without an event.
	maxIdleSubscription = 10 * time.Second
	// maxUnstarted and half of timeouts.idle bound how long a task may stay submitted
	// once an agent beside the sidecar broke off its answer.
	maxUnstarted = 30 * time.Second
)

// errUnfinished says that polls contradict the end of a subscription.
var errUnfinished = errors.New("the task is unfinished")

// errQuiet ends a subscription that brought no event.
var errIdleSubscription = errors.New("the subscription brought no event")

// follower stays with a task whose events ended before the task did.
type follower struct {
	*run

	call *callParams
	// subscribes is true while the task is to be subscribed to before it is polled.
	subscribes bool
	// whole is true when the stream ended by itself, false when its connection
	// broke. unknown is true once the agent refused a subscription because it does
	// not know the task.
	streamWhole, taskUnknown bool
	// broken and unfinished count polls in a row; seen is news as of the last.
	brokenPolls, unfinishedPolls, updatesSeen int
	// quiet bounds a subscription without an event. waited is the sum of the pauses
	// and quiet subscriptions since the last news.
	idleLimit, waited time.Duration
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
	endedEarly := r.heldStatus == nil && r.endpoint.streaming.Load()
	f := &follower{
		run: r, streamWhole: whole, subscribes: endedEarly && (whole || r.endpoint.resubscribes), call: &callParams{taskID: r.ids.task, tenant: r.endpoint.tenantOf(r.turn)},
		updatesSeen: r.updates, idleLimit: min(maxIdleSubscription, r.backend.client.Limits().Idle/4),
	}
	if endedEarly {
		r.streamIncomplete = true
	}
	if endedEarly || r.heldStatus != nil {
		f.call.history = maxHistory
	}
	for pause := minPollDelay; ; {
		if f.subscribes {
			if over, err := f.subscribe(ctx); over {
				return err
			}
		}
		if over, err := f.evaluatePoll(ctx, r.poll(ctx, f.call)); over {
			return err
		}
		if f.subscribes && f.brokenPolls == 0 {
			continue // the quiet subscription was the pause
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err
		}
		f.waited += pause
		pause = min(2*pause, maxPollDelay)
	}
}

// subscribe reads a resumed subscription to its end, or until it is quiet, and
// reports whether the turn is over by that. Other failures than that of the turn
// do not matter: the task is polled.
func (f *follower) subscribe(ctx context.Context) (over bool, err error) {
	subscription, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	timer := time.AfterFunc(f.idleLimit, func() { leave(errIdleSubscription) })
	defer timer.Stop()
	f.resubscribed, f.onEvent = true, func() { timer.Reset(f.idleLimit) }
	err = f.run.call(subscription, opSubscribe, f.call)
	f.resubscribed, f.onEvent = false, nil
	if errors.Is(err, backend.ErrTurnEnded) || ctx.Err() != nil {
		return true, err
	}
	if problem, ok := errors.AsType[*protocolError](err); ok {
		f.taskUnknown = problem.reason == a2a.ReasonTaskNotFound
	}
	f.subscribes = err != nil && f.heldStatus == nil && errors.Is(context.Cause(subscription), errIdleSubscription)
	if f.subscribes {
		f.waited += f.idleLimit
	}
	return f.stopped(), nil
}

// judge decides from the result of a poll whether the turn is over, and how.
func (f *follower) evaluatePoll(ctx context.Context, err error) (over bool, _ error) {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	_, isFault := errors.AsType[*protocolError](err)
	switch {
	case ctx.Err() != nil, f.isTaskIncomplete(err), f.stopped():
		return err != nil || f.stopped(), err
	case isFailure && failure.Interrupted && f.brokenPolls < maxBrokenPolls:
		f.brokenPolls++
		return false, nil
	case err == nil:
		f.brokenPolls = 0
		return f.evaluateUnfinished()
	case f.heldStatus == nil, !isFailure && !isFault:
		return true, err
	case f.streamIncomplete, isFailure && failure.Interrupted:
		return f.failUnconfirmed(err)
	default:
		// An agent that refuses polls is believed, as its stream was whole.
		return true, f.emitHeldStatus()
	}
}

// lives judges a poll that found the task unfinished. The turn goes on, unless the
// agent said that the task has ended, or shows that it does not run it.
func (f *follower) evaluateUnfinished() (over bool, err error) {
	if f.updates != f.updatesSeen {
		f.updatesSeen, f.unfinishedPolls, f.waited = f.updates, 0, 0
	}
	f.unfinishedPolls++
	switch {
	case f.isUnstarted():
		return true, backend.Failed("The agent broke off its answer and left its task submitted; the agent's log may say why", nil)
	case f.unfinishedPolls < maxUnfinishedPolls:
		return false, nil
	case f.heldStatus != nil && f.streamIncomplete:
		return f.failUnconfirmed(errUnfinished)
	case f.heldStatus != nil:
		return true, f.emitHeldStatus()
	case f.streamWhole && f.taskUnknown:
		return true, backend.Failed("The agent ended its answer and left its task "+f.state.String()+", which it does not run any more", nil)
	default:
		return false, nil
	}
}

// unstarted reports whether an agent beside the sidecar broke off its answer and
// has not started its task since. A connection within a pod breaks only if the
// server closes it: a2a-sdk 0.3 does so when its executor raises an exception, and
// leaves the task and its subscriptions as they are.
func (f *follower) isUnstarted() bool {
	return f.backend.remote == nil && f.heldStatus == nil && f.streamIncomplete && f.state == a2a.StateSubmitted && !f.hasArtifact &&
		f.waited >= min(maxUnstarted, f.backend.client.Limits().Idle/2)
}

// unconfirmed ends a turn whose output could not be confirmed by a poll. An end
// that is no success is passed on, because it has its own reason.
func (f *follower) failUnconfirmed(err error) (over bool, _ error) {
	if state := f.heldStatus.Status.State; state.Terminal() && state != a2a.StateCompleted {
		return true, f.emitHeldStatus()
	}
	// The cause is kept as text only, for a fault would pass for the agent's answer to
	// the message.
	return true, backend.Interrupted("The agent's answer broke off, and its task could not be asked for the output", errors.New(err.Error()))
}

// believe passes on the end that was held back.
func (f *follower) emitHeldStatus() error {
	u := f.heldStatus
	f.heldStatus = nil
	f.addStatus(u)
	return f.flush()
}
