// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package coordination decides which replica runs a task, for engines that may share
// their store with others.
//
// A Coordinator renews the lease of the replica, fences its writes, forwards messages to
// other replicas and finds the tasks of dead replicas. Single is for an engine that
// shares its store with no other, and does nothing. Shared implements the protocol that
// docs/explanation/replicas.md describes. An engine calls its Coordinator, which calls
// the engine through Host.
package coordination

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Coordinator connects an engine with the other replicas that use its store.
type Coordinator interface {
	Lease
	Ownership
	Journals
	Messages
}

// Journals writes the journals of tasks, fenced like Ownership.
type Journals interface {
	// AppendJournal appends to the journal of a task that this replica holds.
	AppendJournal(ctx context.Context, log store.Log, a store.JournalAppend) error
}

// Lease is the right of this replica to run tasks.
type Lease interface {
	// Start begins to renew the lease and to serve other replicas. It returns after the
	// first attempt to renew the lease, which takes at most a third of the lease.
	Start(h Host)
	// Stop ends the goroutines of Start and then the lease. Other replicas may take over
	// the tasks that this replica still holds. Stop may be called more than once.
	Stop(ctx context.Context)
	// Exclusive reports whether no other replica uses the store.
	Exclusive() bool
	// Fenced reports whether no run may start: before the first lease, and under
	// Options.FenceRuns also while the lease may have ended.
	Fenced() bool
	// Term returns a number that changes when the lease may have ended, and again with
	// the next renewal. Another replica may release the claims of an earlier term.
	Term() uint64
	// Interrupt ends the retries of all writes in progress. Such a write returns
	// store.ErrIndeterminate, or store.ErrUnavailable if it was not attempted yet. Later
	// writes are retried only for the default time of the store.
	Interrupt()
}

// Ownership returns and changes the replica that holds a task. It makes the writes of
// package store for this replica and fences them: a write returns store.ErrHeld if the
// replica has lost the task. A write continues when the context of its caller ends. Only
// Interrupt and a lease that may have ended (Fenced) end it early. An Append with
// store.AnyHolder is an exception: it is not fenced, and ends with the context of its caller.
type Ownership interface {
	// Owner returns the owner of a task, the zero value for none. It returns
	// store.ErrNotFound if the store does not have the task.
	Owner(ctx context.Context, k store.Key) (Owner, error)
	// Create creates a task whose first turn begins. term is the term in which the
	// replica claimed the message of the turn. In a later term, Create returns
	// store.ErrUnavailable, because another replica may process the message.
	Create(ctx context.Context, n store.NewTask, term uint64) (store.Log, error)
	// Begin appends the first events of a turn and takes the hold. If the outcome of
	// Begin or Create is indeterminate, the engine refuses the message, and the
	// Coordinator remembers the task. If the store has the message, Owner then reports it
	// as refused (Owner.Refused).
	Begin(ctx context.Context, k store.Key, log store.Log, a store.Append) (uint64, error)
	// RefuseTurn marks the message that created a task as refused: Owner.Refused is true
	// until another turn of the task begins. The engine calls it for a task that it has
	// created and could not reject.
	RefuseTurn(k store.Key)
	// Append appends to a task. It also checks or changes the hold, unless a.Hold is
	// store.AnyHolder.
	Append(ctx context.Context, log store.Log, a store.Append) (uint64, error)
	// RequestReview asks the replica that runs a task to read the log of the task. The
	// owner reads the log with the next renewal of its lease at the latest.
	RequestReview(ctx context.Context, o Owner, k store.Key)
}

// Messages are messages of clients that another replica may process or have processed.
type Messages interface {
	// Claim claims a message, so that no other replica processes it for c.Window. It returns
	// an error of the store, or an UNAVAILABLE error if other replicas keep claiming the
	// message.
	Claim(ctx context.Context, c ClaimRequest) (Claimed, error)
	// Waiting returns the waiting messages of a task that this replica may take over.
	Waiting(ctx context.Context, k store.Key) ([]store.WaitingMessage, error)
	// Forward sends a message to another replica and returns at once. It calls decide once,
	// from another goroutine, with the outcome of the message. If Forward itself returns an
	// error, it sends nothing and does not call decide.
	Forward(f Forwarded, decide func(context.Context, Outcome, error)) error
}

// Owner is the replica that holds a task, with the turn. Its zero value means that no
// replica holds the task.
type Owner struct {
	// Replica holds the task, "" for none.
	Replica store.Replica
	// Here is true if this replica holds the task. Alive is true if another replica holds
	// the task and has a lease.
	Here, Alive bool
	// Turn describes the turn that the holder runs or ran.
	Turn store.TurnDescriptor
	// RolledBack is store.Hold.RolledBack: the store has lost writes since the task last
	// began to work.
	RolledBack bool
	// Refused is true if this replica refused the message of the turn, and the store may have
	// the message: its write was indeterminate, or the engine called RefuseTurn.
	Refused bool
}

// ClaimRequest is a message that a replica is about to process.
type ClaimRequest struct {
	Request *a2a.SendRequest
	// Task is the task that the message continues, or the id of the task that it may
	// create.
	Task string
	// Former is the claim of an earlier turn of the same message at this replica.
	Former store.ClaimedMessage
	// Window is how long the claim lasts.
	Window time.Duration
}

// Claimed is the outcome of a claim. Exactly one of Mine, Former, Found and Replica is
// set.
type Claimed struct {
	// Claim is the claim in the store, the zero value without one.
	Claim store.ClaimedMessage
	// Mine is true if this replica processes the message. Release then ends the claim, and Term is the
	// term of the lease in which the claim was set. If Mine is false, Release is nil.
	Mine    bool
	Term    uint64
	Release func()
	// Former is true if the claim ClaimRequest.Former is still in effect. The message then
	// joins the turn of this claim.
	Former bool
	// Found is the event with which a turn of the same message began in a log.
	Found *Position
	// Replica is the living replica that has the claim on the message. The caller forwards
	// the message to it. Task is the task that the claim names.
	Replica store.Replica
	Task    string
}

// Position is an event in the log of a task.
type Position struct {
	Key store.Key
	Log store.Log
	Seq uint64
}

// Forwarded is a message of a client that goes to another replica. It has the ids with
// which it is logged.
type Forwarded struct {
	To      store.Replica
	Request *a2a.SendRequest
	// NewTask is set if To has the claim on the message: it is the task that this claim names.
	// If NewTask is "", Task is the task of the message, and To runs it. The receiver gets
	// NewTask only.
	Task, NewTask string
	Claim         store.ClaimedMessage
}

// Outcome is the decision about a message: an answer without a task, or the event with
// which its turn began.
type Outcome struct {
	Message *a2a.Message
	Turn    *Position
	// Found is true if Turn was found in a log, without an answer of the other replica.
	Found bool
	// Unknown is true, together with an error, if the other replica may process or may have
	// processed the message. The claim on the message then has to stay, so that other
	// replicas find the message in the log of its task.
	Unknown bool
}

// unknown is the Outcome of a message that the other replica may process.
var unknown = Outcome{Unknown: true}

// Host is the interface through which a Coordinator calls its engine.
type Host interface {
	Runs
	// TakeOver takes over a task if it is orphaned: it fails the task, re-runs its turn,
	// begins the turn of an accepted message, or ends the hold of a paused task.
	TakeOver(ctx context.Context, k store.Key) error
	// Draining reports whether the engine shuts down and refuses new messages.
	Draining() bool
	// Accept processes a message that another replica forwarded, like a message of a client
	// of this replica. It never forwards the message again.
	Accept(ctx context.Context, f Forwarded) Accepted
}

// Runs are the runs of an engine.
type Runs interface {
	// Active returns the tasks that a run or a request uses.
	Active() []store.Key
	// Review compares a task that runs here with its log and its owner, and cancels the runs
	// of the task if the task has ended or was taken over.
	Review(ctx context.Context, k store.Key)
	// StoreRolledBack is called after the store has lost acknowledged writes. It forgets which messages
	// this replica has processed. The caller calls review in the background, which cancels the
	// runs of tasks that lost events.
	StoreRolledBack() (review func(context.Context))
	// StopRuns cancels all runs and appends nothing, because the lease may end.
	StopRuns(ctx context.Context)
}

// Accepted is a message that an engine processes for another replica.
type Accepted interface {
	// Decided reports whether Wait returns at once.
	Decided() bool
	// Wait returns the decision.
	Wait(ctx context.Context) (Outcome, error)
}
