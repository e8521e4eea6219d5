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
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// How long an append waits until it is tried again.
const (
	insistFirst = 100 * time.Millisecond
	insistMost  = time.Second
)

// elsewhere is the replica that a message must be brought to.
type elsewhere struct{ replica store.Replica }

func (e *elsewhere) Error() string { return "task is run by " + string(e.replica) }

// working reports whether a run is at work here.
func (t *task) working() bool { return t.run != nil || t.input != nil }

// heldLog is the log of a task on a store that replicas share.
func (t *task) heldLog() store.HeldLog { return t.log.(store.HeldLog) }

// write appends behind the last event that is known. Only those who run a task
// may, unless it is open to all.
func (t *task) write(ctx context.Context, events []a2a.Event, open bool) (uint64, error) {
	if t.engine.replica == nil || open {
		return t.log.Append(ctx, t.seq, events)
	}
	return t.heldLog().AppendHeld(ctx, t.seq, events, store.Keep, store.Brief{})
}

// create makes a task, and holds it.
func (e *Engine) create(ctx context.Context, k store.Key, o store.Origin, events []a2a.Event, b *store.Brief) (store.Log, error) {
	if e.replica == nil {
		return e.options.Store.Create(ctx, k, o, events) //nolint:wrapcheck // its caller does
	}
	if e.replica.fenced.Load() {
		return nil, errStoreDown()
	}
	log, err := e.replica.CreateHeld(ctx, k, o, events, *b)
	if err != nil {
		e.replica.reject(k, err)
		return nil, err //nolint:wrapcheck // its caller does
	}
	return log, nil
}

// hold appends the beginning of a turn, and holds its task.
func (t *task) hold(ctx context.Context, events []a2a.Event, b *store.Brief) (uint64, error) {
	r := t.engine.replica
	if r == nil {
		return t.log.Append(ctx, t.seq, events)
	}
	seq, err := t.heldLog().AppendHeld(ctx, t.seq, events, store.Take, *b)
	if outage(err) && !t.working() {
		seq, err = t.holdOn(ctx, events, b, err)
	}
	if err != nil {
		r.reject(t.key, err)
	}
	return seq, err
}

// holdPatience is how long the beginning of a turn waits for the store. Its
// client waits as long, and a message that was refused and yet was stored costs
// the task.
const holdPatience = 5 * time.Second

// holdOn is hold, again, for a task that nobody works at: its lock may be let go
// of meanwhile.
func (t *task) holdOn(ctx context.Context, events []a2a.Event, b *store.Brief, err error) (uint64, error) {
	events = slices.Clone(events) // t.batch is anybody's
	stalled := make(chan struct{})
	t.batch, t.stalled = nil, stalled
	defer func() {
		t.stalled = nil
		close(stalled)
	}()
	patience := time.NewTimer(holdPatience)
	defer patience.Stop()
	for pause := insistFirst; ; pause = min(2*pause, insistMost) {
		t.mu.Unlock()
		waited := t.engine.sleep(pause, patience.C, nil)
		t.mu.Lock()
		if !waited || t.engine.replica.fenced.Load() {
			return 0, err
		}
		var seq uint64
		seq, err = t.heldLog().AppendHeld(ctx, t.seq, events, store.Take, *b)
		if errors.Is(err, store.ErrConflict) {
			seq, err = t.begun(ctx, events)
		}
		if !outage(err) {
			return seq, err
		}
	}
}

// begun returns where the log stands if it went on with these events, whose
// append was not answered.
func (t *task) begun(ctx context.Context, events []a2a.Event) (uint64, error) {
	records, err := t.log.Read(ctx, nil, t.seq)
	switch {
	case err != nil:
		return 0, err //nolint:wrapcheck // its caller knows the outcomes
	case len(records) != len(events) || records[0].Message == nil || records[0].Message.ID != events[0].Message.ID:
		return 0, store.ErrConflict
	}
	return t.seq + uint64(len(events)), nil
}

// briefAt is what has to be known of a turn whose message is the event with a
// number.
func (tn *turn) briefAt(begin uint64) store.Brief {
	return store.Brief{
		Begin: begin, Attempt: 1, Redacted: tn.kept != tn.message, Payer: tn.request.Payer,
		AcceptedOutputModes: tn.request.AcceptedOutputModes, Metadata: tn.request.Metadata,
		Extensions: tn.request.Extensions, TraceParent: tn.request.TraceParent,
	}
}

// find makes sure that the task is not run by another replica. What one left
// behind that is gone is brought to an end first.
func (t *task) find(ctx context.Context) error {
	r := t.engine.replica
	if r == nil {
		return nil
	}
	if t.stalled != nil {
		return errStoreDown()
	}
	if t.working() {
		if t.forsaken {
			return errNotNow()
		}
		return nil
	}
	held, err := t.heldLog().Holder(ctx)
	switch {
	case err != nil:
		return storeError("read holder of task", t.key.TaskID, err)
	case held.Replica == "":
		return nil
	case held.Replica != r.Self() && held.Alive:
		return &elsewhere{held.Replica}
	}
	if err := t.revive(ctx, held); err != nil {
		return storeError("take over task", t.key.TaskID, err)
	}
	if s := t.state(); !t.working() && !s.Terminal() && !s.Interrupted() {
		return errNotNow()
	}
	return nil
}

// rest tells that nobody runs a task that waits for its client. If that cannot
// be told, the next look at what this replica holds does.
func (t *task) rest(ctx context.Context) {
	if t.engine.replica == nil || t.log == nil || t.working() || t.forsaken || !t.state().Interrupted() {
		return
	}
	_, _ = t.heldLog().AppendHeld(ctx, t.seq, nil, store.Rest, store.Brief{})
}

// forsake lets go of a task that is another's, or whose log does not take what
// there is to say. It is left as it is: whoever holds it next finds it so. Those
// who wait for it here follow its log.
func (t *task) forsake(why error) {
	t.forsaken = true
	if t.freed != nil {
		close(t.freed)
		t.freed = nil
	}
	t.expectNothing()
	for _, r := range []*run{t.run, t.input} {
		if r != nil {
			r.quit(why)
		}
	}
	t.refuseWaiting(func(*turn) error { return errNotNow() })
	for _, tn := range t.open {
		tn.moved = true
	}
	t.settle()
}

// overByOther is over for a task that ended elsewhere.
func (t *task) overByOther() {
	if t.state() == a2a.StateCanceled {
		t.canceled.Store(true)
		t.over(nil, backend.ErrCanceled)
		return
	}
	t.over(nil, errOver)
}

// patient reports whether an append of a run is worth to be tried again.
func (e *Engine) patient(err error) bool { return e.replica != nil && outage(err) }

// unstalled waits for an append that is being tried again, since what a run says
// is in order.
func (t *task) unstalled() error {
	for t.stalled != nil {
		stalled := t.stalled
		t.mu.Unlock()
		<-stalled
		t.mu.Lock()
	}
	if t.forsaken || t.state().Terminal() {
		return backend.ErrEnded
	}
	return nil
}

// insist tries an append again that the store did not answer, for a while. The
// agent is not read meanwhile. The task's lock is let go of in between, and no
// other append passes.
func (t *task) insist(ctx context.Context, events []a2a.Event) error {
	events = slices.Clone(events)
	t.batch = nil
	stalled := make(chan struct{})
	freed := make(chan struct{})
	t.stalled, t.freed = stalled, freed
	defer func() {
		t.stalled, t.freed = nil, nil
		close(stalled)
	}()
	patience := time.NewTimer(t.engine.options.OutagePatience)
	defer patience.Stop()
	for pause := insistFirst; ; pause = min(2*pause, insistMost) {
		t.mu.Unlock()
		waited := t.engine.sleep(pause, patience.C, freed)
		t.mu.Lock()
		if t.forsaken {
			return backend.ErrEnded
		}
		if !waited {
			t.engine.options.Log.ErrorContext(ctx, "task could not be stored", "task", t.key.TaskID)
			t.forsake(errStore)
			return backend.ErrEnded
		}
		err := t.attempt(ctx, events)
		if !outage(err) || err == nil {
			return err
		}
	}
}

// insist asks the store again that does not answer, for a while. No lock is
// held.
func (e *Engine) insist(ctx context.Context, ask func() error) error {
	err := ask()
	if !e.patient(err) {
		return err
	}
	patience := time.NewTimer(e.options.OutagePatience)
	defer patience.Stop()
	for pause := insistFirst; e.patient(err); pause = min(2*pause, insistMost) {
		if !e.sleep(pause, patience.C, nil) || ctx.Err() != nil {
			break
		}
		err = ask()
	}
	return err
}

// attempt is one more try of an append that may have gone through before.
func (t *task) attempt(ctx context.Context, events []a2a.Event) error {
	seq, err := t.write(ctx, events, false)
	if errors.Is(err, store.ErrConflict) {
		var ours bool
		if ours, err = t.wrote(ctx, events); err != nil {
			return err
		}
		if !ours {
			if err := t.catchUp(ctx); err != nil {
				return err
			}
			return t.attempt(ctx, events)
		}
		seq = t.seq + uint64(len(events))
	}
	switch {
	case errors.Is(err, store.ErrHeld):
		t.forsake(errLost)
		return backend.ErrEnded
	case err != nil:
		return err
	}
	t.seq = seq
	t.logged(ctx, events)
	return nil
}

// wrote reports whether the log went on with our own events. All that others
// can append to a task that is held here is its end.
func (t *task) wrote(ctx context.Context, events []a2a.Event) (bool, error) {
	records, err := t.log.Read(ctx, nil, t.seq)
	if err != nil || len(records) == 0 {
		return false, storeErrorOrNil("read task", t.key.TaskID, err)
	}
	first, ours := records[0].Status, events[0].Status
	canceled := first != nil && first.Status.State == a2a.StateCanceled
	return !canceled || ours != nil && ours.Status.State == a2a.StateCanceled, nil
}

// catchUp follows an append of somebody else: the log is the truth.
func (t *task) catchUp(ctx context.Context) error {
	if err := t.reload(ctx); err != nil {
		return err
	}
	if t.state().Terminal() {
		t.overByOther()
		return backend.ErrEnded
	}
	return nil
}

// sleep waits, and reports whether there is more time.
func (e *Engine) sleep(d time.Duration, until <-chan time.Time, freed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-until:
	case <-freed:
	case <-e.cutOff:
	}
	return false
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// outage reports whether an error is neither an outcome nor the client's.
func outage(err error) bool {
	if err == nil {
		return false
	}
	for _, outcome := range []error{
		store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrTrimmed, store.ErrFull, store.ErrHeld, backend.ErrEnded,
	} {
		if errors.Is(err, outcome) {
			return false
		}
	}
	problem, told := errors.AsType[*a2a.Error](err)
	return !told || problem.Reason == a2a.ReasonUnavailable
}
