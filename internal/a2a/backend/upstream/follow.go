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

// Limits of following a task whose stream ended before the task did.
const (
	// minPollDelay and maxPollDelay bound the backoff between polls.
	minPollDelay = 250 * time.Millisecond
	maxPollDelay = 5 * time.Second
	// maxBrokenPolls is the number of polls in a row that may fail because a connection
	// was lost.
	maxBrokenPolls = 3
	// maxUnfinishedPolls is the number of polls in a row that may return an unchanged
	// task, though the agent reported its end or does not run it.
	maxUnfinishedPolls = 4
	// maxIdleSubscription and a quarter of timeouts.idle bound the time for which a
	// resumed subscription stays open without an event.
	maxIdleSubscription = 10 * time.Second
	// maxUnstarted and half of timeouts.idle bound the time for which a task may stay
	// submitted after an agent beside the sidecar ended its stream early.
	maxUnstarted = 30 * time.Second
)

// errUnfinished is the cause if polls contradict the end that a subscription reported.
var errUnfinished = errors.New("the task is unfinished")

// errIdleSubscription ends a subscription without an event.
var errIdleSubscription = errors.New("the subscription had no event")

// follower follows a task whose stream ended before the task did.
type follower struct {
	*run

	call *callParams
	// subscribes is true if the follower subscribes to the task before the next poll.
	subscribes bool
	// streamWhole is true if the agent ended the stream, false if its connection was
	// lost. taskUnknown is true if the agent refused the last subscription because it
	// does not know the task.
	streamWhole, taskUnknown bool
	// brokenPolls and unfinishedPolls count polls in a row. updatesSeen is the value of
	// updates at the last poll.
	brokenPolls, unfinishedPolls, updatesSeen int
	// idleLimit bounds a subscription without an event. waited is the sum of the delays
	// and idle subscriptions since the last update.
	idleLimit, waited time.Duration
}

// follow subscribes to the task again and polls it until the task ends, pauses or has had
// no update for timeouts.idle. whole is true if the agent ended the stream. Before 1.0,
// follow does not subscribe after a lost connection, because a subscription may change
// the stored task of an agent that still runs it.
//
// A resumed subscription may miss events and repeat others. The follower holds an end
// that it reports until a poll has confirmed the output of the task; otherwise the turn
// fails. A subscription may also never end: a2a-sdk 0.3 subscribes to a queue that it
// does not close if the task ends meanwhile. The follower closes an idle subscription,
// and subscribes again only if a poll returns an unfinished task.
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
			if ended, err := f.subscribe(ctx); ended {
				return err
			}
		}
		if ended, err := f.evaluatePoll(ctx, r.poll(ctx, f.call)); ended {
			return err
		}
		if f.subscribes && f.brokenPolls == 0 {
			continue // the idle subscription was the delay
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err
		}
		f.waited += pause
		pause = min(2*pause, maxPollDelay)
	}
}

// subscribe reads a resumed subscription until it ends or is idle, and reports whether
// that ended the turn. Other errors do not matter, because a poll follows.
func (f *follower) subscribe(ctx context.Context) (ended bool, err error) {
	subscription, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(f.idleLimit, func() { cancel(errIdleSubscription) })
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

// evaluatePoll decides from the result of a poll whether the turn has ended, and how.
func (f *follower) evaluatePoll(ctx context.Context, err error) (ended bool, _ error) {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	_, isProtocolError := errors.AsType[*protocolError](err)
	switch {
	case ctx.Err() != nil, f.isTaskIncomplete(err), f.stopped():
		return err != nil || f.stopped(), err
	case isFailure && failure.Interrupted && f.brokenPolls < maxBrokenPolls:
		f.brokenPolls++
		return false, nil
	case err == nil:
		f.brokenPolls = 0
		return f.evaluateUnfinished()
	case f.heldStatus == nil, !isFailure && !isProtocolError:
		return true, err
	case f.streamIncomplete, isFailure && failure.Interrupted:
		return f.failUnconfirmed(err)
	default:
		// The agent refuses polls. Its stream was whole, so the held status counts.
		return true, f.emitHeldStatus()
	}
}

// evaluateUnfinished decides whether the turn has ended after a poll that returned an
// unfinished task. The turn continues unless the agent has reported the end of the task
// or evidently does not run it.
func (f *follower) evaluateUnfinished() (ended bool, err error) {
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

// isUnstarted reports whether an agent beside the sidecar ended its stream early and has
// not started its task since. Within a pod, only the server ends a connection: a2a-sdk
// 0.3 does so if its executor raises an exception, and leaves the task and its
// subscriptions unchanged.
func (f *follower) isUnstarted() bool {
	return f.backend.remote == nil && f.heldStatus == nil && f.streamIncomplete && f.state == a2a.StateSubmitted && !f.hasArtifact &&
		f.waited >= min(maxUnstarted, f.backend.client.Limits().Idle/2)
}

// failUnconfirmed ends a turn whose output no poll has confirmed. A held status other
// than completed is emitted, because it has its own reason.
func (f *follower) failUnconfirmed(err error) (ended bool, _ error) {
	if state := f.heldStatus.Status.State; state.Terminal() && state != a2a.StateCompleted {
		return true, f.emitHeldStatus()
	}
	// Wrapping err would make a protocol error pass for the agent's response to the
	// message.
	return true, backend.Interrupted("The agent's answer broke off, and its task could not be read", errors.New(err.Error()))
}

// emitHeldStatus emits the status that was held.
func (f *follower) emitHeldStatus() error {
	u := f.heldStatus
	f.heldStatus = nil
	f.addStatus(u)
	return f.flush()
}
