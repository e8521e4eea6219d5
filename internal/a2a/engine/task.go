// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// task is the state of a task in memory, while a run or a request uses it. The lock mutex
// guards all fields but key, users and canceled. A method that locks the task holds the
// lock until it returns, even while the store retries an append; other users of the task
// wait for the lock.
type task struct {
	engine *Engine
	key    store.Key
	// users counts the runs and requests that use the task. Engine.mu guards it.
	users int

	mutex *semaphore.Weighted
	phase phase
	// contextID is set before the first run and does not change.
	contextID string
	// log is nil until the task is created. The agent may answer without a task.
	log store.Log
	// seq is the number of the last event of the log. last has the status of the task after
	// this event, and Paused as the agent set it: a run stays connected until the client answers.
	seq  uint64
	last a2a.StatusUpdate
	// said is the newest message of the agent that this replica has added to the conversation.
	said *a2a.Message
	// turns is the number of turns that began. It equals the number of the client's
	// messages in the log.
	turns int
	// bytes is the size of the task at the last read, 0 if no other replica uses the store: it then counts the task.
	bytes int64

	// run is the backend call in progress, and input is the call that delivers a message
	// to a run that waits. If the waiting run returns before input does, runErr is the
	// error of the waiting run.
	run, input *run
	runErr     error
	// waiting are the messages that wait for their turn, at most Options.MaxWaiting.
	waiting []*turn
	// begun are the turns that have begun and not stopped.
	begun []*turn
	// canceled is true after a cancel, until a message restarts the task.
	canceled atomic.Bool
	// inputTimer fails the task if the client does not answer in time. question numbers the
	// waits for an answer. Every status increases question, so that a timer of an earlier wait
	// that fires late does nothing.
	inputTimer *time.Timer
	question   uint64
	// batch is the reused memory for the events of one append.
	batch []a2a.Event

	// descriptor is the turn descriptor of the current turn. If the agent's process
	// crashed, rerun is the next attempt of the turn, which begins after the current run.
	descriptor store.TurnDescriptor
	rerun      *turn
}

func newTask(e *Engine, k store.Key, log store.Log) *task {
	return &task{engine: e, key: k, phase: phaseUnread, log: log, mutex: semaphore.NewWeighted(1)}
}

// acquire returns the task with a key, and counts one more user of it until release.
// named is true if the task need not exist because its client chose the id (0.1).
func (e *Engine) acquire(ctx context.Context, k store.Key, named bool) (*task, error) {
	e.mu.Lock()
	if t := e.tasks[k]; t != nil {
		t.users++
		e.mu.Unlock()
		return t, nil
	}
	e.mu.Unlock()
	log, err := e.openBriefly(ctx, k)
	if err != nil && (!named || !errors.Is(err, store.ErrNotFound)) {
		return nil, storeError("open task", k.TaskID, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tasks[k]
	if t == nil {
		t = newTask(e, k, log)
		e.tasks[k] = t
	}
	t.users++
	return t, nil
}

// openBriefly opens the log of a task that is not kept, see Loads.Briefly.
func (e *Engine) openBriefly(ctx context.Context, k store.Key) (store.Log, error) {
	ctx, release := e.options.Loads.Briefly(ctx, k.Owner)
	defer release()
	return e.options.Store.Open(ctx, k)
}

func (e *Engine) release(t *task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.releaseLocked(t)
}

func (e *Engine) releaseLocked(t *task) {
	t.users--
	if t.users == 0 {
		delete(e.tasks, t.key)
	}
}

// isActive reports whether a run or a request uses a task.
func (e *Engine) isActive(k store.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tasks[k] != nil
}

// activeTasks returns the tasks that a run or a request uses.
func (e *Engine) activeTasks() []*task {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.tasks))
}

// lock waits for the lock, even if ctx ends.
func (t *task) lock(ctx context.Context) {
	if !t.mutex.TryAcquire(1) {
		_ = t.mutex.Acquire(context.WithoutCancel(ctx), 1)
	}
}

func (t *task) unlock() { t.mutex.Release(1) }

// lockWithin waits for the lock on behalf of a client, for at most beginRetryFor. After
// this time it returns an UNAVAILABLE error, because an append that the store does not
// answer may hold the lock. If ctx ends, it returns the cause of ctx.
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

func (t *task) state() a2a.State { return t.last.Status.State }

// working reports whether a call of the backend is in progress.
func (t *task) working() bool { return t.run != nil || t.input != nil }

// load reads the state of the task from the log. It does nothing if the state is known and
// cannot have changed, because this replica runs the task or no other replica uses the store.
func (t *task) load(ctx context.Context) error {
	if t.working() || t.engine.coordinator.Exclusive() && t.phase != phaseUnread {
		return nil
	}
	if _, err := t.read(ctx); err != nil {
		return err
	}
	if t.state().Terminal() {
		t.move(onReadEnd)
	} else {
		t.move(onRead)
	}
	return nil
}

// read reads the snapshot of the log, updates the task from the snapshot and returns it.
func (t *task) read(ctx context.Context) (*a2a.Record, error) {
	record, err := t.snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", t.key.TaskID, err)
	}
	t.seq = record.Seq
	t.last.Status = record.Task.Status
	if t.contextID == "" { // set once, because runs read it without the lock
		t.contextID = record.Task.ContextID
	}
	if !t.engine.coordinator.Exclusive() {
		t.bytes = int64(record.Task.Size())
	}
	t.turns = 0
	for _, m := range record.Task.History {
		if m.Role == a2a.RoleUser {
			t.turns++
		}
	}
	t.settle()
	return record, nil
}

// snapshot reads the snapshot of the log. While others use the memory for it, the error is store.ErrUnavailable.
func (t *task) snapshot(ctx context.Context) (*a2a.Record, error) {
	ctx, release := t.engine.options.Loads.Briefly(ctx, t.key.Owner)
	defer release()
	record, err := t.log.Snapshot(ctx)
	return record, unavailableWithoutMemory(err)
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
	m.TaskID = t.key.TaskID
	m.ContextID = t.contextID
	m.Role = a2a.RoleAgent
}

// remember adds a message to the conversation. A failure is only logged: the
// conversation is advice to the agent and no part of the task.
func (t *task) remember(ctx context.Context, m *a2a.Message) {
	if err := t.startRemembering(ctx, m)(); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "message not added to the conversation", "task", t.key.TaskID, "error", err)
	}
}

// startRemembering adds a message to the conversation before the next append. stored
// waits until the message is stored.
func (t *task) startRemembering(ctx context.Context, m *a2a.Message) (stored func() error) {
	return t.engine.options.Store.Remember(ctx, store.Conversation{Owner: t.key.Owner, ContextID: t.contextID}, m)
}

// inputRequest returns the input that the task waits for, and false if it waits for none.
func (t *task) inputRequest() (a2a.InputRequest, bool) {
	if t.state() != a2a.StateInputRequired {
		return a2a.InputRequest{}, false
	}
	return t.last.Status.Message.InputRequest()
}
