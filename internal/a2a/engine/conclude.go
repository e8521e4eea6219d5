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

// What a client reads when the agent is not to blame.
const (
	reasonFull     = "The task holds more than can be kept"
	reasonStore    = "The task could not be stored"
	reasonInternal = "The agent could not be run"
	reasonInput    = "No input was given within "
	reasonPush     = "The push notification configuration was refused"
	reasonShutdown = "The agent was shut down before it finished"
)

// conclude is the last thing that a run says of its task: a run that ended
// leaves it finished or waiting for its client, never working.
func (t *task) conclude(ctx context.Context, r *run, err error) {
	if t.answered || t.forsaken {
		return
	}
	if createErr := t.ensure(ctx, r); createErr != nil {
		r.turn.refuse(createErr)
		return
	}
	switch {
	case t.state().Terminal():
	case t.state().Interrupted():
		t.unpause(ctx)
	case err == nil:
		t.engine.leave(r)
		t.finish(ctx, a2a.StateCompleted, r.word)
	case t.repeat(ctx, err):
		return
	default:
		state, reason := t.blame(ctx, err)
		t.engine.leave(r)
		t.finish(ctx, state, t.word(reason))
	}
	t.rememberArtifact(ctx, r)
}

// unpause tells those who were told that the run waits that it does no more.
// The time for an answer is over with the run, even if the log cannot say so.
func (t *task) unpause(ctx context.Context) {
	if !t.paused {
		return
	}
	t.expectNothing()
	if err := t.append(ctx, append(t.batch[:0], t.says(t.state(), t.status.Message))); err != nil {
		t.engine.options.Log.ErrorContext(ctx, "append to task", "task", t.key.TaskID, "error", err)
	}
}

// finish appends a terminal state. A store that cannot take it is an outage:
// nothing is left to be said, and those who wait are let go.
func (t *task) finish(ctx context.Context, state a2a.State, m *a2a.Message) {
	t.end(ctx, t.says(state, m))
}

// end is finish in other words.
func (t *task) end(ctx context.Context, last a2a.Event) {
	err := t.append(ctx, append(t.batch[:0], last))
	if t.forsaken {
		return
	}
	if err != nil && !errors.Is(err, backend.ErrEnded) {
		t.engine.options.Log.ErrorContext(ctx, "append to task", "task", t.key.TaskID, "error", err)
	}
	t.over(nil, errOver)
}

// blame turns the error of a run into what the client is told.
func (t *task) blame(ctx context.Context, err error) (state a2a.State, reason string) {
	var failure *backend.TurnError
	switch {
	case errors.As(err, &failure):
		t.engine.options.Log.InfoContext(ctx, "turn ended", "task", t.key.TaskID, "state", failure.State.String(), "error", err)
		return failure.State, failure.Reason
	case errors.Is(err, store.ErrFull):
		return a2a.StateFailed, reasonFull
	case errors.Is(err, backend.ErrEnded):
		// The run was let go, and nobody said why.
		return a2a.StateFailed, reasonInternal
	default:
		t.engine.options.Log.ErrorContext(ctx, "run turn", "task", t.key.TaskID, "error", err)
		if errors.Is(err, errStore) {
			return a2a.StateFailed, reasonStore
		}
		return a2a.StateFailed, reasonInternal
	}
}

// word returns a message of the server on the agent's behalf.
func (t *task) word(text string) *a2a.Message {
	m := &a2a.Message{Parts: []a2a.Part{a2a.TextPart(text)}}
	t.fill(m)
	return m
}

// rememberArtifact keeps what the agent wrote to the artifact of its turn: it
// is its answer, as much as a message is.
func (t *task) rememberArtifact(ctx context.Context, r *run) {
	if !r.spoke {
		return
	}
	record, err := t.log.Snapshot(ctx)
	if err != nil {
		return
	}
	for i := range record.Task.Artifacts {
		if a := &record.Task.Artifacts[i]; a.ID == r.artifactID() && len(a.Parts) > 0 {
			m := &a2a.Message{Parts: a.Parts}
			t.fill(m)
			t.remember(ctx, m)
			return
		}
	}
}
