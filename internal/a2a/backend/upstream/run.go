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

// cancelTimeout bounds a request that cancels an agent's task, and the wait for the id of a
// task that is to be canceled.
const cancelTimeout = 5 * time.Second

// run runs one turn.
type run struct{ *turnClient }

func newRun(a *agent, t *backend.Turn, emit backend.Emit) *run {
	return &run{&turnClient{relay: newRelay(t, emit, a.contextNames), agent: a}}
}

// stop ends the call to the agent. If the client canceled the task before its id is known,
// stop waits for the first event, which has the id, at most for cancelTimeout.
func (r *run) stop(cause error, stop context.CancelCauseFunc) {
	if errors.Is(cause, backend.ErrCanceled) && !r.taskNamed.Load() {
		time.AfterFunc(cancelTimeout, func() { stop(cause) })
		return
	}
	stop(cause)
}

// tryEndpoints runs the turn with the current endpoint. If the agent does not support the
// request, it has not processed it, so the run tries the fallback, or reads the card again,
// before it fails.
func (r *run) tryEndpoints(ctx context.Context) error {
	if r.turn.Input {
		// This event ends the waiting run, because both runs would receive the same events.
		if err := r.emit([]a2a.Event{{Status: &a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking}}}}); err != nil {
			return err
		}
	}
	p, fresh, err := r.agent.endpoint(ctx, r.turn)
	for err == nil {
		r.endpoint, r.ids = p, r.initialIDs
		r.taskNamed.Store(r.ids.task != "")
		err = r.sendAndFollow(ctx)
		problem, isProtocolError := errors.AsType[*protocolError](err)
		switch {
		case !isProtocolError:
			if isAgentFailure(err) {
				r.agent.forgetEndpoint(p)
			}
			return err
		case !problem.isUnsupported() || r.responded:
			return p.turnError(problem, r.agent.remote != nil)
		case p.fallback != nil && (r.turn.Task == nil || fresh):
			p, err = p.fallback, nil
			r.agent.current.Store(p)
		case fresh:
			r.agent.forgetEndpoint(p)
			return p.turnError(problem, r.agent.remote != nil)
		default:
			r.agent.forgetEndpoint(p)
			p, fresh, err = r.agent.endpoint(ctx, r.turn)
		}
	}
	return err
}

// sendAndFollow sends the message and follows the agent's task until it ends or is
// paused.
func (r *run) sendAndFollow(ctx context.Context) error {
	err := r.sendMessage(ctx)
	problem, isProtocolError := errors.AsType[*protocolError](err)
	if isProtocolError && !r.responded && r.endpoint.streaming.Load() &&
		(problem.reason == a2a.ReasonMethodNotFound || problem.reason == a2a.ReasonUnsupportedOperation) {
		// The agent does not support streaming, although its card declares it.
		r.endpoint.streaming.Store(false)
		if err = r.sendMessage(ctx); err != nil && !r.responded {
			r.endpoint.streaming.Store(true)
		}
	}
	if err != nil && (r.state == a2a.StateUnknown || !stream.ConnectionLost(err)) {
		return err
	}
	switch {
	case r.stopped():
		return nil
	case r.state != a2a.StateUnknown || r.heldStatus != nil:
		return r.follow(ctx, err == nil)
	case r.output.hasMessage:
		return nil
	default:
		return backend.Failed("The agent's answer names no task", nil)
	}
}

// isAgentFailure reports whether a turn ended because the agent failed. Another agent may
// then have replaced it, at the same URL.
func isAgentFailure(err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	return ok && failure.State == a2a.StateFailed
}

// mustCancelTask reports whether the agent still has an unfinished task that the sidecar no
// longer needs. cause is the cause of the end of the turn's context, nil if the turn ended
// by itself.
func (r *run) mustCancelTask(cause, err error) bool {
	switch {
	case err == nil, r.state == a2a.StateUnknown, r.state.Terminal(), r.ids.task == "", errors.Is(cause, backend.ErrSuperseded):
		return false
	case r.state.Interrupted():
		return errors.Is(cause, backend.ErrCanceled)
	default:
		return true
	}
}
