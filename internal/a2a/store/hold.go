// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// HoldChange is the effect of an append on the hold on its task.
//
// The store compares the number of the last event before it compares the holder, so
// ErrConflict comes before ErrHeld. An append without events changes the hold only and wakes
// no watcher. A terminal status ends the hold, whatever the HoldChange.
type HoldChange uint8

const (
	// AnyHolder neither requires nor changes the hold. With it, any replica may cancel a task.
	// A cancellation also ends the claims on the messages that began the turns of the task.
	AnyHolder HoldChange = iota
	// Keep requires that the caller holds the task. Otherwise the append returns ErrHeld.
	// This fences tasks against split brain: a replica that has lost its lease, and then a
	// task, cannot append to the task.
	Keep
	// Take makes the caller the holder. The append returns ErrHeld if another replica
	// with a lease holds the task.
	Take
	// Release leaves the task without a holder. Like Take, it returns ErrHeld if another
	// replica with a lease holds the task.
	Release
	// Continue is Take for a message that continues a paused or ended task. It also ends the
	// claims on the messages that began earlier turns of the task, so that clients may send
	// the same messages again.
	Continue
)

// Hold is the hold on a task: the replica that runs the task, and the turn.
type Hold struct {
	Replica Replica
	// Alive is true if the replica had a lease when the store read the hold.
	Alive bool
	Turn  TurnDescriptor
	// RolledBack is true if the store has lost writes since the task last began to work
	// (ErrRolledBack). One of the lost writes may have ended the turn.
	RolledBack bool
}

// TurnDescriptor is the data that a replica needs, in addition to the log, to run a turn
// again.
type TurnDescriptor struct {
	// Begin is the number of the event with the message of the turn.
	Begin uint64
	// Attempt counts the runs of the turn from 1.
	Attempt int
	// Redacted is true if the log has only a redacted copy of the message of the turn, so
	// that the turn cannot be re-run.
	Redacted bool
	// Claim is the claim on the message of the turn; the zero value without one.
	Claim ClaimedMessage
	// The fields below are copies of the fields of the request.
	AccountingPrincipal a2a.AccountingPrincipal
	AcceptedOutputModes []string
	Metadata            a2a.Object
	Extensions          []string
	Trace               a2a.TraceContext `json:",omitzero"`
}
