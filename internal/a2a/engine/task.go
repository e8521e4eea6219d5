// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// task is the engine's hold on a task while a run or a call is busy with it.
// All that happens to the task happens under its lock.
type task struct {
	engine *Engine
	key    store.Key
	// holds counts who is busy with it. Engine.mu guards it.
	holds int

	mu sync.Mutex
	// loaded is false until what follows was read from the log.
	loaded    bool
	contextID string
	// log is nil for a turn that may still be answered without a task.
	log store.Log
	// seq, status and paused are where the log stands.
	seq    uint64
	status a2a.Status
	paused bool
	// turns counts those that began.
	turns int
	// answered is true when the turn was answered without a task.
	answered bool

	// run is the agent's call in progress, and input the one that brings a
	// message to a run that waits. held is how the run ended that an input was
	// meant for.
	run, input *run
	held       error
	// waiting are messages for a later turn.
	waiting []*turn
	// open are the turns that began and have not settled.
	open []*turn
	// canceled is true once a cancel is through, until a message starts the task
	// again.
	canceled atomic.Bool
	// patience ends the wait for the client's answer to the latest of the
	// questions, which each status counts.
	patience  *time.Timer
	questions uint64
	// batch is room for the events of one append.
	batch []a2a.Event

	// brief is that of the turn that runs, and repeated the turn that is run again
	// when its run has ended.
	brief    store.TurnDescriptor
	repeated *turn
	// What follows is of use on a shared store only. stalled closes when a write that
	// is repeated has its outcome, or is given up; nil when there is none. cancelWrite
	// gives it up at once.
	stalled     chan struct{}
	cancelWrite context.CancelFunc
	// forsaken is true when the runs, if any are left, were let go since the task
	// is in other hands.
	forsaken bool
}

func (t *task) state() a2a.State { return t.status.State }

// load reads where the log stands: once, if nobody else appends while it is
// known.
func (t *task) load(ctx context.Context) error {
	if t.loaded && (t.engine.replica == nil || t.working()) {
		return nil
	}
	if !t.working() {
		t.forsaken = false
	}
	return t.reload(ctx)
}

func (t *task) reload(ctx context.Context) error {
	_, err := t.look(ctx)
	return err
}

// look is reload for those who want the task, too.
func (t *task) look(ctx context.Context) (*a2a.Record, error) {
	record, err := t.log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", t.key.TaskID, err)
	}
	t.loaded, t.seq = true, record.Seq
	t.status = record.Task.Status
	if t.contextID == "" {
		// A run reads it without the lock: it never changes.
		t.contextID = record.Task.ContextID
	}
	t.turns = 0
	for _, m := range record.Task.History {
		if m.Role == a2a.RoleUser {
			t.turns++
		}
	}
	return record, nil
}

// beginning is how many events say that there is a task.
const beginning = 2

// beginning returns these events, in a slice that is valid until the next append.
func (t *task) beginning(tn *turn) []a2a.Event {
	return append(t.batch[:0], a2a.Event{Message: tn.kept}, t.says(a2a.StateSubmitted, nil))
}

// create makes the task of a turn that began without one, of its beginning and
// what the agent has said by now. Once it is there, nothing can fail but what the
// client asked for beside.
func (t *task) create(ctx context.Context, tn *turn, events []a2a.Event) error {
	origin := store.Origin{ContextID: t.contextID, Dialect: tn.request.Dialect}
	t.brief = tn.briefAt(1)
	log, err := t.make(ctx, origin, events, &t.brief)
	if err != nil {
		return storeError("create task", t.key.TaskID, err)
	}
	t.log, t.seq = log, uint64(len(events))
	fold := store.NewFold(t.key.TaskID, origin)
	t.began(ctx, fold, events[:beginning])
	// A message with a configuration has its task made before the agent is asked.
	if err := t.attach(ctx, tn); err != nil {
		t.finish(ctx, a2a.StateRejected, t.word(reasonPush))
		return err
	}
	t.show(tn, fold, beginning)
	t.batch = events
	t.logged(ctx, events[beginning:])
	return nil
}

// createWith is create with what the agent has said. When there is no room for
// all of it there may be some for the task: it fails as one that outgrew the
// store, or ends, which a task may do in a store that is full.
func (t *task) createWith(ctx context.Context, tn *turn, events []a2a.Event) error {
	err := t.create(ctx, tn, events)
	if len(events) == beginning || !errors.Is(err, store.ErrFull) {
		return err
	}
	if err := t.create(ctx, tn, events[:beginning]); err != nil {
		return err
	}
	return t.append(ctx, events[beginning:])
}

// begin puts a message into the log of its task, which works again. The agent
// is shown the task as it was before.
func (t *task) begin(ctx context.Context, tn *turn) error {
	if t.stalled != nil {
		return errStoreDown()
	}
	for {
		turns := t.turns
		record, err := t.look(ctx)
		switch {
		case err != nil:
			return err
		case t.working() && t.turns != turns:
			// The run that waits was not shown all that was said by now.
			t.forsake(errLost)
			return errNotNow()
		}
		if followed, err := t.retold(ctx, tn); followed || err != nil {
			if followed {
				err = errFollowed
			}
			return err
		}
		if err := t.admits(tn); err != nil {
			return err
		}
		tn.before = record.Task
		if t.state().Terminal() && record.Task.Note != "" {
			// What the backend noted is about a run that has ended.
			before := *record.Task
			before.Note = ""
			tn.before = &before
		}
		tn.message.ContextID = t.contextID
		tn.kept = t.keeping(tn.message)
		events := append(t.batch[:0], a2a.Event{Message: tn.kept}, t.says(a2a.StateWorking, nil))
		brief := tn.briefAt(t.seq + 1)
		seq, err := t.hold(ctx, events, &brief, tn.continues)
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case err != nil:
			return storeError("append to task", t.key.TaskID, err)
		}
		t.seq, t.brief = seq, brief
		t.canceled.Store(false)
		t.turns++
		tn.number = t.turns
		if tn.continues {
			t.engine.recent.forgetTask(t.key)
		}
		fold := store.Resume(record.Task)
		t.began(ctx, fold, events)
		t.show(tn, fold, seq)
		return nil
	}
}

// admits reports whether a turn may begin where the task stands.
func (t *task) admits(tn *turn) error {
	switch {
	case tn.onlyPaused && !t.state().Interrupted():
		return errNotPaused
	case t.state().Terminal() && !tn.request.Restart:
		t.over(nil, errOver)
		return errTerminal(tn)
	default:
		return nil
	}
}

// began is what follows the first events of a turn. They are folded here, since
// the log could fail to tell what it took.
func (t *task) began(ctx context.Context, fold *store.Fold, events []a2a.Event) {
	for i := range events {
		fold.Apply(&events[i])
	}
	t.batch = events
	t.logged(ctx, events)
}

// show decides a turn: its task exists, and begins with what is folded up to an
// event.
func (t *task) show(tn *turn, fold *store.Fold, seq uint64) {
	tn.open(t.log, &a2a.Record{Seq: seq, Event: a2a.Event{Task: fold.Task()}})
	t.open = append(t.open, tn)
	t.engine.recent.began(tn, t.key)
}

// says returns a status in the engine's own words.
func (t *task) says(state a2a.State, m *a2a.Message) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: t.key.TaskID, ContextID: t.contextID,
		Status: a2a.Status{State: state, Message: m, Time: t.engine.now()},
	}}
}

// append is the only way into a log for what a run says. All events but those
// of a message have passed transition from the state before.
func (t *task) append(ctx context.Context, events []a2a.Event) error {
	return t.commit(ctx, events, false)
}

// commit is append; open is what anybody may say, whoever runs the task.
func (t *task) commit(ctx context.Context, events []a2a.Event, open bool) error {
	if len(events) == 0 {
		return nil
	}
	if t.stalled != nil {
		t.batch = nil
		if err := t.unstalled(); err != nil {
			return err
		}
	}
	t.batch = events
	for {
		a := t.appendOf(events, open)
		seq, err := t.log.Append(ctx, a)
		if errors.Is(err, store.ErrConflict) {
			if err = t.catchUp(ctx, open); err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			t.seq = seq
			t.logged(ctx, events)
			return nil
		case errors.Is(err, backend.ErrEnded):
			return err
		case errors.Is(err, store.ErrHeld):
			t.forsake(errLost)
			return backend.ErrEnded
		case !open && t.engine.patient(err):
			return t.insist(ctx, a, err)
		default:
			return fmt.Errorf("append to task: %w", err)
		}
	}
}

// logged is what follows an append. It lets go of the events.
func (t *task) logged(ctx context.Context, events []a2a.Event) {
	t.engine.options.Observer.Appended(len(events))
	for i := range events {
		t.appended(ctx, events[i].Status)
	}
	clear(events)
}

func (t *task) appended(ctx context.Context, u *a2a.StatusUpdate) {
	if u == nil {
		return
	}
	news := u.Status.Message != nil && u.Status.Message != t.status.Message
	t.status, t.paused = u.Status, u.Paused
	if news {
		t.remember(ctx, u.Status.Message)
	}
	t.expect(ctx)
	if t.state().Terminal() || t.state().Interrupted() {
		t.stopped(ctx)
	}
}

// stopped settles the turns of a task that is over or waits for its client.
// When a message waits the task is about to go on, and those who come to look
// would be too late.
func (t *task) stopped(ctx context.Context) {
	if len(t.waiting) > 0 {
		if outcome, err := t.log.Snapshot(ctx); err == nil {
			for _, tn := range t.open {
				tn.outcome = outcome
			}
		}
	}
	t.settle()
}

func (t *task) settle() {
	for i, tn := range t.open {
		tn.settle()
		t.open[i] = nil
	}
	t.open = t.open[:0]
}

// over is what follows a terminal state: nothing runs, nothing waits. The run
// that brought it there is spared, to say goodbye to its agent.
func (t *task) over(spared *run, why error) {
	t.settle()
	t.expectNothing()
	for _, r := range []*run{t.run, t.input} {
		if r != nil && r != spared {
			r.quit(why)
		}
	}
	t.refuseWaiting(func(tn *turn) error {
		if tn.request.Restart {
			return nil // the run that ends finds it
		}
		return errTerminal(tn)
	})
}

// refuseWaiting refuses the messages that wait, but those without a reason.
func (t *task) refuseWaiting(why func(*turn) error) {
	kept := t.waiting[:0]
	for _, tn := range t.waiting {
		if err := why(tn); err != nil {
			t.engine.free(tn)
			tn.refuse(err)
		} else {
			kept = append(kept, tn)
		}
	}
	clear(t.waiting[len(kept):])
	t.waiting = kept
}

// remember adds to the conversation. What is lost there is advice to the agent
// and no part of the task.
func (t *task) remember(ctx context.Context, m *a2a.Message) {
	if err := t.note(ctx, m)(); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "remember message", "task", t.key.TaskID, "error", err)
	}
}

// note is remember for those who append to the task before anybody is told of
// the message: then it is there.
func (t *task) note(ctx context.Context, m *a2a.Message) (stored func() error) {
	return t.engine.options.Store.Remember(ctx, store.Conversation{Owner: t.key.Owner, ContextID: t.contextID}, m)
}
