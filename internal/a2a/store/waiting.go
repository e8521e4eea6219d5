// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// WaitingMessage is an accepted message: its client already has an answer, and the message
// waits until another turn of its task has ended. The append that begins its turn removes
// it. A release and a terminal status remove all waiting messages of the task. A message
// therefore waits only while a replica holds the task.
type WaitingMessage struct {
	// Seq identifies the message: it is the number of the event with which the message
	// began to wait. The store sets it.
	Seq uint64
	// Request is the request with the ids of the message and without Push.
	Request *a2a.SendRequest
	// Claim is the claim on the message; the zero value without one.
	Claim ClaimedMessage
}

// WaitingChange adds a message to the waiting messages of a task, or removes one. Exactly
// one of Add and Remove is set. The append must have events.
type WaitingChange struct {
	Add *WaitingMessage
	// Before is the size of the messages that wait already when Add is added, in bytes.
	Before int
	// Remove is the Seq of a message. If the message does not wait any more, because
	// another replica began its turn, the append returns ErrHeld.
	Remove uint64
}

// Size estimates by how many bytes the task grows until the turn of the added message has
// begun. It is 0 if c is nil or adds no message.
func (c *WaitingChange) Size() int {
	if c == nil || c.Add == nil {
		return 0
	}
	return c.Before + c.Add.Request.Message.Size()
}
