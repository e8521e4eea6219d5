// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

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
	record, err := t.log.Snapshot(ctx)
	if err != nil {
		return nil, storeError("read task", t.key.TaskID, err)
	}
	t.seq = record.Seq
	t.last.Status = record.Task.Status
	if t.contextID == "" { // set once, because runs read it without the lock
		t.contextID = record.Task.ContextID
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
