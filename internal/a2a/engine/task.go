// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// task is a task while a run or a request uses it. Its lock guards all fields but key,
// users and canceled. A method holds the lock from its beginning to its end, also while
// the store retries an append; other users of the task wait for the lock.
type task struct {
	engine *Engine
	key    store.Key
	// users counts the runs and requests that use the task. Engine.mu guards it.
	users int

	mutex *semaphore.Weighted
	// loaded is false until the fields that follow were read from the log.
	loaded bool
	// contextID is set before the first run and does not change.
	contextID string
	// log is nil until the task is created. The agent may answer without a task.
	log store.Log
	// seq is the number of the last event of the log, status the status that it leads to,
	// and paused whether a run stays connected for the client's answer.
	seq    uint64
	status a2a.Status
	paused bool
	// turns counts the turns that began, from the messages of the client in the log.
	turns int
	// answered is true if the agent answered without a task.
	answered bool

	// run is the call of the backend in progress, and input the call that delivers a
	// message to a run that waits. runErr is how the run ended for which an input was
	// meant.
	run, input *run
	runErr     error
	// waiting are the messages that wait for their turn, at most Options.MaxWaiting.
	waiting []*turn
	// begun are the turns that began and have not stopped.
	begun []*turn
	// canceled is true after a cancel, until a message restarts the task.
	canceled atomic.Bool
	// inputTimer fails the task if the client does not answer. Every status starts a new
	// question, so that a late timer does nothing.
	inputTimer *time.Timer
	question   uint64
	// batch is the reused memory for the events of one append.
	batch []a2a.Event

	// descriptor is the turn descriptor of the current turn, and rerun the turn that
	// follows the current run because the agent's process crashed.
	descriptor store.TurnDescriptor
	rerun      *turn
	// lost is true if another replica may run the task: the runs of this one are
	// canceled, and append nothing.
	lost bool
}

func newTask(e *Engine, k store.Key, log store.Log) *task {
	return &task{engine: e, key: k, log: log, mutex: semaphore.NewWeighted(1)}
}

// lock waits for the lock, even if ctx ends.
func (t *task) lock(ctx context.Context) {
	if !t.mutex.TryAcquire(1) {
		_ = t.mutex.Acquire(context.WithoutCancel(ctx), 1)
	}
}

func (t *task) unlock() { t.mutex.Release(1) }

// lockWithin waits for the lock on behalf of a client, as long as the client waits for
// an append of its own. It returns an error if the lock is held by an append that the
// store does not answer.
func (t *task) lockWithin(ctx context.Context) error {
	if t.mutex.TryAcquire(1) {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, beginRetryFor)
	defer cancel()
	if t.mutex.Acquire(limited, 1) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errStoreDown()
}

func (t *task) state() a2a.State { return t.status.State }

// working reports whether a call of the backend is in progress.
func (t *task) working() bool { return t.run != nil || t.input != nil }

// load reads the state of the log, unless it is known and nobody else appends to it.
func (t *task) load(ctx context.Context) error {
	if t.loaded && (t.engine.coordinator.Exclusive() || t.working()) {
		return nil
	}
	if !t.working() {
		t.lost = false
	}
	_, err := t.read(ctx)
	return err
}

// read reads the state of the log and returns its snapshot.
func (t *task) read(ctx context.Context) (*a2a.Record, error) {
	record, err := t.log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", t.key.TaskID, err)
	}
	t.loaded, t.seq = true, record.Seq
	t.status = record.Task.Status
	if t.contextID == "" { // runs read it without the lock
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

// append appends events of a run, all of which transition allows. The store retries it
// for Options.OutageRetryFor; meanwhile the agent is not read (back-pressure). It returns
// backend.ErrEnded when the task has ended or was lost.
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
			return backend.ErrEnded
		case hold == store.Keep && errors.Is(err, store.ErrIndeterminate):
			t.engine.options.Log.ErrorContext(ctx, "task not stored", "task", t.key.TaskID, "error", err)
			t.lose(errStore)
			return backend.ErrEnded
		default:
			return fmt.Errorf("append to task: %w", err)
		}
	}
}

// catchUp reads what another replica appended, after ErrConflict. It returns
// backend.ErrEnded if the task has ended, or if a run may not continue: it cannot
// complete a task that has a message which the run did not receive.
func (t *task) catchUp(ctx context.Context, hold store.HoldChange) error {
	turns := t.turns
	_, err := t.read(ctx)
	switch {
	case err != nil && hold != store.AnyHolder && outage(err):
		t.lose(errStore)
		return backend.ErrEnded
	case err != nil:
		return err
	case t.state().Terminal():
		t.endedElsewhere()
		return backend.ErrEnded
	case t.turns != turns && hold != store.AnyHolder:
		t.lose(errLost)
		return backend.ErrEnded
	}
	return nil
}

// statusEvent returns a status that the engine appends on its own.
func (t *task) statusEvent(state a2a.State, m *a2a.Message) a2a.Event {
	return a2a.Event{Status: &a2a.StatusUpdate{
		TaskID: t.key.TaskID, ContextID: t.contextID,
		Status: a2a.Status{State: state, Message: m, Time: t.engine.now()},
	}}
}

// agentMessage returns a message in the name of the agent.
func (t *task) agentMessage(text string) *a2a.Message {
	m := &a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}
	t.fill(m)
	return m
}

// fill sets the ids and the role of a message of the agent.
func (t *task) fill(m *a2a.Message) {
	if m.ID == "" {
		m.ID = newID()
	}
	m.TaskID, m.ContextID, m.Role = t.key.TaskID, t.contextID, a2a.RoleAgent
}

// remember adds a message to the conversation. A failure is only logged: the
// conversation is advice to the agent and no part of the task.
func (t *task) remember(ctx context.Context, m *a2a.Message) {
	if err := t.startRemembering(ctx, m)(); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "message not added to the conversation", "task", t.key.TaskID, "error", err)
	}
}

// startRemembering adds a message to the conversation before the next append. stored
// waits for it.
func (t *task) startRemembering(ctx context.Context, m *a2a.Message) (stored func() error) {
	return t.engine.options.Store.Remember(ctx, store.Conversation{Owner: t.key.Owner, ContextID: t.contextID}, m)
}
