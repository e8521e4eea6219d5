// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// maxMissed is how many messages of a task's history are asked for after a
// stream broke off. Servers that bound it refuse more than 10.
const maxHistory = 10

// errHeld ends the reading of a stream whose last status is held back until the
// task was asked for.
var errStatusHeld = errors.New("the task is asked for its output")

// emptySuccess reports whether a status completes the task in a stream that
// brought no output. Such a status is held back until the task was asked for its
// output: a server may keep more than it streams, as fasta2a keeps artifacts that
// its worker stores without publishing them.
func (r *run) isEmptySuccess(u *a2a.StatusUpdate) bool {
	return r.streaming && r.ids.task != "" && u.Status.State == a2a.StateCompleted &&
		u.Status.Message == nil && !r.hasArtifact && len(r.sentMessages) == 0 && !r.hasMessage
}

// errMissing says that the agent's task lacks what its stream began.
var errTaskIncomplete = errors.New("the task lacks what its stream began")

// poll asks for the task once. A history that makes the answer too long, or that the
// agent refuses, is done without.
func (r *run) poll(ctx context.Context, c *callParams) error {
	err := r.call(ctx, opGet, c)
	if err == nil || c.history == 0 || r.isTaskIncomplete(err) || ctx.Err() != nil {
		return err
	}
	problem, isFault := errors.AsType[*protocolError](err)
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	if isFault && problem.reason == a2a.ReasonInvalidParams || isFailure && !failure.Interrupted {
		c.history = 0
		return r.call(ctx, opGet, c)
	}
	return err
}

// doubts reports whether a poll found that the task lacks a part of the answer.
func (r *run) isTaskIncomplete(err error) bool { return errors.Is(err, errTaskIncomplete) }

// recoverMissed completes, from the agent's task, an answer whose stream broke
// off. It emits the agent's messages of this turn that the stream did not bring: a
// server may keep less than it streams, as LangGraph, which keeps the message
// but not the artifact that it made from it. It fails the turn if the task is
// completed without an artifact that the stream had begun, or without any
// output, because then a part of the answer is lost.
func (r *run) recoverOutput(t *a2a.Task) error {
	if !r.streamIncomplete && r.heldStatus == nil {
		return nil
	}
	recovered := r.recoverMessages(t)
	if t.Status.State != a2a.StateCompleted || !r.streamIncomplete {
		return nil
	}
	kept := map[string]bool{}
	for i := range t.Artifacts {
		kept[t.Artifacts[i].ID] = true
	}
	for id := range r.openArtifacts {
		if !kept[id] {
			return backend.Interrupted("The agent's answer broke off in an artifact that its task does not hold", errTaskIncomplete)
		}
	}
	if !recovered && !r.hasArtifact && len(t.Artifacts) == 0 && t.Status.Message == nil {
		return backend.Interrupted("The agent's answer broke off, and its task holds no output", errTaskIncomplete)
	}
	return nil
}

func (r *run) recoverMessages(t *a2a.Task) (recovered bool) {
	current := false
	for _, m := range t.History {
		switch {
		case m.ID == r.turn.Message.ID:
			current = true
		case !current || m.Role != a2a.RoleAgent || m.ID == "" || r.sentMessages[m.ID] || len(m.Parts) == 0,
			t.Status.Message != nil && t.Status.Message.ID == m.ID:
		default:
			recovered = true
			r.addStatus(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking, Message: m}})
		}
	}
	return recovered
}
