// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// conclude is called when the last run of a task has returned err. If the task does not
// exist yet, conclude creates it. If the task is neither terminal nor interrupted, conclude
// appends a terminal state, or prepares the re-run of the turn (task.rerun). It does nothing
// if the agent answers without a task, if the task is lost, or if the message was refused
// before the task was created.
func (t *task) conclude(ctx context.Context, r *run, err error) {
	if t.phase == phaseLost || t.log == nil && r.turn.isRefused() {
		return
	}
	if r.held != nil && t.log == nil && err == nil {
		t.answerWithoutTask(ctx, r, r.held)
		return
	}
	t.releaseHeld(ctx, r)
	if t.phase == phaseLost {
		return
	}
	if createErr := t.ensureCreated(ctx, r); createErr != nil {
		r.turn.refuse(createErr)
		return
	}
	switch {
	case t.state().Terminal():
	case t.state().Interrupted():
		t.appendNotPaused(ctx)
	case err == nil:
		t.engine.freeTurn(r)
		t.finish(ctx, a2a.StateCompleted, r.lastMessage)
	case t.retryAfterCrash(ctx, err):
		return
	default:
		state, reason := t.failure(ctx, err)
		t.engine.freeTurn(r)
		t.finish(ctx, state, t.agentMessage(reason))
	}
	t.rememberArtifact(ctx, r)
}

// appendNotPaused repeats the interrupted status of a task without Paused, because the
// run that waited has returned. The input timer stops even if the append fails.
func (t *task) appendNotPaused(ctx context.Context) {
	if !t.last.Paused {
		return
	}
	t.stopInputTimer()
	if err := t.append(ctx, append(t.batch[:0], t.statusEvent(t.state(), t.last.Status.Message))); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "status not stored", "task", t.key.TaskID, "error", err)
	}
}

// failure returns the state and the status message for the error of a run.
func (t *task) failure(ctx context.Context, err error) (state a2a.State, reason string) {
	var failure *backend.TurnError
	switch {
	case errors.As(err, &failure):
		t.engine.options.Log.InfoContext(ctx, "turn failed", "task", t.key.TaskID, "state", failure.State.String(), "error", err)
		return failure.State, failure.Reason
	case errors.Is(err, store.ErrFull):
		return a2a.StateFailed, reasonFull
	case errors.Is(err, backend.ErrTurnEnded):
		return a2a.StateFailed, reasonInternal
	default:
		t.engine.options.Log.ErrorContext(ctx, "turn not run", "task", t.key.TaskID, "error", err)
		if errors.Is(err, errStore) {
			return a2a.StateFailed, reasonStore
		}
		return a2a.StateFailed, reasonInternal
	}
}

// rememberArtifact adds the artifact of the turn to the conversation, because an artifact
// answers the client as a message does.
func (t *task) rememberArtifact(ctx context.Context, r *run) {
	if !r.wroteArtifact {
		return
	}
	record, err := t.log.Snapshot(ctx)
	if err != nil {
		return
	}
	if a := artifactOf(record.Task, r.artifactID()); a != nil && len(a.Parts) > 0 {
		m := &a2a.Message{Parts: a.Parts}
		t.fill(m)
		t.remember(ctx, m)
	}
}
