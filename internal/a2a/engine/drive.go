// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// runTurns runs turns of the task, one after the other, until no message waits.
func (t *task) runTurns(ctx context.Context, r *run) {
	defer t.engine.runReturned(t)
	for {
		next := t.runEnded(ctx, r, t.callBackend(ctx, r))
		if next == nil {
			t.engine.freeTurn(r)
			return
		}
		if r.freed {
			t.engine.turns.start(next.principal, next.turn.size)
		} else {
			next.principal = r.principal
			t.engine.turns.resize(r.principal, r.turn.size, next.turn.size)
		}
		r = next
	}
}

// runInput delivers a message to the run that waits for input. returned is nil if the last
// status had Paused set. Otherwise the waiting run may be about to return, so runInput first
// waits until returned closes, for at most Options.InputGrace.
func (t *task) runInput(ctx context.Context, r *run, returned <-chan struct{}) {
	if returned != nil {
		grace := time.NewTimer(t.engine.options.InputGrace)
		select {
		case <-returned:
		case <-grace.C:
		}
		grace.Stop()
	}
	t.runTurns(ctx, r)
}

func (t *task) callBackend(base context.Context, r *run) error {
	t.engine.options.Observer.TurnStarted()
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	if !t.beginCall(base, r, cancel) {
		return backend.ErrTurnEnded
	}
	if rerun := r.turn.rerun; rerun != nil {
		store.Sleep(ctx, rerun.delay)
		if ctx.Err() != nil {
			return backend.ErrTurnEnded
		}
	}
	call, err := t.prepare(ctx, r)
	if err != nil {
		return err
	}
	if call.Task == nil {
		decide := time.AfterFunc(t.engine.options.DecideAfter, func() { t.decideSilentTurn(base, r) })
		defer decide.Stop()
	}
	return t.engine.options.Backend.Run(ctx, call, func(events []a2a.Event) error {
		return t.emit(base, r, events)
	})
}

// beginCall stores the function that cancels the call of a run. It returns false if the
// run has already been canceled.
func (t *task) beginCall(ctx context.Context, r *run, cancel context.CancelCauseFunc) bool {
	t.lock(ctx)
	defer t.unlock()
	r.cancelCall = cancel
	return !r.ignored
}

// decideSilentTurn creates the task of a turn whose agent has sent nothing, or only a message,
// for Options.DecideAfter, and moves it to working.
func (t *task) decideSilentTurn(ctx context.Context, r *run) {
	t.lock(ctx)
	defer t.unlock()
	if r.ignored || t.state() > a2a.StateSubmitted {
		return
	}
	if r.held != nil {
		t.releaseHeld(ctx, r)
		return
	}
	err := t.ensureCreated(ctx, r)
	if err == nil {
		err = t.append(ctx, append(t.batch[:0], t.statusEvent(a2a.StateWorking, nil)))
	}
	if err != nil {
		r.turn.refuse(err)
		r.cancel(err)
	}
}

// emit processes events of the agent: it appends them to the log, or holds a message whose
// place depends on what follows. It returns backend.ErrTurnEnded if the agent should stop.
func (t *task) emit(ctx context.Context, r *run, events []a2a.Event) error {
	t.lock(ctx)
	defer t.unlock()
	if r.ignored {
		t.engine.options.Observer.Dropped(len(events))
		return backend.ErrTurnEnded
	}
	if len(events) == 0 {
		return nil
	}
	if !r.responded {
		r.responded = true
		t.engine.options.Observer.FirstEvent(ctx, t.engine.options.Now().Sub(r.started))
	}
	t.replaceRun(r)
	events = t.hold(ctx, r, events)
	if len(events) == 0 {
		return nil
	}
	if err := t.appendEmitted(ctx, r, events); err != nil {
		return err
	}
	switch {
	case t.state().Terminal():
		r.ignored = true
		t.ended(r, errOver)
		return backend.ErrTurnEnded
	case t.state().Interrupted() && t.engine.draining.Load():
		r.ignored = true // a server that shuts down does not wait for its clients
		return backend.ErrTurnEnded
	case t.state().Interrupted():
		t.continuePaused(ctx)
	}
	return nil
}

// appendEmitted appends events of the agent to the log, which it creates if there is
// none.
func (t *task) appendEmitted(ctx context.Context, r *run, events []a2a.Event) error {
	created := t.log != nil
	state := t.state()
	batch := t.batch[:0]
	if !created {
		state = a2a.StateSubmitted
		batch = t.firstEvents(r.turn)
	}
	batch = t.normalize(r, state, batch, events)
	if endsTask(batch) {
		t.engine.freeTurn(r)
	}
	if created {
		return t.append(ctx, batch)
	}
	return t.createWith(ctx, r.turn, batch)
}

// endsTask reports whether the last of some events ends the task.
func endsTask(events []a2a.Event) bool {
	n := len(events)
	return n > 0 && events[n-1].Status != nil && events[n-1].Status.Status.State.Terminal()
}

// continuePaused delivers the next waiting message to the run that waits for input.
func (t *task) continuePaused(ctx context.Context) {
	for t.run != nil && !t.run.ignored && t.input == nil && t.state().Interrupted() && len(t.waiting) > 0 {
		wasPaused := t.last.Paused
		if tn := t.beginNextWaiting(ctx); tn != nil {
			_ = t.engine.reserveRun(t, tn, false)
			t.deliverInput(ctx, tn, wasPaused)
		}
	}
}

// beginNextWaiting begins the turn of the next waiting message and returns the turn. If the
// turn cannot begin, it refuses the message and returns nil. The client of an accepted message
// has an answer already. If the turn of such a message cannot begin, the task fails if the
// store is full, and is given up (lose) during an outage.
func (t *task) beginNextWaiting(ctx context.Context) *turn {
	tn := t.nextWaiting()
	err := t.beginWaiting(ctx, tn)
	if err == nil {
		return tn
	}
	tn.refuse(err)
	switch {
	case tn.acceptedAt == 0, t.phase == phaseLost, t.state().Terminal():
	case errors.Is(err, store.ErrFull):
		t.finish(ctx, a2a.StateFailed, t.agentMessage(reasonFull))
	case outage(err):
		t.lose(errStore) // the replica that takes the task over begins the turn
	}
	return nil
}

// beginWaiting begins the turn of a message that waited. For a message whose client waits
// for the answer, it first calls Options.Allow. For an accepted message, it first waits
// until the store answers, at most for Options.OutageRetryFor.
func (t *task) beginWaiting(ctx context.Context, tn *turn) error {
	var err error
	if tn.acceptedAt == 0 {
		err = t.engine.allow(ctx, tn)
	} else {
		err = t.engine.retryOutage(ctx, func() error {
			_, err := t.log.Snapshot(ctx)
			return err
		})
	}
	if err != nil {
		return err
	}
	return t.begin(ctx, tn)
}

// runEnded is called when the call of a run has returned. It removes the run, and returns
// the next run for the same goroutine, nil for none.
func (t *task) runEnded(ctx context.Context, r *run, err error) *run {
	t.lock(ctx)
	defer t.unlock()
	defer r.turn.releaseRequest()
	r.hasReturned()
	last := t.removeRun(ctx, r, err)
	t.observeEnd(ctx, r)
	if !last {
		return nil
	}
	if rerun := t.rerun; rerun != nil {
		t.rerun = nil
		t.move(onRetry)
		t.run = t.newRun(rerun)
		return t.run
	}
	next := t.nextRun(ctx)
	if next == nil {
		t.move(onReturn)
		t.endHold(ctx)
	}
	return next
}

// removeRun removes r, whose call has returned err, from the task. If no other run of the
// task is left, it calls conclude and returns true.
func (t *task) removeRun(ctx context.Context, r *run, err error) (last bool) {
	switch {
	case t.run == r:
		if t.input != nil {
			t.releaseHeld(ctx, r)
		}
		t.run = nil
		r.ignored = true
		if t.input != nil {
			t.runErr = err
			return false
		}
	case t.input == r && errors.Is(err, backend.ErrInputAccepted):
		t.delivered(onAccept)
		if t.run != nil {
			t.continuePaused(ctx)
			return false
		}
		// The agent confirmed that the waiting run received the input, and the waiting run has
		// returned since. The turn of the input ends with the error of the waiting run.
		err = t.runErr
	case t.input == r:
		t.replaceRun(r)
		t.run = nil
		r.ignored = true
	default:
		return false
	}
	t.conclude(ctx, r, err)
	return true
}

func (t *task) observeEnd(ctx context.Context, r *run) {
	state := t.state()
	switch {
	case r.turn.answer != nil:
		state = a2a.StateCompleted
	case t.rerun != nil, t.phase == phaseLost:
		state = a2a.StateFailed
	}
	t.engine.options.Observer.TurnEnded(ctx, state, t.engine.options.Now().Sub(r.started))
}

// nextRun begins the turn of the next waiting message that the task accepts, and returns its
// run; nil if no message is left.
func (t *task) nextRun(ctx context.Context) *run {
	switch {
	case t.engine.retries.Err() != nil: // Drain does not wait for turns any more
		t.refuseUndecided()
		if t.hasAccepted() {
			t.lose(errDrained) // the replica that takes the task over begins the turns of accepted messages
		}
	case t.engine.draining.Load():
		t.refuseUndecided()
	}
	for len(t.waiting) > 0 {
		if tn := t.beginNextWaiting(ctx); tn != nil {
			t.move(onNext)
			t.run = t.newRun(tn)
			return t.run
		}
	}
	return nil
}

func (t *task) newRun(tn *turn) *run {
	return &run{turn: tn, principal: tn.principal, started: t.engine.options.Now()}
}

// startRun starts the goroutine of a run, for which Engine.reserveRun has counted a turn.
// The run belongs to the task: its context has the values of the request, such as the
// trace, and does not end with the request.
func (t *task) startRun(ctx context.Context, tn *turn) {
	t.run = t.newRun(tn)
	go t.runTurns(context.WithoutCancel(ctx), t.run)
}

// deliverInput starts the goroutine that delivers a message to the run that waits for input.
// wasPaused is true if the last status had Paused set.
func (t *task) deliverInput(ctx context.Context, tn *turn, wasPaused bool) {
	t.move(onDeliver)
	t.input = t.newRun(tn)
	t.input.input = true
	var grace <-chan struct{}
	if !wasPaused {
		grace = t.run.whenReturned()
	}
	go t.runInput(context.WithoutCancel(ctx), t.input, grace)
}
