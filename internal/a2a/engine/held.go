// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// The exponential backoff between the attempts of reading and of sending to inboxes: it
// doubles from insistFirst to insistMost.
const (
	insistFirst = 100 * time.Millisecond
	insistMost  = time.Second
)

// elsewhere is the replica that a message must be brought to.
type elsewhere struct{ replica store.Replica }

func (e *elsewhere) Error() string { return "task is run by " + string(e.replica) }

// working reports whether a run is at work here.
func (t *task) working() bool { return t.run != nil || t.input != nil }

// appendOf is an append behind the last event that is known. Only the replica that
// holds the task may make it, unless it is open to all.
func (t *task) appendOf(events []a2a.Event, open bool) store.Append {
	a := store.Append{After: t.seq, Events: events}
	if r := t.engine.replica; r != nil && !open {
		a.Hold, a.Write = store.Keep, r.newWrite(nil)
	}
	return a
}

// changeHold appends with a change of the hold. It is not repeated.
func (t *task) changeHold(ctx context.Context, events []a2a.Event, c store.HoldChange, d *store.TurnDescriptor) (uint64, error) {
	return t.log.Append(ctx, store.Append{
		After: t.seq, Events: events, Hold: c, Write: store.Write{Replica: t.engine.replica.Self(), Turn: d},
	})
}

// briefAt is what has to be known of a turn whose message is the event with a
// number.
func (tn *turn) briefAt(begin uint64) store.TurnDescriptor {
	return store.TurnDescriptor{
		Begin: begin, Attempt: 1, Redacted: tn.kept != tn.message, Claim: tn.claim, Payer: tn.request.AccountingPrincipal,
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
	if !t.calmSoon() {
		return errStoreDown()
	}
	if t.working() {
		if t.forsaken {
			return errNotNow()
		}
		return nil
	}
	held, err := r.Holder(ctx, t.key)
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
	_, _ = t.changeHold(ctx, nil, store.Release, nil)
}

// forsake gives up a task that another replica runs, or whose log cannot be appended
// to. It cancels the runs of the task and appends nothing, so that the next holder
// finds the task as it is. Clients that wait for it here follow its log. The task's
// lock is held.
func (t *task) forsake(why error) {
	t.forsaken = true
	if t.cancelWrite != nil {
		t.cancelWrite()
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

// calm waits for an append that is being tried again. Until then nobody knows
// where the task stands.
func (t *task) calm() {
	for t.stalled != nil {
		stalled := t.stalled
		t.mu.Unlock()
		<-stalled
		t.mu.Lock()
	}
}

// calmSoon is calm for a client, who waits as long for the store as for any of
// its answers, and reports whether it is.
func (t *task) calmSoon() bool {
	if t.stalled == nil {
		return true
	}
	patience := time.NewTimer(beginRetryFor)
	defer patience.Stop()
	for stalled := t.stalled; stalled != nil; stalled = t.stalled {
		t.mu.Unlock()
		select {
		case <-stalled:
			t.mu.Lock()
		case <-patience.C:
			t.mu.Lock()
			return false
		}
	}
	return true
}

// unstalled is calm for what a run says, which is in order.
func (t *task) unstalled() error {
	t.calm()
	if t.forsaken || t.state().Terminal() {
		return backend.ErrEnded
	}
	return nil
}

// insist repeats an append of a run that the store did not answer, for OutagePatience.
// It returns backend.ErrEnded when the outcome is still unknown then or the task was
// lost. Meanwhile the agent is not read (back-pressure). The task's lock is held on
// entry and on return, and released in between; other appends to the task wait.
func (t *task) insist(ctx context.Context, a store.Append, err error) error {
	a.Events = slices.Clone(a.Events)
	err = t.repeatWrite(ctx, &a.Write, t.engine.options.OutagePatience, err, func(ctx context.Context) error {
		_, err := t.log.Append(ctx, a)
		return err
	})
	switch {
	case t.forsaken:
		return backend.ErrEnded
	case err == nil:
		t.seq = a.After + uint64(len(a.Events))
		t.logged(ctx, a.Events)
		return nil
	case errors.Is(err, store.ErrConflict):
		return t.append(ctx, a.Events)
	case errors.Is(err, store.ErrHeld):
		t.forsake(errLost)
		return backend.ErrEnded
	case outage(err):
		t.engine.options.Log.ErrorContext(ctx, "task could not be stored", "task", t.key.TaskID)
		t.forsake(errStore)
		return backend.ErrEnded
	default:
		return fmt.Errorf("append to task: %w", err)
	}
}

// insist calls ask, and retries it with exponential backoff for OutagePatience while
// it fails with an outage of a shared store. The caller holds no lock.
func (e *Engine) insist(ctx context.Context, ask func() error) error {
	err := ask()
	if !e.patient(err) {
		return err
	}
	patience := time.NewTimer(e.options.OutagePatience)
	defer patience.Stop()
	for pause := insistFirst; e.patient(err); pause = min(2*pause, insistMost) {
		if !e.sleep(pause, patience.C) || ctx.Err() != nil {
			break
		}
		err = ask()
	}
	return err
}

// catchUp follows an append of somebody else: the log is the truth. What is open
// to all may be said of any task. A run that was not shown all messages of its
// task has lost it.
func (t *task) catchUp(ctx context.Context, open bool) error {
	turns := t.turns
	if err := t.reload(ctx); err != nil {
		return err
	}
	switch {
	case t.state().Terminal():
		t.overByOther()
		return backend.ErrEnded
	case t.turns != turns && !open:
		t.forsake(errLost)
		return backend.ErrEnded
	}
	return nil
}

// sleep waits, and reports whether there is more time.
func (e *Engine) sleep(d time.Duration, until <-chan time.Time) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-until:
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
