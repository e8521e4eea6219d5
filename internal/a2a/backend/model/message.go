// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/completions"
)

// begin records the message of the turn, unless an earlier attempt has done so: decisions about calls, the answer to the question of a
// tool, or a message for the model. isPaused is true if the message decides nothing: the task then waits with the same request.
func (l *loop) begin(ctx context.Context) (isPaused bool, err error) {
	if l.transcript.hasMessage {
		return false, nil
	}
	if l.transcript.asked != nil {
		return l.beginDecided(ctx)
	}
	if paused := l.transcript.in(callPaused); len(paused) > 0 {
		return l.beginAnswered(ctx, paused[0])
	}
	message := completions.Message{Role: completions.RoleUser}
	for i := range l.turn.Message.Parts {
		if problem := message.Add(&l.turn.Message.Parts[i], l.options.CheckFile); problem != "" {
			return false, backend.Rejected(fmt.Sprintf("The agent rejected the message: message.parts[%d]: %s", i, problem))
		}
	}
	return false, l.record(ctx, entry{Message: &messageEntry{Text: message.Text, Images: message.Images}})
}
