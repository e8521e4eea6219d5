// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// inputTimedOut is the metadata of a task that failed because its client did not answer.
const inputTimedOut = `{"a2a.inputTimeout":true}`

// The methods in this file append events to the log of a task and then apply them to the
// task in memory. Their callers hold the lock of the task. The effects in memory are:
//
//	applied         events are in the log
//	stopTurns       the task has ended or waits for its client
//	ended           the task has ended
//	lose            another replica may run the task

// append appends events of a run. The caller has checked each of them with transition.
// The store retries the append for Options.OutageRetryFor; meanwhile no events of the
// agent are read (back-pressure). append returns backend.ErrTurnEnded if the task has
// ended or was lost.
func (t *task) append(ctx context.Context, events []a2a.Event) error {
	return t.write(ctx, events, store.Keep)
}

func (t *task) write(ctx context.Context, events []a2a.Event, hold store.HoldChange) error {
	if len(events) == 0 {
		return nil
	}
	t.batch = events
	for {
		a := store.Append{After: t.seq, Events: events, Hold: hold}
		if hold == store.Keep {
			a.RetryFor = t.engine.options.OutageRetryFor
		}
		seq, err := t.engine.coordinator.Append(ctx, t.log, a)
		switch {
		case err == nil:
			t.seq = seq
			t.applied(ctx, events)
			return nil
		case errors.Is(err, store.ErrConflict):
			if err := t.catchUp(ctx, hold); err != nil {
				return err
			}
		case errors.Is(err, store.ErrHeld):
			t.lose(errLost)
			return backend.ErrTurnEnded
		case hold == store.Keep && (errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrRolledBack)):
			t.engine.options.Log.ErrorContext(ctx, "task not stored", "task", t.key.TaskID, "error", err)
			t.lose(errStore)
			return backend.ErrTurnEnded
		default:
			return fmt.Errorf("append to task: %w", err)
		}
	}
}

// catchUp reads the events that another replica appended, after store.ErrConflict or for a review. It returns
// backend.ErrTurnEnded if the task has ended, or if a run has to give the task up. A run
// gives the task up if the store has an outage. It also does so if the log has a message that
// the run did not receive, because it must not complete the task without this message.
func (t *task) catchUp(ctx context.Context, hold store.HoldChange) error {
	turns := t.turns
	_, err := t.read(ctx)
	switch {
	case err != nil && hold != store.AnyHolder && outage(err):
		t.lose(errStore)
		return backend.ErrTurnEnded
	case err != nil:
		return err
	case t.state().Terminal():
		t.endedElsewhere()
		return backend.ErrTurnEnded
	case t.turns != turns && hold != store.AnyHolder:
		t.lose(errLost)
		return backend.ErrTurnEnded
	}
	return nil
}

// outage reports whether an error means that the store does not answer or cannot serve. It
// returns false for nil, for errors that are outcomes of a call, such as store.ErrConflict,
// and for an *a2a.Error with a reason other than UNAVAILABLE. It returns true for all other
// errors.
func outage(err error) bool {
	if err == nil {
		return false
	}
	for _, outcome := range []error{
		store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrTrimmed, store.ErrFull, store.ErrHeld, backend.ErrTurnEnded,
	} {
		if errors.Is(err, outcome) {
			return false
		}
	}
	problem, ok := errors.AsType[*a2a.Error](err)
	return !ok || problem.Reason == a2a.ReasonUnavailable
}

// appendEnd appends a terminal status. If the store does not accept the status, the task
// still ends in memory, so that its clients do not wait.
func (t *task) appendEnd(ctx context.Context, last a2a.Event) {
	err := t.append(ctx, append(t.batch[:0], last))
	if t.phase == phaseLost {
		return
	}
	if err != nil && !errors.Is(err, backend.ErrTurnEnded) {
		t.engine.options.Log.ErrorContext(ctx, "end of task not stored", "task", t.key.TaskID, "error", err)
	}
	t.ended(nil, errOver)
}

// finish appends a terminal state.
func (t *task) finish(ctx context.Context, state a2a.State, m *a2a.Message) {
	t.appendEnd(ctx, t.statusEvent(state, m))
}

// applied updates the task in memory after its log has stored events. It clears the
// slice.
func (t *task) applied(ctx context.Context, events []a2a.Event) {
	t.engine.options.Observer.Appended(len(events))
	for i := range events {
		u := events[i].Status
		if u == nil {
			continue
		}
		m := u.Status.Message
		isNew := m != nil && m != t.last.Status.Message && m != t.said
		t.last.Status = u.Status
		t.last.Paused = u.Paused
		if isNew {
			t.said = m
			t.remember(ctx, m)
		}
		if t.state().Terminal() {
			t.move(onEnd)
		}
		t.settle()
		t.startInputTimer(ctx)
		if t.state().Terminal() || t.state().Interrupted() {
			t.taskStopped(ctx)
		}
	}
	clear(events)
}

// taskStopped stops the turns of a task that has ended or waits for its client. If a
// message waits, the task is about to continue. taskStopped then stores the current task
// as the outcome of the turns, for clients that read it later.
func (t *task) taskStopped(ctx context.Context) {
	if len(t.waiting) > 0 {
		if outcome, err := t.snapshot(ctx); err == nil {
			for _, tn := range t.begun {
				tn.last = outcome
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

// ended is called after a terminal state. It stops the turns, cancels the runs except the
// run that ended the task, and refuses the waiting messages that cannot restart the task.
func (t *task) ended(except *run, why error) {
	t.stopTurns()
	t.stopInputTimer()
	t.cancelRuns(except, why)
	t.refuseWaiting(func(tn *turn) error {
		if tn.request.Restart {
			return nil // the message waits until runEnded begins its turn
		}
		return errTerminal(tn)
	})
}

// endedElsewhere is called after another replica has appended a terminal state.
func (t *task) endedElsewhere() {
	t.move(onEnd)
	if t.state() == a2a.StateCanceled {
		t.canceled.Store(true)
		t.ended(nil, backend.ErrCanceled)
		return
	}
	t.ended(nil, errOver)
}

// lose gives up a task that another replica may run, or whose log cannot be appended to.
// It cancels the runs and appends nothing, so that the replica that takes the task over
// finds it unchanged. Clients that wait for the task read its outcome from the log.
func (t *task) lose(why error) {
	t.move(onLose)
	t.stopInputTimer()
	t.cancelRuns(nil, why)
	for _, tn := range t.waiting {
		tn.elsewhere = tn.acceptedAt != 0
	}
	t.refuseWaiting(func(*turn) error { return errMoving() })
	for _, tn := range t.begun {
		tn.elsewhere = true
	}
	t.stopTurns()
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

func (t *task) cancelRuns(except *run, why error) {
	for _, r := range []*run{t.run, t.input} {
		if r != nil && r != except {
			r.cancel(why)
		}
	}
}

// startInputTimer is called after every status. It stops the timer, and starts it again
// if a run waits for input. The timer limits this wait. A task without a run may wait for
// as long as the store keeps the task.
func (t *task) startInputTimer(ctx context.Context) {
	t.stopInputTimer()
	if t.run == nil || t.run.ignored || !t.last.Paused || t.state() != a2a.StateInputRequired {
		return
	}
	timeout := t.engine.options.InputTimeout()
	if request, ok := t.inputRequest(); ok && request.Timeout > 0 {
		timeout = min(timeout, request.Timeout)
	}
	question := t.question
	ctx = context.WithoutCancel(ctx)
	t.inputTimer = time.AfterFunc(timeout, func() { t.failInputTimeout(ctx, question, timeout) })
}

func (t *task) stopInputTimer() {
	t.question++
	if t.inputTimer != nil {
		t.inputTimer.Stop()
		t.inputTimer = nil
	}
}

// failInputTimeout fails a task whose client did not answer in time. It does nothing if the
// wait with the number question is over.
func (t *task) failInputTimeout(ctx context.Context, question uint64, timeout time.Duration) {
	t.lock(ctx)
	defer t.unlock()
	if t.question != question {
		return
	}
	failed := t.statusEvent(a2a.StateFailed, t.agentMessage(reasonInput+timeout.String()))
	failed.Status.Metadata = a2a.Object(inputTimedOut)
	t.appendEnd(ctx, failed)
}
