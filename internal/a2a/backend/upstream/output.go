// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
)

// output is the output that a turn has emitted.
type output struct {
	// messages has the ids of the messages in statuses. openArtifacts has the ids of the
	// artifacts whose last chunk has not arrived.
	messages, openArtifacts map[string]bool
	// hasArtifact is true once the turn has emitted an artifact, and hasMessage once it has
	// emitted a message without a task.
	hasArtifact, hasMessage bool
}

func newOutput() output { return output{messages: map[string]bool{}, openArtifacts: map[string]bool{}} }

// errTaskIncomplete is the cause of a failure if the task lacks output that its stream had
// begun to send.
var errTaskIncomplete = errors.New("the task lacks output that its stream began")

// checkKept returns a failure if a completed task has lost output: it lacks an artifact that
// its stream began, or it has no output at all. recovered is true if the task had messages
// that its stream did not contain.
func (o *output) checkKept(t *a2a.Task, recovered bool) error {
	kept := map[string]bool{}
	for i := range t.Artifacts {
		kept[t.Artifacts[i].ID] = true
	}
	for id := range o.openArtifacts {
		if !kept[id] {
			return backend.Interrupted("The agent's answer broke off in an artifact that its task does not contain", errTaskIncomplete)
		}
	}
	if !recovered && !o.hasArtifact && len(t.Artifacts) == 0 && t.Status.Message == nil {
		return backend.Interrupted("The agent's answer broke off, and its task has no output", errTaskIncomplete)
	}
	return nil
}
