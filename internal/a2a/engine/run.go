// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// run is one call of the backend.
type run struct {
	turn *turn
	// principal is the accounting principal that the turn queue charges for the run.
	principal a2a.AccountingPrincipal
	started   time.Time
	// cancelCall cancels the context of the call; nil until the call begins.
	cancelCall context.CancelCauseFunc
	// freed is true once the turn queue counts the turn as ended. Only the goroutine of
	// the run uses it.
	freed bool
	// done closes when the call has returned; nil until whenReturned needs it.
	done chan struct{}
	// ignored is true once the engine ignores the events of the agent. returned is true
	// once the call has returned.
	ignored, returned bool
	// responded is true once the agent has sent an event.
	responded bool
	// input is true while this run delivers the client's input to the run of the task that
	// waits for it. It becomes false if this run replaces the waiting run (replaceRun, asInput).
	input bool
	// held is the newest message that the agent sent without a status, until its place is decided
	// (see hold); otherwise nil.
	held *a2a.Message
	// lastMessage is the newest message that the agent sent without a status, and nil after a
	// status with a message. It becomes the message of a status without one that ends or pauses
	// the task.
	lastMessage *a2a.Message
	// chunked maps the ids of messages that the agent sends in chunks to the ids of their artifacts.
	chunked map[string]string
	// artifact is the id of the turn's artifact, "" until artifactID is called.
	// wroteArtifact is true if the agent wrote to it, and hasArtifact if it wrote to any.
	artifact                   string
	wroteArtifact, hasArtifact bool
}

// startRun starts the goroutine of a run, for which Engine.reserveRun has counted a turn.
// The run belongs to the task: its context has the values of the request, such as the
// trace, and does not end with the request.
func (t *task) startRun(ctx context.Context, tn *turn) {
	t.run = t.newRun(tn)
	go t.runTurns(context.WithoutCancel(ctx), t.run)
}

func (t *task) newRun(tn *turn) *run {
	return &run{turn: tn, principal: tn.principal, started: t.engine.options.Now()}
}

// runTurns runs turns of the task, one after the other, until no message waits.
func (t *task) runTurns(ctx context.Context, r *run) {
	defer t.engine.runReturned(t)
	for {
		err := t.callBackend(ctx, r)
		next := t.runEnded(ctx, r, err)
		if next == nil {
			t.engine.freeTurn(r)
			return
		}
		if r.freed {
			t.engine.turns.start(next.principal, next.turn.queued())
		} else {
			next.principal = r.principal
			t.engine.turns.resize(r.principal, r.turn.queued(), next.turn.queued())
		}
		r = next
	}
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
	defer call.Counted() // in case the backend has not counted the request
	emit := func(events []a2a.Event) error { return t.emit(base, r, events) }
	if call.Task == nil {
		decide := time.AfterFunc(t.engine.options.DecideAfter, func() { t.decideSilentTurn(base, r) })
		defer decide.Stop()
	}
	return t.runBackend(ctx, call, emit)
}

// runBackend calls the backend. A panic ends the turn and not the process, because others choose the texts that a backend reads.
func (t *task) runBackend(ctx context.Context, call *backend.Turn, emit backend.Emit) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			t.engine.options.Log.ErrorContext(ctx, "turn panicked", "task", t.key.TaskID, "reason", reason, "stack", string(debug.Stack()))
			err = backend.Failed("The sidecar cannot handle what the agent sent", nil)
		}
	}()
	return t.engine.options.Backend.Run(ctx, call, emit)
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

// beginCall stores the function that cancels the call of a run. It returns false if the
// run has already been canceled.
func (t *task) beginCall(ctx context.Context, r *run, cancel context.CancelCauseFunc) bool {
	t.lock(ctx)
	defer t.unlock()
	r.cancelCall = cancel
	return !r.ignored
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

// whenReturned returns a channel that closes when the call has returned. The lock of the
// task is held.
func (r *run) whenReturned() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
		if r.returned {
			close(r.done)
		}
	}
	return r.done
}

// cancel makes the engine ignore the run and cancels the context of its call, with a
// cause. The lock of the task is held.
func (r *run) cancel(why error) {
	r.ignored = true
	if r.cancelCall != nil {
		r.cancelCall(why)
	}
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

// hasReturned records that the call has returned. The lock of the task is held.
func (r *run) hasReturned() {
	r.returned = true
	if r.done != nil {
		close(r.done)
	}
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

// conclude is called when the last run of a task has returned err. If the task does not
// exist yet, conclude creates it. If the task is neither terminal nor interrupted, conclude
// appends a terminal state, or prepares the re-run of the turn (task.rerun). It does nothing
// if the agent answers without a task, if the task is lost, or if the message was refused
// before the task was created.
func (t *task) conclude(ctx context.Context, r *run, err error) {
	if t.phase == phaseLost || t.log == nil && r.turn.isRefused() {
		return
	}
	if r.held != nil && t.log == nil && err == nil {
		t.answerWithoutTask(ctx, r, r.held)
		return
	}
	t.releaseHeld(ctx, r)
	if t.phase == phaseLost {
		return
	}
	if createErr := t.ensureCreated(ctx, r); createErr != nil {
		r.turn.refuse(createErr)
		return
	}
	switch {
	case t.state().Terminal():
	case t.state().Interrupted():
		t.appendNotPaused(ctx)
	case err == nil:
		t.engine.freeTurn(r)
		t.finish(ctx, a2a.StateCompleted, r.lastMessage)
	case t.retryAfterCrash(ctx, err):
		return
	default:
		state, reason := t.failure(ctx, err)
		t.engine.freeTurn(r)
		t.finish(ctx, state, t.failureMessage(ctx, reason))
	}
	t.rememberArtifact(ctx, r)
}

// appendNotPaused repeats the interrupted status of a task without Paused, because the
// run that waited has returned. The input timer stops even if the append fails.
func (t *task) appendNotPaused(ctx context.Context) {
	if !t.last.Paused {
		return
	}
	t.stopInputTimer()
	if err := t.append(ctx, append(t.batch[:0], t.statusEvent(t.state(), t.last.Status.Message))); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "status not stored", "task", t.key.TaskID, "error", err)
	}
}

// failure returns the state and the status message for the error of a run.
func (t *task) failure(ctx context.Context, err error) (state a2a.State, reason string) {
	var failure *backend.TurnError
	switch {
	case errors.As(err, &failure):
		t.engine.options.Log.InfoContext(ctx, "turn failed", "task", t.key.TaskID, "state", failure.State.String(), "error", err)
		return failure.State, failure.Reason
	case errors.Is(err, store.ErrFull):
		return a2a.StateFailed, reasonFull
	case errors.Is(err, backend.ErrTurnEnded):
		return a2a.StateFailed, reasonInternal
	default:
		t.engine.options.Log.ErrorContext(ctx, "turn not run", "task", t.key.TaskID, "error", err)
		if errors.Is(err, errStore) {
			return a2a.StateFailed, reasonStore
		}
		return a2a.StateFailed, reasonInternal
	}
}

// rememberArtifact adds the artifact of the turn to the conversation, because an artifact
// answers the client as a message does.
func (t *task) rememberArtifact(ctx context.Context, r *run) {
	if !r.wroteArtifact {
		return
	}
	record, err := t.snapshot(ctx)
	if err != nil {
		return
	}
	if a := artifactOf(record.Task, r.artifactID()); a != nil && len(a.Parts) > 0 {
		m := &a2a.Message{Parts: a.Parts}
		t.fill(m)
		t.remember(ctx, m)
	}
}

// rerunDelays are the delays before the attempts of a turn after a crash of the agent's
// process, because the process takes time to restart. The first delay is before the second
// attempt, and the last delay is before each later attempt (backoff).
var rerunDelays = []time.Duration{time.Second, 5 * time.Second}

// retryAfterCrash prepares the next attempt of a turn if the agent's process ended during
// the turn. While the engine drains, it hands the turn over to other replicas instead. It
// returns false if the caller has to fail the turn.
func (t *task) retryAfterCrash(ctx context.Context, err error) bool {
	failure, ok := errors.AsType[*backend.TurnError](err)
	if !ok || !failure.Interrupted || !t.engine.options.Retry() {
		return false
	}
	if t.engine.draining.Load() {
		return t.handOver(ctx)
	}
	var tn *turn
	var events []a2a.Event
	err = t.engine.retryOutage(ctx, func() (err error) {
		tn, events, err = t.rebuildTurn(ctx, t.descriptor)
		return err
	})
	if err != nil {
		return false
	}
	tn.rerun.delay = rerunDelays[min(tn.rerun.descriptor.Attempt-2, len(rerunDelays)-1)]
	if err := t.append(ctx, events); err != nil {
		return t.phase == phaseLost || t.state().Terminal()
	}
	// The stored descriptor counts this attempt, so the attempt also counts if another replica
	// makes it.
	if err := t.changeHold(ctx, store.Take, &tn.rerun.descriptor); err != nil {
		return false
	}
	t.descriptor = tn.rerun.descriptor
	t.rerun = tn
	t.engine.options.Log.InfoContext(ctx, "turn is re-run", "task", t.key.TaskID, "attempt", tn.rerun.descriptor.Attempt, "error", failure)
	return true
}

// handOver leaves the current turn to other replicas, which re-run it without counting an
// attempt. If the task waits for its client, handOver leaves its accepted messages to them.
// It returns false if other replicas cannot continue the task.
func (t *task) handOver(ctx context.Context) bool {
	switch {
	case t.engine.coordinator.Exclusive() || t.phase == phaseLost:
		return false
	case t.state().Interrupted() && t.hasAccepted():
		t.lose(errDrained)
		return true
	case !t.engine.options.Retry() || t.descriptor.Redacted:
		return false
	}
	if state := t.state(); state.Terminal() || state.Interrupted() {
		return false
	}
	d := t.descriptor
	d.Attempt--
	if t.changeHold(ctx, store.Take, &d) != nil {
		return false
	}
	t.lose(errDrained)
	return true
}

func (t *task) changeHold(ctx context.Context, hold store.HoldChange, d *store.TurnDescriptor) error {
	_, err := t.engine.coordinator.Append(ctx, t.log, store.Append{After: t.seq, Hold: hold, Write: store.Write{Turn: d}})
	return err
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
			tn.taskBytes = t.bytes
			t.run = t.newRun(tn)
			return t.run
		}
	}
	return nil
}

// endHold ends the hold on a task that waits for its client without a run. If the write
// fails, the replica that next takes the task over ends the hold.
func (t *task) endHold(ctx context.Context) {
	if t.phase == phaseFree {
		_ = t.changeHold(ctx, store.Release, nil)
	}
}
