// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// turn is a message of a client, from its arrival to the answer of the agent.
type turn struct {
	intake
	outcome

	// request, message, logged and taskBefore are nil once the run has returned.
	request *a2a.SendRequest
	// message is a copy of the request's message with all ids. logged is the form of the
	// message in the log, without sensitive input.
	message, logged *a2a.Message
	// taskBefore is the task without the message, nil for a new task.
	taskBefore *a2a.Task

	// principal is the accounting principal that the turn queue charges.
	principal a2a.AccountingPrincipal
	// size estimates the bytes of the request. It does not change.
	size int64
	// taskBytes is the size of taskBefore that the turn queue counts for the turn, 0 if the store counts the task.
	taskBytes int64
	// taskID is the id of the task that the message continues or creates.
	taskID string
	// newContext is true if the engine made the context id. The conversation is then empty.
	newContext bool
	// number counts the turns of the task from 1.
	number int
	// acceptedAt is the number of the event with which the message was accepted, if it was
	// accepted while another turn of its task was running; otherwise 0.
	acceptedAt uint64
	// rerun is set if an earlier attempt of the turn was interrupted.
	rerun *rerun
}

// rerun describes the next attempt of a turn that was interrupted.
type rerun struct {
	descriptor store.TurnDescriptor
	// interrupted is the time of the last status before the attempt.
	interrupted time.Time
	// stale are the artifacts that the interrupted attempt created and the next attempt
	// has not replaced.
	stale map[string]bool
	// delay is the time until the attempt starts.
	delay time.Duration
}

func newTurn(r *a2a.SendRequest) *turn {
	return &turn{
		request: r, principal: r.ChargedTo(), size: sizeOf(r),
		outcome: outcome{decided: make(chan struct{}), stopped: make(chan struct{})},
	}
}

// sizeOf estimates the bytes of those fields of a request whose size the client chooses.
func sizeOf(r *a2a.SendRequest) int64 {
	return int64(r.Message.Size() + len(r.Metadata) + a2a.StringsSize(r.AcceptedOutputModes))
}

// queued returns the size of the turn for the turn queue, which multiplies it by memoryshare.TurnCost.
func (tn *turn) queued() int64 { return tn.size + tn.taskBytes/memoryshare.TurnCost }

// setMessage copies the message of the request, sets the role of a client, and adds an id if
// the message has none. A repeated call does not change the id.
func (tn *turn) setMessage() {
	m := *tn.request.Message
	if tn.message != nil {
		m.ID = tn.message.ID
	}
	tn.message = &m
	tn.logged = &m
	// A client may have sent another role, but task.read counts the messages with this role as
	// turns, and the agent must recognize its own messages.
	m.Role = a2a.RoleUser
	if m.ID == "" {
		m.ID = newID()
	}
}

// descriptor returns the turn descriptor of the first attempt. begin is the number of
// the event with the message.
func (tn *turn) descriptor(begin uint64) store.TurnDescriptor {
	return store.TurnDescriptor{
		Begin: begin, Attempt: 1, Redacted: tn.logged != tn.message, Claim: tn.claim, AccountingPrincipal: tn.request.AccountingPrincipal,
		AcceptedOutputModes: tn.request.AcceptedOutputModes, Metadata: tn.request.Metadata,
		Extensions: tn.request.Extensions, Trace: tn.request.Trace,
	}
}

// releaseRequest releases the fields that only the run needs, because deduplication keeps
// the turn in memory.
func (tn *turn) releaseRequest() {
	tn.request = nil
	tn.message = nil
	tn.logged = nil
	tn.taskBefore = nil
	tn.former = nil
}

// newID returns a random id (UUID version 7). Ids sort by the time of their creation.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
