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

// The exponential backoff between the attempts of an append: it doubles from
// insistFirst to insistMost.
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
	return t.heldLog().AppendHeld(ctx, t.seq, events, store.Keep, store.TurnDescriptor{})
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
	_, _ = t.heldLog().AppendHeld(ctx, t.seq, nil, store.Release, store.TurnDescriptor{})
}

// forsake gives up a task that another replica runs, or whose log cannot be appended
// to. It cancels the runs of the task and appends nothing, so that the next holder
// finds the task as it is. Clients that wait for it here follow its log. The task's
// lock is held.
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
	patience := time.NewTimer(holdPatience)
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

// insist retries an append of a run that the store did not answer, with exponential
// backoff, for OutagePatience. It returns backend.ErrEnded when the retries are used
// up or the task was lost. Meanwhile the agent is not read (back-pressure). The
// task's lock is held on entry and on return, and released between attempts; other
// appends to the task wait.
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
		if !e.sleep(pause, patience.C, nil) || ctx.Err() != nil {
			break
		}
		err = ask()
	}
	return err
}

// attempt retries an append once. If the log has moved on, it first compares the log
// with events, because an earlier attempt may have been stored.
func (t *task) attempt(ctx context.Context, events []a2a.Event) error {
	seq, err := t.write(ctx, events, false)
	if errors.Is(err, store.ErrConflict) {
		var ours bool
		if ours, err = t.wrote(ctx, events); err != nil {
			return err
		}
		if !ours {
			if err := t.catchUp(ctx, false); err != nil {
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
