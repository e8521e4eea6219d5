// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// lookForPaused finds the task that a message may continue although it names a
// context only: the only paused task of its owner in that context. It does so once,
// when the message arrives.
func (e *Engine) lookForPaused(ctx context.Context, tn *turn) error {
	m := tn.message
	if tn.looked || m.TaskID != "" || m.ContextID == "" || !e.options.ContinuePaused() {
		return nil
	}
	ids, err := e.options.Store.Paused(ctx, store.Conversation{Owner: tn.request.Owner, ContextID: m.ContextID})
	if err != nil {
		return storeError("look for paused tasks", "", err)
	}
	tn.looked, tn.pausedTask = true, ""
	if len(ids) == 1 {
		tn.pausedTask = ids[0]
	}
	return nil
}

// reply gives a message that names a context only to the paused task of that
// context, and reports whether there is one that still waits. Of two replies at
// once, one continues the task; the other begins a new one, as any message does
// that finds no paused task.
func (e *Engine) reply(ctx context.Context, tn *turn) (taken bool, err error) {
	if err := e.lookForPaused(ctx, tn); err != nil {
		return false, err
	}
	if tn.pausedTask != "" {
		taken, err = e.replyTo(ctx, tn, tn.pausedTask)
		if taken || err != nil {
			return taken, err
		}
		tn.pausedTask = ""
	}
	return e.claimNewTask(ctx, tn)
}

func (e *Engine) replyTo(ctx context.Context, tn *turn, id string) (taken bool, err error) {
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: id}, false)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer e.release(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil {
		return false, nil
	}
	if err := t.load(ctx); err != nil {
		return false, unlessMissing(err)
	}
	if !t.awaits() {
		return false, nil
	}
	claimed := tn.taskID
	tn.message.TaskID, tn.taskID, tn.onlyPaused = id, id, true
	err = t.take(ctx, tn)
	switch {
	case errors.Is(err, errNotPaused):
		tn.message.TaskID, tn.taskID, tn.onlyPaused = "", claimed, false
		return false, nil
	case err == error(errTurnLimit): //nolint:errorlint // it is this very error
		// When there is a place, the task may not be paused any more.
		tn.taskID, tn.onlyPaused = claimed, false
	}
	return true, err
}

// claimNewTask has the claim on a message name a new task, when it names one that
// the message does not continue after all: whoever is sent the same message looks
// for it there. taken is true when another replica was first meanwhile.
func (e *Engine) claimNewTask(ctx context.Context, tn *turn) (taken bool, err error) {
	if tn.unclaim == nil || tn.taskID != "" {
		return false, nil
	}
	tn.unclaim()
	tn.unclaim = nil
	return e.replica.claim(ctx, tn)
}
