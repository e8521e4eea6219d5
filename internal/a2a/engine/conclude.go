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

// Status messages of tasks that fail although the agent did not report a failure.
const (
	reasonFull     = "The task holds more than can be kept"
	reasonStore    = "The task could not be stored"
	reasonInternal = "The agent could not be run"
	reasonInput    = "No input was given within "
	reasonPush     = "The push notification configuration was refused"
	reasonShutdown = "The agent was shut down before it finished"
)

// conclude brings a task whose last run has returned into a state that is terminal or
// interrupted, unless its turn is re-run.
func (t *task) conclude(ctx context.Context, r *run, err error) {
	if t.answered || t.lost {
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
	if !t.paused {
		return
	}
	t.stopInputTimer()
	if err := t.append(ctx, append(t.batch[:0], t.statusEvent(t.state(), t.status.Message))); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "status not stored", "task", t.key.TaskID, "error", err)
	}
}

// finish appends a terminal state.
func (t *task) finish(ctx context.Context, state a2a.State, m *a2a.Message) {
	t.appendEnd(ctx, t.statusEvent(state, m))
}

// appendEnd appends a terminal status. If the store does not take it, the task ends in
// memory all the same, so that its clients do not wait.
func (t *task) appendEnd(ctx context.Context, last a2a.Event) {
	err := t.append(ctx, append(t.batch[:0], last))
	if t.lost {
		return
	}
	if err != nil && !errors.Is(err, backend.ErrEnded) {
		t.engine.options.Log.ErrorContext(ctx, "end of task not stored", "task", t.key.TaskID, "error", err)
	}
	t.ended(nil, errOver)
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
	case errors.Is(err, backend.ErrEnded):
		return a2a.StateFailed, reasonInternal
	default:
		t.engine.options.Log.ErrorContext(ctx, "turn not run", "task", t.key.TaskID, "error", err)
		if errors.Is(err, errStore) {
			return a2a.StateFailed, reasonStore
		}
		return a2a.StateFailed, reasonInternal
	}
}

// rememberArtifact adds the artifact of the turn to the conversation: it is an answer
// of the agent like a message.
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

func artifactOf(t *a2a.Task, id string) *a2a.Artifact {
	if t == nil {
		return nil
	}
	for i := range t.Artifacts {
		if t.Artifacts[i].ID == id {
			return &t.Artifacts[i]
		}
	}
	return nil
}
