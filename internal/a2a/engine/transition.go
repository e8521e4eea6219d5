// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// transition is the state machine of a task. It returns the state to which an event
// leads, and false for an event that is not allowed in the state from.
//
// An agent may skip states and alternate between working and waiting. No event is
// allowed after a terminal state. A status without a state changes nothing, except
// that it starts a submitted task; neither does submitted after a later state.
func transition(from a2a.State, e *a2a.Event) (to a2a.State, ok bool) {
	switch {
	case from.Terminal(), e.Task != nil:
		return from, false
	case e.Message != nil:
		return from, true
	case e.Artifact != nil:
		return from, from != a2a.StateUnknown
	case e.Status == nil:
		return from, false
	}
	switch to = e.Status.Status.State; {
	case to == a2a.StateUnknown && from == a2a.StateUnknown:
		return from, false
	case to == a2a.StateUnknown && from == a2a.StateSubmitted:
		return a2a.StateWorking, true
	case to == a2a.StateUnknown, to == a2a.StateSubmitted && from != a2a.StateUnknown:
		return from, true
	default:
		return to, true
	}
}

// The methods in this file are the transitions of a task in memory. Each follows an
// append or a call of the backend, and the lock of the task is held.
//
//	applied         events are in the log
//	stopTurns       the task has ended or waits for its client
//	ended           the task has ended
//	lose            another replica may run the task
//	startRun        a turn began, and a run starts
//	deliverInput    a message began a turn for the run that waits
//	replaceRun      a run that delivers an input takes the place of the run that waits
//	runEnded        a call of the backend has returned

// applied follows an append of events. It clears the slice.
func (t *task) applied(ctx context.Context, events []a2a.Event) {
	t.engine.options.Observer.Appended(len(events))
	for i := range events {
		u := events[i].Status
		if u == nil {
			continue
		}
		newMessage := u.Status.Message != nil && u.Status.Message != t.status.Message
		t.status, t.paused = u.Status, u.Paused
		if newMessage {
			t.remember(ctx, u.Status.Message)
		}
		t.startInputTimer(ctx)
		if t.state().Terminal() || t.state().Interrupted() {
			t.taskStopped(ctx)
		}
	}
	clear(events)
}

// taskStopped stops the turns of a task that has ended or waits for its client. If a
// message waits, the task is about to continue, so it keeps the task for callers that
// read it later.
func (t *task) taskStopped(ctx context.Context) {
	if len(t.waiting) > 0 {
		if outcome, err := t.log.Snapshot(ctx); err == nil {
			for _, tn := range t.begun {
				tn.outcome = outcome
			}
		}
	}
	t.stopTurns()
}

func (t *task) stopTurns() {
	for i, tn := range t.begun {
		tn.stop()
		t.begun[i] = nil
	}
	t.begun = t.begun[:0]
}

// ended follows a terminal state: it cancels the runs, except the one that ended the
// task, and refuses the waiting messages.
func (t *task) ended(except *run, why error) {
	t.stopTurns()
	t.stopInputTimer()
	t.cancelRuns(except, why)
	t.refuseWaiting(func(tn *turn) error {
		if tn.request.Restart {
			return nil // runEnded begins its turn
		}
		return errTerminal(tn)
	})
}

// endedElsewhere follows a terminal state that another replica appended.
func (t *task) endedElsewhere() {
	if t.state() == a2a.StateCanceled {
		t.canceled.Store(true)
		t.ended(nil, backend.ErrCanceled)
		return
	}
	t.ended(nil, errOver)
}

// lose gives up a task that another replica may run, or whose log cannot be appended to.
// It cancels the runs and appends nothing, so that the next owner finds the task as it
// is. Clients that wait for the task follow its log.
func (t *task) lose(why error) {
	t.lost = true
	t.stopInputTimer()
	t.cancelRuns(nil, why)
	t.refuseWaiting(func(*turn) error { return errMoving() })
	for _, tn := range t.begun {
		tn.elsewhere = true
	}
	t.stopTurns()
}

func (t *task) cancelRuns(except *run, why error) {
	for _, r := range []*run{t.run, t.input} {
		if r != nil && r != except {
			r.cancel(why)
		}
	}
}

// refuseWaiting refuses the waiting messages for which why returns an error.
func (t *task) refuseWaiting(why func(*turn) error) {
	kept := t.waiting[:0]
	for _, tn := range t.waiting {
		if err := why(tn); err != nil {
			t.engine.releaseWaitingBytes(tn)
			tn.refuse(err)
		} else {
			kept = append(kept, tn)
		}
	}
	clear(t.waiting[len(kept):])
	t.waiting = kept
}

// startRun starts the goroutine of a run, for which Engine.reserveRun has counted a turn.
// The run belongs to the task: its context has the values of the request, such as the
// trace, and does not end with the request.
func (t *task) startRun(ctx context.Context, tn *turn) {
	t.run = t.newRun(tn)
	go t.runTurns(context.WithoutCancel(ctx), t.run)
}

// deliverInput starts the goroutine that delivers a message to the run that waits. said
// is true if the agent's status said that the run waits.
func (t *task) deliverInput(ctx context.Context, tn *turn, said bool) {
	t.input = t.newRun(tn)
	t.input.input = true
	var grace <-chan struct{}
	if !said {
		grace = t.run.whenReturned()
	}
	go t.runInput(context.WithoutCancel(ctx), t.input, grace)
}

// replaceRun makes a run that delivers an input the run of the task, because the agent
// answers the input with events.
func (t *task) replaceRun(r *run) {
	if !r.input {
		return
	}
	if old := t.run; old != nil {
		old.cancel(backend.ErrSuperseded)
	}
	t.run, t.input, r.input = r, nil, false
}
