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
	"github.com/a2a-operator/a2a-operator/internal/a2a/client"
)

// Limits of following a task whose stream ended before the end of the task.
const (
	// minPollDelay and maxPollDelay bound the backoff between polls.
	minPollDelay = 250 * time.Millisecond
	maxPollDelay = 5 * time.Second
	// maxBrokenPolls is the number of polls in a row that may fail because a connection
	// was lost.
	maxBrokenPolls = 3
	// maxUnfinishedPolls is the number of polls in a row that may return an unchanged,
	// unfinished task. It applies only if the agent has reported the end of the task, or has
	// refused a subscription with TaskNotFound.
	maxUnfinishedPolls = 4
	// maxIdleSubscription is how long a resumed subscription stays open without an event. A
	// quarter of timeouts.idle applies if it is shorter.
	maxIdleSubscription = 10 * time.Second
	// maxUnstarted is how long a task may stay submitted after an agent in the sidecar's pod
	// ended its stream early. Half of timeouts.idle applies if it is shorter.
	maxUnstarted = 30 * time.Second
)

// errUnfinished is the cause of a failure if a subscription has reported the end of the
// task, but polls still return an unfinished task.
var errUnfinished = errors.New("the task is unfinished")

// errIdleSubscription is the cause with which the follower closes a subscription without
// events.
var errIdleSubscription = errors.New("the subscription had no event")

// follower follows a task whose stream ended before the end of the task.
type follower struct {
	*turnClient

	// history is the number of messages of the task's history that polls request.
	history int
	// subscribes is true if the follower has to subscribe to the task before the next poll.
	subscribes bool
	// streamWhole is true if the agent ended the stream, and false if the connection was
	// lost. taskUnknown is true if the agent refused the last subscription with
	// TaskNotFound.
	streamWhole, taskUnknown bool
	// brokenPolls and unfinishedPolls count polls in a row: broken polls, and polls that
	// returned an unfinished task. updatesSeen is the value of updates at the last poll.
	brokenPolls, unfinishedPolls, updatesSeen int
	// idleLimit is how long a subscription stays open without an event. waited is the sum
	// of the delays and of the idle subscriptions since the last update.
	idleLimit, waited time.Duration
}

// follow subscribes to the task again and polls it until the task ends, pauses or has had
// no update for timeouts.idle. whole is true if the agent ended the stream. Before 1.0,
// follow does not subscribe after a lost connection, because a subscription may change the
// stored task of an agent that is still running the task.
//
// A resumed subscription may miss events and repeat others. If it reports the end of the
// task, the follower holds that status until a poll has confirmed the output of the task.
// If polls do not confirm the output of a completed task, the turn fails.
//
// A subscription may also never end: a2a-sdk 0.3 subscribes to a queue, and does not close
// the queue if the task ends meanwhile. The follower therefore closes an idle subscription,
// and subscribes again only if a poll returns an unfinished task.
func (c *turnClient) follow(ctx context.Context, whole bool) error {
	endedEarly := c.heldStatus == nil && c.endpoint.Streams()
	f := &follower{
		turnClient: c, streamWhole: whole, subscribes: endedEarly && (whole || c.endpoint.Resubscribes),
		updatesSeen: c.updates, idleLimit: min(maxIdleSubscription, c.agent.client.Limits().Idle/4),
	}
	if endedEarly {
		c.streamIncomplete = true
	}
	if endedEarly || c.heldStatus != nil {
		f.history = maxHistory
	}
	for pause := minPollDelay; ; {
		if f.subscribes {
			if ended, err := f.subscribe(ctx); ended {
				return err
			}
		}
		if ended, err := f.evaluatePoll(ctx, c.poll(ctx, &f.history)); ended {
			return err
		}
		if f.subscribes && f.brokenPolls == 0 {
			continue // the wait for the idle subscription replaces the delay
		}
		if err := stream.Sleep(ctx, pause); err != nil {
			return err
		}
		f.waited += pause
		pause = min(2*pause, maxPollDelay)
	}
}

// subscribe reads a resumed subscription until it ends or is idle. ended is true if the
// turn has ended. If the turn continues, the error is nil: a poll follows, whatever the
// error of the subscription was.
func (f *follower) subscribe(ctx context.Context) (ended bool, err error) {
	subscription, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(f.idleLimit, func() { cancel(errIdleSubscription) })
	defer timer.Stop()
	f.resubscribed = true
	f.onEvent = func() { timer.Reset(f.idleLimit) }
	err = f.outcome(f.client().Subscribe(subscription, &a2a.SubscribeRequest{TaskID: f.ids.task, Tenant: f.turn.Tenant}, "", f.handle))
	f.resubscribed = false
	f.onEvent = nil
	if errors.Is(err, backend.ErrTurnEnded) || ctx.Err() != nil {
		return true, err
	}
	if problem, ok := errors.AsType[*client.Error](err); ok {
		f.taskUnknown = problem.Reason == a2a.ReasonTaskNotFound
	}
	f.subscribes = err != nil && f.heldStatus == nil && errors.Is(context.Cause(subscription), errIdleSubscription)
	if f.subscribes {
		f.waited += f.idleLimit
	}
	return f.stopped(), nil
}

// evaluatePoll decides from the error of a poll, or from the task that it returned, whether
// the turn has ended, and with which error.
func (f *follower) evaluatePoll(ctx context.Context, err error) (ended bool, _ error) {
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	_, isProtocolError := errors.AsType[*client.Error](err)
	switch {
	case ctx.Err() != nil, errors.Is(err, errTaskIncomplete), f.stopped():
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
		// The agent refuses polls, so the output cannot be confirmed. It ended its stream
		// regularly, so the held status is reliable.
		return true, f.emitHeldStatus()
	}
}

// evaluateUnfinished decides whether the turn has ended after a poll that returned an
// unfinished task. The turn ends only if the agent has reported the end of the task, or
// evidently does not run the task.
func (f *follower) evaluateUnfinished() (ended bool, err error) {
	if f.updates != f.updatesSeen {
		f.updatesSeen = f.updates
		f.unfinishedPolls = 0
		f.waited = 0
	}
	f.unfinishedPolls++
	switch {
	case f.isUnstarted():
		return true, backend.Failed("The agent ended its answer early and left its task in the state submitted; the agent's log may have the cause", nil)
	case f.unfinishedPolls < maxUnfinishedPolls:
		return false, nil
	case f.heldStatus != nil && f.streamIncomplete:
		return f.failUnconfirmed(errUnfinished)
	case f.heldStatus != nil:
		return true, f.emitHeldStatus()
	case f.streamWhole && f.taskUnknown:
		return true, backend.Failed("The agent ended its answer, left its task in the state "+f.state.String()+", and no longer runs it", nil)
	default:
		return false, nil
	}
}

// isUnstarted reports whether an agent in the sidecar's pod ended its stream early and has
// not started its task since. Within a pod, a connection does not break by itself: the
// server has ended it. The server of a2a-sdk 0.3 does this if its executor raises an
// exception, and leaves the task and its subscriptions unchanged.
func (f *follower) isUnstarted() bool {
	return f.agent.remote == nil && f.heldStatus == nil && f.streamIncomplete && f.state == a2a.StateSubmitted && !f.output.hasArtifact &&
		f.waited >= min(maxUnstarted, f.agent.client.Limits().Idle/2)
}

// failUnconfirmed fails a turn whose output no poll has confirmed. If the held status is
// failed, canceled or rejected, failUnconfirmed emits it instead, because that status has a
// reason of its own.
func (f *follower) failUnconfirmed(err error) (ended bool, _ error) {
	if state := f.heldStatus.Status.State; state.Terminal() && state != a2a.StateCompleted {
		return true, f.emitHeldStatus()
	}
	// The error is not wrapped: callers would take a wrapped protocol error for the agent's
	// response to the message.
	return true, backend.Interrupted("The agent's answer broke off, and its task could not be read", errors.New(err.Error()))
}

// emitHeldStatus emits and clears the held status.
func (f *follower) emitHeldStatus() error {
	u := f.heldStatus
	f.heldStatus = nil
	f.addStatus(u)
	return f.flush()
}

// cancelTimeout bounds a request that cancels an agent's task, and the wait for the id of a
// task that is to be canceled.
const cancelTimeout = 5 * time.Second

// maxCanceled bounds the memory for the response to such a request, in bytes, which changes nothing.
const maxCanceled = 512 << 10

// stop ends the call to the agent by calling the function stop. If the client canceled
// the task before the id of the agent's task is known, it calls the function only after
// cancelTimeout. Usually the call ends earlier: the first event has the id, and when the
// relay emits the event, it learns that the turn has ended.
func (c *turnClient) stop(cause error, stop context.CancelCauseFunc) {
	if errors.Is(cause, backend.ErrCanceled) && !c.taskNamed.Load() {
		time.AfterFunc(cancelTimeout, func() { stop(cause) })
		return
	}
	stop(cause)
}

// tryEndpoints runs the turn with the current endpoint. An agent that does not support a
// request has not processed the request. In that case, tryEndpoints tries the fallback, or
// reads the card again, before it fails.
func (c *turnClient) tryEndpoints(ctx context.Context) error {
	if c.turn.Input {
		// An earlier run waits for the input, and would receive the same events as this run. The
		// engine ends the earlier run when this run emits its first event.
		if err := c.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
	}
	p, fresh, err := c.agent.endpoint(ctx, c.turn)
	for err == nil {
		c.endpoint = p
		c.ids = c.initialIDs
		c.taskNamed.Store(c.ids.task != "")
		err = c.sendAndFollow(ctx)
		problem, isProtocolError := errors.AsType[*client.Error](err)
		switch {
		case !isProtocolError:
			if isAgentFailure(err) {
				c.agent.forgetEndpoint(p)
			}
			return err
		case !problem.IsUnsupported() || c.responded:
			return p.turnError(problem, c.agent.remote != nil)
		case p.fallback != nil && (c.turn.Task == nil || fresh):
			p = p.fallback
			err = nil
			c.agent.current.Store(p)
		case fresh:
			c.agent.forgetEndpoint(p)
			return p.turnError(problem, c.agent.remote != nil)
		default:
			c.agent.forgetEndpoint(p)
			p, fresh, err = c.agent.endpoint(ctx, c.turn)
		}
	}
	return err
}

// sendAndFollow sends the message and follows the agent's task until it ends or is
// paused.
func (c *turnClient) sendAndFollow(ctx context.Context) error {
	err := c.sendMessage(ctx)
	if err != nil && (c.state == a2a.StateUnknown || !stream.ConnectionLost(err)) {
		return err
	}
	switch {
	case c.stopped():
		return nil
	case c.state != a2a.StateUnknown || c.heldStatus != nil:
		return c.follow(ctx, err == nil)
	case c.output.hasMessage:
		return nil
	default:
		return backend.Failed("The agent's answer names no task", nil)
	}
}

// isAgentFailure reports whether a turn ended because the agent failed. The card must then be
// read again: another agent may have replaced the failed one at the same URL.
func isAgentFailure(err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	return ok && failure.State == a2a.StateFailed
}

// mustCancelTask reports whether the agent still has an unfinished task that the sidecar no
// longer needs. cause is the cause of the end of the turn's context, nil if the turn ended
// by itself. err is the error of the turn.
func (c *turnClient) mustCancelTask(cause, err error) bool {
	switch {
	case err == nil, c.state == a2a.StateUnknown, c.state.Terminal(), c.ids.task == "", errors.Is(cause, backend.ErrSuperseded):
		return false
	case c.state.Interrupted():
		return errors.Is(cause, backend.ErrCanceled)
	default:
		return true
	}
}
