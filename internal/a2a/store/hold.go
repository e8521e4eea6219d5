// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// HoldChange is what an append does to the hold on its task.
//
// The store compares the number of the last event before it compares the holder. An
// append without events changes the hold only and wakes no watcher. A terminal status
// ends the hold, with every HoldChange.
type HoldChange uint8

const (
	// AnyHolder is for appends that every replica may make: it leaves the hold. It is
	// how any replica cancels a task. A cancellation also ends the claims on the
	// messages that began the turns of the task.
	AnyHolder HoldChange = iota
	// Keep requires that the caller holds the task: otherwise ErrHeld.
	Keep
	// Take makes the caller the holder, unless another replica with a lease is:
	// ErrHeld.
	Take
	// Release leaves the task without a holder, under the same condition as Take.
	Release
	// Continue is Take for a message that continues a task which had stopped. It also
	// ends the claims on the messages that began the former turns of the task, so that
	// clients may send the same messages again.
	Continue
)

// Hold says who runs a task.
type Hold struct {
	Replica Replica
	// Alive is whether the replica had a lease a moment ago.
	Alive bool
	Turn  TurnDescriptor
	// RolledBack is true if the store has lost writes since the task began to work
	// (ErrRolledBack). The turn may have ended in one of them.
	RolledBack bool
}

// TurnDescriptor is what a replica has to know of a turn, beside the log, to run it again.
type TurnDescriptor struct {
	// Begin is the number of the event with the message of the turn.
	Begin uint64
	// Attempt counts the runs of the turn from 1.
	Attempt int
	// Redacted is true when the log has less of the message than the agent
	// received.
	Redacted bool
	// Claim is the claim on the message of the turn; the zero value without one.
	Claim ClaimedMessage
	// The fields below are those of the request.
	AccountingPrincipal a2a.AccountingPrincipal
	AcceptedOutputModes []string
	Metadata            a2a.Object
	Extensions          []string
	Trace               a2a.TraceContext `json:",omitzero"`
}
