// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Shared is a Store that several replicas use at once.
//
// Each replica has one lease, however many tasks it holds. While a replica has a
// lease, no other can take over its tasks. The hold on a task is part of the task and
// changes in the same step as its log. If a lease expires and its
// replica renews it, the replica still holds every task that no other took over
// meanwhile.
type Shared interface {
	Store
	// Join returns a new incarnation of a replica. It does not call the store: other
	// replicas see the incarnation from its first Renew on.
	Join(name string) Member
}

// Member is the side of a shared store that one replica uses. Its methods are called
// from many goroutines.
type Member interface {
	Store
	Lease
	Holds
	Inbox
	Claims
}

// Lease tells which replicas are alive.
type Lease interface {
	// Self is the caller.
	Self() Replica
	// Renew makes the lease end after a time, by the clock of the store. The first
	// call ends the lease of every other incarnation of the same name. It returns the
	// tasks that the caller holds at that moment. A run that began before the call and
	// whose task is not among them has lost the task. If the store has lost an earlier
	// renewal, Renew renews the lease, and returns the tasks and ErrRolledBack.
	Renew(ctx context.Context, lease time.Duration) ([]Key, error)
	// Leave ends the lease. Other replicas may take over what the caller still holds.
	Leave(ctx context.Context) error
	// Alive reports whether a replica has a lease.
	Alive(ctx context.Context, r Replica) (bool, error)
	// Dead returns the replicas whose lease has ended and that may still hold tasks or
	// push configurations. The store forgets a replica that holds nothing after a
	// while.
	Dead(ctx context.Context) ([]Replica, error)
}

// Holds tells which replica holds which task.
type Holds interface {
	// Holding returns the tasks that a replica holds.
	Holding(ctx context.Context, r Replica) ([]Key, error)
	// Holder returns the hold on a task; the zero value without one. It returns
	// ErrNotFound without such a task.
	Holder(ctx context.Context, k Key) (Hold, error)
}

// MaxInbox bounds the messages in the inbox of one replica.
const MaxInbox = 256

// Inbox carries messages between replicas.
type Inbox interface {
	// Post puts a message into the inbox of a replica and returns its place there.
	// It returns ErrNotFound for a replica without a lease, and ErrFull.
	Post(ctx context.Context, to Replica, m *InboxMessage) (place string, err error)
	// Withdraw removes a message from an inbox, and reports whether it was still
	// there. A message that was withdrawn is never received.
	Withdraw(ctx context.Context, to Replica, place string) (bool, error)
	// Receive waits for messages to the caller and removes them from the inbox, the
	// oldest first. Only one goroutine may call it.
	Receive(ctx context.Context) ([]*InboxMessage, error)
}

// InboxKind is the kind of a message between replicas.
type InboxKind uint8

const (
	// ForwardedMessage is a client's message, for the replica that runs its task or
	// that knows the outcome of the same message.
	ForwardedMessage InboxKind = iota + 1
	// MessageAccepted is the answer that the replica accepted the message: it runs,
	// or is queued.
	MessageAccepted
	// MessageDecided is the answer with the outcome for the client.
	MessageDecided
	// ReviewTask tells the holder of a task that another replica appended to its
	// log.
	ReviewTask
)

// InboxMessage is a message between replicas. It holds values only, so that a store
// may encode it as JSON.
type InboxMessage struct {
	From Replica
	Kind InboxKind
	// Number is set by the sender of a message; the answers have the same one.
	Number uint64
	Task   Key
	// Request is the request of a ForwardedMessage. Its Push, if any, was checked.
	Request *a2a.SendRequest
	// Claim is the claim on that message; the zero value without one.
	Claim ClaimedMessage
	// Seq, Message and Problem are the outcome: the number of the event in the log
	// of Task with which the turn begins, an answer without a task, or a refusal.
	Seq     uint64
	Message *a2a.Message
	Problem *a2a.Error
}

// SharedPushStore is a PushStore of several replicas. Push.Replica is the one
// replica that delivers a configuration.
type SharedPushStore interface {
	PushStore
	// Adopt gives a configuration to another replica, if its generation and replica
	// are still those of p; otherwise it returns ErrNotFound.
	Adopt(ctx context.Context, p Push, by Replica) error
	// UnfinishedOf is Unfinished for the configurations of one replica.
	UnfinishedOf(ctx context.Context, r Replica, yield func(Push) bool) error
}
