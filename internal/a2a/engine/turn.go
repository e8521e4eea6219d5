// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
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

// intake is what the engine knows of a message while it finds out who processes the message: an
// earlier copy, another replica, a paused task or a new one.
type intake struct {
	// former is an earlier turn of the same message, nil for none. This turn replaces it
	// if the claim of the earlier turn has ended.
	former *turn
	// claim is the claim on the message in a shared store, the zero value without one.
	// releaseClaim ends the claim; nil if the claim belongs to another turn or must stay.
	claim        store.ClaimedMessage
	releaseClaim func()
	// term is the term of the lease in which the message was claimed (coordination.Lease).
	term uint64
	// handling records whether this replica forwards the message or has received a forwarded
	// copy of it. It is set at most once: two replicas could otherwise forward their copies
	// of a message to each other, and each wait for the other.
	handling atomic.Uint32
	// reserved is true while the turn queue counts the turn as running and no run has been
	// counted for it.
	reserved bool
	// searched is true once findPaused has searched the context for a paused task.
	// pausedTask is the id of this task, "" for none.
	searched   bool
	pausedTask string
	// continues is true if the message continues a task that had stopped. onlyPaused is
	// true if the message names a context and no task, and may continue only a paused
	// task.
	continues, onlyPaused bool
}

// The values of intake.handling.
const (
	// forwardedAway means that this replica forwards the message.
	forwardedAway = iota + 1
	// handledHere means that another replica has forwarded a copy to this replica.
	handledHere
)

// handle sets handling, and returns false if it already has another value.
func (in *intake) handle(how uint32) bool {
	return in.handling.CompareAndSwap(0, how) || in.handling.Load() == how
}

func newTurn(r *a2a.SendRequest) *turn {
	return &turn{
		request: r, principal: chargedTo(r), size: sizeOf(r),
		outcome: outcome{decided: make(chan struct{}), stopped: make(chan struct{})},
	}
}

// sizeOf estimates the bytes of those fields of a request whose size the client chooses.
func sizeOf(r *a2a.SendRequest) int64 {
	size := r.Message.Size() + len(r.Metadata)
	for _, mode := range r.AcceptedOutputModes {
		size += len(mode)
	}
	return int64(size)
}

// chargedTo returns the accounting principal of a request.
func chargedTo(r *a2a.SendRequest) a2a.AccountingPrincipal {
	return cmp.Or(r.AccountingPrincipal, a2a.AccountingPrincipal{Principal: r.Owner.Principal()})
}

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

// mayBeForgotten reports whether the turn has stopped in a task that another replica may
// have continued or canceled since.
func (tn *turn) mayBeForgotten() bool {
	select {
	case <-tn.stopped:
		return tn.isDecided() && tn.first != nil && tn.claim.Message != ""
	default:
		return false
	}
}

// become decides the turn with the outcome of another turn of the same message, which has
// stopped.
func (tn *turn) become(other *turn) {
	tn.taskID = other.taskID
	tn.claim = other.claim
	tn.last = other.last
	tn.foundInLog = other.foundInLog
	tn.elsewhere = other.elsewhere
	tn.decideWithTask(other.log, other.first)
	tn.stop()
	tn.releaseRequest()
}

// follow decides a turn whose message another replica processes or has processed. first is
// the task at the beginning of the turn there.
func (tn *turn) follow(log store.Log, k store.Key, first *a2a.Record) {
	tn.taskID = k.TaskID
	tn.elsewhere = true
	tn.decideWithTask(log, first)
	tn.stop()
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

// rerun describes the next attempt of a turn that was interrupted.
type rerun struct {
	descriptor store.TurnDescriptor
	// stale are the artifacts that the interrupted attempt created and the next attempt
	// has not replaced.
	stale map[string]bool
	// delay is the time until the attempt starts.
	delay time.Duration
}

// run is one call of the backend.
type run struct {
	turn *turn
	// principal is the accounting principal that the turn queue charges for the run.
	principal a2a.AccountingPrincipal
	started   time.Time
	// cancelCall cancels the context of the call; nil until the call begins.
	cancelCall context.CancelCauseFunc
	// freed is true once the turn queue counts the turn as ended. Only the goroutine of
	// the run uses it.
	freed bool
	// done closes when the call has returned; nil until whenReturned needs it.
	done chan struct{}
	// ignored is true once the engine ignores the events of the agent. returned is true
	// once the call has returned.
	ignored, returned bool
	// responded is true once the agent has sent an event.
	responded bool
	// input is true while this run delivers the client's input to the run of the task that
	// waits for it. It becomes false if this run replaces the waiting run (replaceRun, asInput).
	input bool
	// held is the newest message that the agent sent without a status, until its place is decided
	// (see hold); otherwise nil.
	held *a2a.Message
	// lastMessage is the newest message that the agent sent without a status, and nil after a
	// status with a message. It becomes the message of a status without one that ends or pauses
	// the task.
	lastMessage *a2a.Message
	// chunked maps the ids of messages that the agent sends in chunks to the ids of their artifacts.
	chunked map[string]string
	// artifact is the id of the turn's artifact, "" until artifactID is called.
	// wroteArtifact is true if the agent wrote to it, and hasArtifact if it wrote to any.
	artifact                   string
	wroteArtifact, hasArtifact bool
}

func (r *run) artifactID() string {
	if r.artifact == "" {
		r.artifact = backend.ArtifactID(r.turn.number)
	}
	return r.artifact
}

// cancel makes the engine ignore the run and cancels the context of its call, with a
// cause. The lock of the task is held.
func (r *run) cancel(why error) {
	r.ignored = true
	if r.cancelCall != nil {
		r.cancelCall(why)
	}
}

// whenReturned returns a channel that closes when the call has returned. The lock of the
// task is held.
func (r *run) whenReturned() <-chan struct{} {
	if r.done == nil {
		r.done = make(chan struct{})
		if r.returned {
			close(r.done)
		}
	}
	return r.done
}

// hasReturned records that the call has returned. The lock of the task is held.
func (r *run) hasReturned() {
	r.returned = true
	if r.done != nil {
		close(r.done)
	}
}
