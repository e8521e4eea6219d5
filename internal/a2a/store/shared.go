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
// Each replica has one lease, however many tasks it holds. While a replica has a lease, no
// other replica can take over its tasks. The hold on a task is part of the task and changes
// in the same step as the log of the task. A replica that renews its lease after the lease
// has ended still holds every task that no other replica took over meanwhile.
type Shared interface {
	Store
	// Join returns a new incarnation of a replica. It does not call the store: other
	// replicas see the incarnation from its first Renew on.
	Join(name string) Member
}

// Member is the access of one replica to a shared store. Its methods are safe for
// concurrent use, except Receive.
type Member interface {
	Store
	Lease
	Holds
	Inbox
	Claims
}

// Lease manages the lease of the caller, and reports which replicas are alive.
type Lease interface {
	// Self returns the incarnation of the caller.
	Self() Replica
	// Renew sets the end of the lease to a time after the call, by the clock of the
	// store. The first call ends the lease of every other incarnation of the same name.
	// It returns the tasks that the caller holds at that moment. A run that began before
	// the call has lost its task if the task is not among them. If the store has lost an
	// earlier renewal, Renew renews the lease, and returns the tasks and ErrRolledBack.
	Renew(ctx context.Context, lease time.Duration) ([]Key, error)
	// Leave ends the lease. Other replicas may take over the tasks that the caller still
	// holds.
	Leave(ctx context.Context) error
	// Alive reports whether a replica has a lease.
	Alive(ctx context.Context, r Replica) (bool, error)
	// Dead returns the replicas whose lease has ended and that may still hold tasks or push
	// configurations. The store forgets a replica an hour after the end of its lease if the
	// replica holds no task, even if it still holds push configurations.
	Dead(ctx context.Context) ([]Replica, error)
}

// Holds reports which replica holds which task, and which messages wait for the holder.
type Holds interface {
	// Holding returns the tasks that a replica holds.
	Holding(ctx context.Context, r Replica) ([]Key, error)
	// Holder returns the hold on a task; the zero value if no replica holds it. It
	// returns ErrNotFound if the task does not exist.
	Holder(ctx context.Context, k Key) (Hold, error)
	// Waiting returns the waiting messages of a task, the oldest first.
	Waiting(ctx context.Context, k Key) ([]WaitingMessage, error)
}

// MaxInbox bounds the messages in the inbox of one replica.
const MaxInbox = 256

// Inbox transports messages between replicas.
type Inbox interface {
	// Post puts a message into the inbox of a replica and returns its place there. It
	// returns ErrNotFound for a replica without a lease, and ErrFull if the inbox is
	// full.
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
	// ForwardedMessage is a client's message, for the replica that runs its task or that has
	// the claim on the message.
	ForwardedMessage InboxKind = iota + 1
	// MessageAccepted is the answer that the replica accepted the message: its turn runs
	// or waits in a queue.
	MessageAccepted
	// MessageDecided is the answer with the outcome for the client.
	MessageDecided
	// ReviewTask informs the holder of a task that another replica appended to the log of
	// the task.
	ReviewTask
)

// InboxMessage is a message between replicas. It contains only data, so that a store may
// encode it as JSON.
type InboxMessage struct {
	From Replica
	Kind InboxKind
	// Number identifies a message of its sender. The answers to the message have the same
	// number.
	Number uint64
	Task   Key
	// Request is the request of a ForwardedMessage. If the receiver has the claim on the
	// message, the sender has checked neither Request.Push nor the token budget of the client.
	// The receiver checks both before the message has an effect.
	Request *a2a.SendRequest
	// Claim is the claim on the message of Request; the zero value without one.
	Claim ClaimedMessage
	// Seq, Message and Problem are the outcome in a MessageDecided; exactly one of them is
	// set. Seq is the number of the event in the log of Task with which the turn begins.
	// Message is an answer without a task, and Problem a refusal.
	Seq     uint64
	Message *a2a.Message
	Problem *a2a.Error
}

// SharedPushStore is a PushStore of several replicas. Push.Replica is the one
// replica that delivers a configuration.
type SharedPushStore interface {
	PushStore
	// Adopt assigns the configuration p to the replica by. It returns ErrNotFound if the
	// stored configuration no longer has the generation and the replica of p.
	Adopt(ctx context.Context, p Push, by Replica) error
}
