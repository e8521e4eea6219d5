// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// accept takes a message for the task that it names.
func (t *task) accept(ctx context.Context, tn *turn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil {
		t.calm() // somebody else may be about to make it
	}
	if t.log == nil {
		if made, err := t.name(ctx, tn); made || err != nil {
			return err
		}
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	return t.take(ctx, tn)
}

// name makes the task that a client named, unless there is one by now.
func (t *task) name(ctx context.Context, tn *turn) (made bool, err error) {
	if !tn.request.ClientTaskID {
		return false, a2a.TaskNotFound(t.key.TaskID)
	}
	if t.loaded {
		// A turn has that id which may never be a task.
		return false, a2a.InvalidParams("message.taskId", "is not available")
	}
	if err = t.found(ctx, tn, true); !errors.Is(err, store.ErrExists) {
		return err == nil, err
	}
	// Another engine on the same store was first, and knows the context.
	t.contextID = ""
	t.log, err = t.engine.open(ctx, t.key)
	return false, err
}

// found begins the first turn of a task: at once, or when the agent says what
// it wants to be.
func (t *task) found(ctx context.Context, tn *turn, atOnce bool) error {
	m := tn.message
	contextID := m.ContextID
	if tn.fresh = contextID == ""; tn.fresh {
		m.ContextID = newID()
	}
	if err := t.engine.hire(t, tn, true); err != nil {
		return err
	}
	t.contextID, t.turns, tn.number = m.ContextID, 1, 1
	if atOnce {
		if err := t.create(ctx, tn, t.beginning(tn)); err != nil {
			t.engine.unhire(t, tn)
			m.ContextID = contextID
			return err
		}
	}
	t.loaded = true
	t.launch(ctx, tn)
	return nil
}

// take gives a message to a task that exists: it starts a run, brings the
// message to one that waits, or has the message wait for its turn.
func (t *task) take(ctx context.Context, tn *turn) error {
	tn.continues = false
	if err := t.find(ctx); err != nil {
		return err
	}
	if tn.onlyPaused && !t.awaits() {
		return errNotPaused
	}
	if c := tn.message.ContextID; c != "" && c != t.contextID {
		err := a2a.InvalidParams("message.contextId", "is not the context of the task")
		err.TaskID = t.key.TaskID
		return err
	}
	switch {
	case t.state().Terminal() && !tn.request.Restart:
		if followed, err := t.retold(ctx, tn); followed || err != nil {
			return err
		}
		return errTerminal(tn)
	case t.run == nil && t.input == nil, t.awaits():
		return t.proceed(ctx, tn)
	}
	return t.queue(ctx, tn)
}

// awaits reports whether the task is paused, and no message is on its way to it.
func (t *task) awaits() bool {
	return t.state().Interrupted() && t.input == nil && len(t.waiting) == 0
}

// queue has a message wait. It is refused as a whole, or not at all.
func (t *task) queue(ctx context.Context, tn *turn) error {
	var opening *a2a.Record
	if tn.request.ReturnImmediately {
		var err error
		if opening, err = t.log.Snapshot(ctx); err != nil {
			return storeError("read task", t.key.TaskID, err)
		}
	}
	if len(t.waiting) >= t.engine.options.MaxWaiting || !t.engine.keep(tn) {
		return errTooManyWaiting(t.key.TaskID)
	}
	if err := t.attach(ctx, tn); err != nil {
		t.engine.free(tn)
		return err
	}
	t.waiting = append(t.waiting, tn)
	if opening != nil {
		tn.open(t.log, opening)
	}
	return nil
}

// proceed begins the turn of a message, on the run that waits or on a new one.
func (t *task) proceed(ctx context.Context, tn *turn) error {
	if t.stalled != nil {
		return errStoreDown()
	}
	said := t.paused
	tn.continues = true
	if err := t.engine.hire(t, tn, true); err != nil {
		return err
	}
	err := t.attach(ctx, tn)
	if err == nil {
		err = t.begin(ctx, tn)
	}
	if err != nil {
		t.engine.unhire(t, tn)
		if errors.Is(err, errFollowed) {
			err = nil
		}
		return err
	}
	if t.run != nil {
		t.deliver(ctx, tn, said)
		return nil
	}
	t.launch(ctx, tn)
	return nil
}

// attach registers the push configuration that came with a message.
func (t *task) attach(ctx context.Context, tn *turn) error {
	if tn.request.Push == nil {
		return nil
	}
	config := *tn.request.Push
	config.TaskID = t.key.TaskID
	return wrapUnlessClientError("attach push configuration", t.engine.options.Pushes.Attach(ctx, t.key, config))
}
