// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"
)

// MessageClaim is the value of a claim on a message: the replica that claimed the
// message, and the task of the message.
type MessageClaim struct {
	Replica Replica
	TaskID  string
	// Nonce distinguishes the claim from a later one of the same replica and task.
	// It contains no line break.
	Nonce string
}

// ClaimedMessage is a claim with the name of its message.
type ClaimedMessage struct {
	Message string
	MessageClaim
}

// MaxTaskClaims bounds the claims that a continuation or a cancellation of a task ends: the
// claims on the messages that began the latest turns of the task. Older claims end with
// their window.
const MaxTaskClaims = 16

// Claims deduplicates messages between replicas: only one replica processes a message
// that a client sends again. A claim ends with its window, by Unclaim, or when the
// task of its message is continued or canceled (HoldChange). KeepClaims extends it.
type Claims interface {
	// Claim claims a message for a window, by the clock of the store, and returns
	// the claim that is in effect: c, or an earlier claim that has not ended.
	Claim(ctx context.Context, message string, c MessageClaim, window time.Duration) (MessageClaim, error)
	// KeepClaims makes the claims on the messages that began the turns of the tasks that the
	// replica holds last for at least a window from now. It brings no claim back that has ended.
	KeepClaims(ctx context.Context, window time.Duration) error
	// Unclaim ends the claim c, and no other claim on the same message. It changes nothing and returns true if a turn of one of
	// the tasks has begun with the claim: a caller that looked for the message in these tasks has to look again.
	Unclaim(ctx context.Context, message string, c MessageClaim, tasks ...Key) (begun bool, err error)
}
