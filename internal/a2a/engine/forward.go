// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine/coordination"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// forward sends the message of a turn to another replica, which decides the turn. If the
// other replica claimed the message, newTask is the task that its claim names; otherwise it
// is "".
func (e *Engine) forward(tn *turn, to store.Replica, newTask string) error {
	request := *tn.request
	message := *tn.request.Message
	message.ID = tn.message.ID
	request.Message = &message
	f := coordination.Forwarded{To: to, Request: &request, Task: tn.taskID, NewTask: newTask, Claim: tn.claim}
	if !e.reserveForwarded(tn) {
		return errQueueBytes
	}
	err := e.coordinator.Forward(f, func(ctx context.Context, o coordination.Outcome, err error) {
		e.releaseForwarded(tn)
		switch {
		case err != nil:
			err = storeError("forward message", f.Task, err)
		case o.Message != nil:
			tn.decideWithAnswer(o.Message)
		default:
			tn.foundInLog = o.Found
			err = e.followFrom(ctx, tn, o.Turn)
			o.Unknown = true
		}
		if o.Unknown {
			tn.releaseClaim = nil // the claim stays: it names the task in which other replicas find the message
		}
		if err != nil {
			e.drop(tn, err)
		}
	})
	if err != nil {
		e.releaseForwarded(tn)
	}
	return err
}

// reserveForwarded does the same as reserveWaitingBytes for a message from or for another replica, until releaseForwarded. While no other
// message waits, one with the largest body fits into twice Options.WaitingBytes (memoryshare). A longer one is not forwarded.
func (e *Engine) reserveForwarded(tn *turn) bool {
	tn.forwarded = e.reserveWaiting(tn, 2*e.options.WaitingBytes)
	return tn.forwarded
}

func (e *Engine) releaseForwarded(tn *turn) {
	if tn.forwarded {
		tn.forwarded = false
		e.releaseWaitingBytes(tn)
	}
}
