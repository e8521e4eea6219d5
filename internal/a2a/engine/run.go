// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// run is one call of the backend.
type run struct {
	turn *turn
	// principal is whom the turn queue charges for the run.
	principal a2a.AccountingPrincipal
	started   time.Time
	// stop ends the context of the call; nil until it begins.
	stop context.CancelCauseFunc
	// left is true once the run has freed its place among the running turns. Only
	// the run's own goroutine reads and writes it, so it needs no lock.
	left bool
	// done closes when the call has returned.
	done chan struct{}
	// gone is true once the engine ignores what the run still emits, and returned
	// once the call of the backend has returned.
	gone, returned bool
	// input is true while it brings a message to another run.
	input bool
	// word is the message of the agent that is the current status message, when
	// it came as a bare message. It is then also the last word.
	word *a2a.Message
	// artifact is that of the turn, "" until it is asked for; spoke is true when
	// the agent wrote to it.
	artifact string
	spoke    bool
}

func (r *run) artifactID() string {
	if r.artifact == "" {
		r.artifact = backend.ArtifactID(r.turn.number)
	}
	return r.artifact
}

// quit cancels a run: the engine ignores what it still emits, and the context of
// its call ends with why as the cause. The task's lock is held.
func (r *run) quit(why error) {
	r.gone = true
	if r.stop != nil {
		r.stop(why)
	}
}

// launch starts the goroutine of a run, for which the engine has reserved a place
// (Engine.hire).
func (t *task) launch(ctx context.Context, tn *turn) {
	// The run is the task's and not the caller's: it goes on when the client
	// leaves, and keeps what the context carries, such as the trace.
	base := context.WithoutCancel(ctx)
	t.run = t.newRun(tn)
	go t.drive(base, t.run)
}

// deliver is launch for a message to the run that waits, which may have said
// that it does.
func (t *task) deliver(ctx context.Context, tn *turn, said bool) {
	base := context.WithoutCancel(ctx) // as in launch
	t.input = t.newRun(tn)
	t.input.input = true
	go t.bring(base, t.input, t.run, said)
}

func (t *task) newRun(tn *turn) *run {
	return &run{turn: tn, principal: tn.principal, started: t.engine.options.Now(), done: make(chan struct{})}
}

// drive runs turns of the task, one after the other, until none waits.
func (t *task) drive(ctx context.Context, r *run) {
	defer t.engine.dismiss(t)
	for {
		next := t.ended(ctx, r, t.perform(ctx, r))
		if next == nil {
			t.engine.leave(r)
			return
		}
		// A task that goes on keeps its place, or takes it again.
		if r.left {
			t.engine.turns.start(next.principal)
		} else {
			next.principal = r.principal
		}
		r = next
	}
}

// bring takes a message to a run that has paused and still is connected. One
// that did not say that it waits may be about to end; then the message is a
// turn like any other.
func (t *task) bring(ctx context.Context, r, waits *run, said bool) {
	if !said {
		grace := time.NewTimer(t.engine.options.InputGrace)
		select {
		case <-waits.done:
		case <-grace.C:
		}
		grace.Stop()
	}
	t.drive(ctx, r)
}

// asInput reports whether the message of a run is for another that waits. What
// has no such run any more is a turn like any other.
func (t *task) asInput(r *run) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.input == r && (t.run == nil || t.run.returned) {
		t.input, t.run, r.input = nil, r, false
	}
	return r.input
}

func (t *task) perform(base context.Context, r *run) error {
	t.engine.options.Observer.TurnStarted()
	ctx, stop := context.WithCancelCause(base)
	defer stop(nil)
	if !t.enter(r, stop) {
		return backend.ErrEnded
	}
	if again := r.turn.again; again != nil {
		if sleep(ctx, again.pause); ctx.Err() != nil {
			return backend.ErrEnded
		}
	}
	call, err := t.prepare(ctx, r)
	if err != nil {
		return err
	}
	if call.Task == nil {
		decide := time.AfterFunc(t.engine.options.DecideAfter, func() { t.vouch(base, r) })
		defer decide.Stop()
	}
	return t.engine.options.Backend.Run(ctx, call, func(events []a2a.Event) error {
		return t.emit(base, r, events)
	})
}

// enter makes a run one that can be stopped, if it is still wanted.
func (t *task) enter(r *run, stop context.CancelCauseFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.stop = stop
	return !r.gone
}

// vouch says that an agent works that has said nothing yet.
func (t *task) vouch(ctx context.Context, r *run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm()
	if r.gone || t.state() > a2a.StateSubmitted {
		return
	}
	err := t.ensure(ctx, r)
	if err == nil {
		err = t.append(ctx, append(t.batch[:0], t.says(a2a.StateWorking, nil)))
	}
	if err != nil {
		r.turn.refuse(err)
		r.quit(err)
	}
}

// ensure makes the task of a turn that may have none.
func (t *task) ensure(ctx context.Context, r *run) error {
	if t.log != nil {
		return nil
	}
	return t.create(ctx, r.turn, t.beginning(r.turn))
}

// emit takes what the agent says. An agent is told to stop by ErrEnded.
func (t *task) emit(ctx context.Context, r *run, events []a2a.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm()
	if r.gone {
		t.engine.options.Observer.Dropped(len(events))
		return backend.ErrEnded
	}
	if len(events) == 0 {
		return nil
	}
	t.promote(r)
	if t.log == nil {
		if m := events[0].Message; m != nil {
			t.answer(ctx, r, m)
			t.engine.options.Observer.Dropped(len(events) - 1)
			return backend.ErrEnded
		}
	}
	if err := t.say(ctx, r, events); err != nil {
		return err
	}
	if r.gone {
		// It was let go while the store was waited for.
		return backend.ErrEnded
	}
	switch {
	case t.state().Terminal():
		r.gone = true
		t.over(r, errOver)
		return backend.ErrEnded
	case t.state().Interrupted():
		return t.pause(ctx, r)
	}
	return nil
}

// say puts what the agent says into the log, which begins with it if there is
// none.
func (t *task) say(ctx context.Context, r *run, events []a2a.Event) error {
	state, said, put := t.state(), t.batch[:0], t.append
	if t.log == nil {
		state, said = a2a.StateSubmitted, t.beginning(r.turn)
		put = func(ctx context.Context, events []a2a.Event) error { return t.createWith(ctx, r.turn, events) }
	}
	said = t.normalize(r, state, said, events)
	if ended(said) {
		t.engine.leave(r)
	}
	return put(ctx, said)
}

// ended reports whether the last of some events ends the task.
func ended(events []a2a.Event) bool {
	n := len(events)
	return n > 0 && events[n-1].Status != nil && events[n-1].Status.Status.State.Terminal()
}

// pause is what follows an interruption: a message that waits is the answer. A
// server that shuts down waits for none.
func (t *task) pause(ctx context.Context, r *run) error {
	if t.engine.draining.Load() {
		r.gone = true
		return backend.ErrEnded
	}
	t.advance(ctx)
	return nil
}

// answer ends a turn without a task.
func (t *task) answer(ctx context.Context, r *run, m *a2a.Message) {
	t.fill(m)
	m.TaskID = ""
	r.gone, t.answered = true, true
	t.engine.leave(r)
	t.remember(ctx, m)
	r.turn.reply(m)
	t.engine.recent.addBytes(r.turn, m.Size())
}

// promote lets an input that is answered at length take over from the run that
// it was meant for.
func (t *task) promote(r *run) {
	if !r.input {
		return
	}
	if old := t.run; old != nil {
		old.quit(backend.ErrSuperseded)
	}
	t.run, t.input, r.input = r, nil, false
}

// advance brings the next message that waits to the run that waits for it.
func (t *task) advance(ctx context.Context) {
	for t.run != nil && !t.run.gone && t.input == nil && t.state().Interrupted() && len(t.waiting) > 0 {
		tn, said := t.shift(), t.paused
		err := t.begin(ctx, tn)
		if err == nil {
			_ = t.engine.hire(t, tn, false)
			t.deliver(ctx, tn, said)
			return
		}
		tn.refuse(err)
	}
}

func (t *task) shift() *turn {
	tn := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	t.engine.free(tn)
	return tn
}

// ended is the end of a call. It returns the next run for this goroutine.
func (t *task) ended(ctx context.Context, r *run, err error) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(r.done)
	defer r.turn.forget()
	r.returned = true
	t.calm() // a message may be on its way into the log
	last := t.retire(ctx, r, err)
	t.observe(r)
	if !last {
		return nil
	}
	if repeated := t.repeated; repeated != nil {
		t.repeated = nil
		t.run = t.newRun(repeated)
		return t.run
	}
	next := t.next(ctx)
	t.rest(ctx)
	return next
}

// retire takes a call that has ended off its task, and reports whether it was
// the last one.
func (t *task) retire(ctx context.Context, r *run, err error) (last bool) {
	switch {
	case t.run == r:
		t.run, r.gone = nil, true
		if t.input != nil {
			t.held = err
			return false
		}
	case t.input == r && errors.Is(err, backend.ErrTaken):
		t.input = nil
		if t.run != nil {
			t.advance(ctx)
			return false
		}
		// The run that took the input, as its agent says, was there when it was
		// asked and is over by now. How it ended is how the turn did.
		err = t.held
	case t.input == r:
		t.promote(r)
		t.run, r.gone = nil, true
	default:
		return false
	}
	t.conclude(ctx, r, err)
	return true
}

func (t *task) observe(r *run) {
	state := t.state()
	switch {
	case t.answered:
		state = a2a.StateCompleted
	case t.repeated != nil, t.forsaken:
		state = a2a.StateFailed
	}
	t.engine.options.Observer.TurnEnded(state, t.engine.options.Now().Sub(r.started))
}

// next begins the turn that waits, when the task can take it.
func (t *task) next(ctx context.Context) *run {
	if t.engine.draining.Load() {
		t.refuseWaiting(func(*turn) error { return errUnavailable() })
	}
	for len(t.waiting) > 0 {
		tn := t.shift()
		if err := t.begin(ctx, tn); err != nil {
			tn.refuse(err)
			continue
		}
		t.run = t.newRun(tn)
		return t.run
	}
	return nil
}
