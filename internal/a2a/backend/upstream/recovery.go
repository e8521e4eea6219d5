// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// maxHistory is the number of messages of the task's history that polls request after a
// stream ended early. Servers with a limit refuse requests for more than 10.
const maxHistory = 10

// errStatusHeld ends the reading of a stream whose last status is held until a poll has
// confirmed the output.
var errStatusHeld = errors.New("the status is held until a poll")

// isEmptySuccess reports whether a status completes the task in a stream without output.
// Such a status is held until a poll: a server may store more than it streams, as fasta2a
// does with artifacts that its worker stores without publishing them.
func (r *run) isEmptySuccess(u *a2a.StatusUpdate) bool {
	return r.streaming && r.ids.task != "" && u.Status.State == a2a.StateCompleted &&
		u.Status.Message == nil && !r.hasArtifact && len(r.sentMessages) == 0 && !r.hasMessage
}

// errTaskIncomplete is the cause of a failure if the task lacks output that its stream had
// begun to send.
var errTaskIncomplete = errors.New("the task lacks output that its stream began")

// poll reads the task once, with the history that c requests. If that fails because the
// response is too long or the agent refuses the history, poll reads the task without its
// history.
func (r *run) poll(ctx context.Context, c *callParams) error {
	err := r.call(ctx, opGet, c)
	if err == nil || c.history == 0 || r.isTaskIncomplete(err) || ctx.Err() != nil {
		return err
	}
	problem, isProtocolError := errors.AsType[*protocolError](err)
	failure, isFailure := errors.AsType[*backend.TurnError](err)
	if isProtocolError && problem.reason == a2a.ReasonInvalidParams || isFailure && !failure.Interrupted {
		c.history = 0
		return r.call(ctx, opGet, c)
	}
	return err
}

// isTaskIncomplete reports whether a poll returned a task without a part of its output.
func (r *run) isTaskIncomplete(err error) bool { return errors.Is(err, errTaskIncomplete) }

// recoverOutput adds output that the task contains and its stream, which ended early, did
// not. It emits the agent's messages of this turn that the stream did not contain. A server
// may also store less than it streams: LangGraph stores the message, and not the artifact
// that it makes from the message. recoverOutput fails the turn if the completed task lacks an
// artifact that the stream began, or has no output, because a part of the output is lost.
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
			return backend.Interrupted("The agent's answer broke off in an artifact that its task does not contain", errTaskIncomplete)
		}
	}
	if !recovered && !r.hasArtifact && len(t.Artifacts) == 0 && t.Status.Message == nil {
		return backend.Interrupted("The agent's answer broke off, and its task has no output", errTaskIncomplete)
	}
	return nil
}

func (r *run) recoverMessages(t *a2a.Task) (recovered bool) {
	inTurn := false
	for _, m := range t.History {
		switch {
		case m.ID == r.turn.Message.ID:
			inTurn = true
		case !inTurn || m.Role != a2a.RoleAgent || m.ID == "" || r.sentMessages[m.ID] || len(m.Parts) == 0,
			t.Status.Message != nil && t.Status.Message.ID == m.ID:
		default:
			recovered = true
			r.addStatus(&a2a.StatusUpdate{Status: a2a.Status{State: a2a.StateWorking, Message: m}})
		}
	}
	return recovered
}
