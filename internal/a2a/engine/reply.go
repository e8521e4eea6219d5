// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// findPaused finds the task that a message with a context and no task may continue
// (Options.ContinuePaused): the only paused task of the owner in that context or, of several, the
// only one that the message refers to. It searches once for each turn, when the message arrives.
func (e *Engine) findPaused(ctx context.Context, tn *turn) error {
	m := tn.message
	if tn.searched || m.TaskID != "" || m.ContextID == "" || !e.options.ContinuePaused() {
		return nil
	}
	ids, err := e.options.Store.Paused(ctx, store.Conversation{Owner: tn.request.Owner, ContextID: m.ContextID})
	if err != nil {
		return storeError("find paused tasks", "", err)
	}
	tn.searched = true
	tn.pausedTask = ""
	switch {
	case len(ids) == 1:
		tn.pausedTask = ids[0]
	case len(ids) > 1:
		tn.pausedTask, err = e.referencedPaused(ctx, tn)
	}
	return err
}

// referencedPaused returns the id of the only paused task in the context of a message to which the
// message refers, "" if there is none or more than one.
func (e *Engine) referencedPaused(ctx context.Context, tn *turn) (string, error) {
	references := tn.message.ReferenceTasks
	found := ""
	for _, id := range references[:min(len(references), maxReferences)] {
		log, err := e.options.Store.Open(ctx, store.Key{Owner: tn.request.Owner, TaskID: id})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", storeError("find paused tasks", id, err)
		}
		now, err := log.Snapshot(ctx)
		if err != nil {
			return "", storeError("find paused tasks", id, err)
		}
		if now.Task.ContextID != tn.message.ContextID || !now.Task.Status.State.Interrupted() || id == found {
			continue
		}
		if found != "" {
			return "", nil
		}
		found = id
	}
	return found, nil
}

// reply accepts a message with a context and no task for the paused task of the context.
// It returns false if the message has to begin a new task. Of two concurrent replies, one
// continues the paused task, and the other begins a new task.
func (e *Engine) reply(ctx context.Context, tn *turn) (accepted bool, err error) {
	if err := e.findPaused(ctx, tn); err != nil {
		return false, err
	}
	if tn.pausedTask != "" {
		accepted, err = e.replyTo(ctx, tn, tn.pausedTask)
		if accepted || err != nil {
			return accepted, err
		}
		tn.pausedTask = ""
	}
	return e.claimNewTask(ctx, tn)
}

func (e *Engine) replyTo(ctx context.Context, tn *turn, id string) (accepted bool, err error) {
	return e.withTask(ctx, tn, id, func(t *task) (bool, error) {
		if !t.awaitsMessage() {
			return false, nil
		}
		claimed := tn.taskID
		tn.message.TaskID = id
		tn.taskID = id
		tn.onlyPaused = true
		err := t.acceptLoaded(ctx, tn)
		switch {
		case errors.Is(err, errNotPaused):
			tn.message.TaskID = ""
			tn.taskID = claimed
			tn.onlyPaused = false
			return false, nil
		case err == error(errTurnLimit): //nolint:errorlint // only the unwrapped error counts
			// The message now waits in the turn queue, and the task may continue or end before the
			// turn starts. admit then looks for a task again.
			tn.taskID = claimed
			tn.onlyPaused = false
		}
		return true, err
	})
}

// withTask locks and loads a task of the owner of a turn, and calls do with it. If there
// is no such task, it returns false and does not call do.
func (e *Engine) withTask(ctx context.Context, tn *turn, id string, do func(*task) (bool, error)) (bool, error) {
	t, err := e.acquire(ctx, store.Key{Owner: tn.request.Owner, TaskID: id}, false)
	if err != nil {
		return false, unlessMissing(err)
	}
	defer e.release(t)
	if err := t.lockWithin(ctx); err != nil {
		return false, err
	}
	defer t.unlock()
	if t.log == nil {
		return false, nil
	}
	if err := t.load(ctx); err != nil {
		return false, unlessMissing(err)
	}
	return do(t)
}

// claimNewTask claims a message again, for a new task, if its claim names a paused task that
// did not accept the message. The claim has to name the task of the message, because other
// replicas look for the message in that task. accepted is true if the message got a turn in
// the meantime, here or at another replica.
func (e *Engine) claimNewTask(ctx context.Context, tn *turn) (accepted bool, err error) {
	if tn.releaseClaim == nil || tn.taskID != "" {
		return false, nil
	}
	tn.releaseClaim()
	tn.releaseClaim = nil
	return e.claim(ctx, tn)
}

// answerInput accepts a message without a task id as the answer to an input request, if the
// message refers to exactly one task (ReferenceTasks) and answers the request of this task.
// Otherwise it returns false.
func (e *Engine) answerInput(ctx context.Context, tn *turn) (accepted bool, err error) {
	if len(tn.message.ReferenceTasks) != 1 || !tn.message.HasResult() {
		return false, nil
	}
	return e.withTask(ctx, tn, tn.message.ReferenceTasks[0], func(t *task) (bool, error) {
		request, ok := t.inputRequest()
		if c := tn.message.ContextID; !ok || !tn.message.Answers(request.ID) || c != "" && c != t.contextID {
			return false, nil
		}
		claimed := tn.taskID
		tn.message.TaskID = t.key.TaskID
		tn.taskID = t.key.TaskID
		err := t.acceptLoaded(ctx, tn)
		if err == error(errTurnLimit) { //nolint:errorlint // only the unwrapped error counts
			tn.taskID = claimed // the task may stop waiting before the queue starts the turn
		}
		return true, err
	})
}
