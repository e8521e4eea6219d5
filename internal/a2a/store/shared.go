// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// Replica names one life of a replica: "<name>/<incarnation>". The name is the
// pod's, which a restarted container keeps; the incarnation is random.
type Replica string

// Name returns the name without the incarnation.
func (r Replica) Name() string {
	return string(r[:max(strings.LastIndexByte(string(r), '/'), 0)])
}

// Shared is a Store that several replicas use at once.
//
// Each replica has one lease, however many tasks it holds. While a replica has a
// lease, no other can take over its tasks. The hold on a task is part of the task and
// changes in the same step as its log. So a replica whose lease expired and that
// renews it still holds the tasks that no other has taken over.
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
	// whose task is not among them has lost the task.
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
	// clients may send the same messages anew.
	Continue
)

// Hold says who runs a task.
type Hold struct {
	Replica Replica
	// Alive is whether the replica had a lease a moment ago.
	Alive bool
	Turn  TurnDescriptor
}

// TurnDescriptor is what a replica has to know of a turn, beside the log, to run it again.
type TurnDescriptor struct {
	// Begin is the number of the event that holds the turn's message.
	Begin uint64
	// Attempt counts the runs of the turn from 1.
	Attempt int
	// Redacted is true when the log holds less of the message than the agent was
	// told.
	Redacted bool
	// Claim is the one on the turn's message; the zero value without one.
	Claim ClaimedMessage
	// What follows is the request's.
	Payer               a2a.AccountingPrincipal
	AcceptedOutputModes []string
	Metadata            a2a.Object
	Extensions          []string
	TraceParent         string
}

// MaxInbox bounds what waits in the mailbox of one replica.
const MaxInbox = 256

// Inbox carries what replicas have to tell each other.
type Inbox interface {
	// Post puts a mail into the box of a replica and returns its place there. It
	// returns ErrNotFound for a replica without a lease, and ErrFull.
	Post(ctx context.Context, to Replica, m *InboxMessage) (place string, err error)
	// Withdraw takes a mail back, and reports whether it was still there: then it
	// never is received.
	Withdraw(ctx context.Context, to Replica, place string) (bool, error)
	// Receive waits for mail to the caller and takes it out of the box, the
	// oldest first. One goroutine calls it.
	Receive(ctx context.Context) ([]*InboxMessage, error)
}

// InboxKind is what a mail is about.
type InboxKind uint8

const (
	// ForwardedMessage brings a client's message to the replica that runs its task, or
	// that knows what became of the same message.
	ForwardedMessage InboxKind = iota + 1
	// MessageAccepted answers that the message was taken: it runs, or waits.
	MessageAccepted
	// MessageDecided answers what the sender of the message is told.
	MessageDecided
	// ReviewTask says that somebody else appended to the log of a task that the
	// receiver holds.
	ReviewTask
)

// InboxMessage is one thing that a replica tells another. It holds values only, so that
// a store may write it as JSON.
type InboxMessage struct {
	From Replica
	Kind InboxKind
	// Number is given by who asks, and comes back with the answers.
	Number uint64
	Task   Key
	// Request is that of a ForwardedMessage. Its Push, if any, was checked.
	Request *a2a.SendRequest
	// Claim is the one on that message; the zero value without one.
	Claim ClaimedMessage
	// Seq, Message and Problem are what was decided: the number of the event from
	// which on the turn is followed in the log of Task, or an answer without a
	// task, or a refusal.
	Seq     uint64
	Message *a2a.Message
	Problem *a2a.Error
}

// MessageClaim says who takes care of a message, and as which task.
type MessageClaim struct {
	Replica Replica
	TaskID  string
	// Nonce tells the claim from a later one of the same replica and task; it
	// holds no line break.
	Nonce string
}

// ClaimedMessage is a claim with the name of its message.
type ClaimedMessage struct {
	Message string
	MessageClaim
}

// MaxTaskClaims bounds the claims that one task can end: those on the messages
// that began its latest turns. Older ones end by themselves.
const MaxTaskClaims = 16

// Claims knows the messages of a while, so that one that is sent again to
// another replica is not taken twice. A claim ends with its window, by Unclaim,
// or when the task of its message is continued or canceled.
type Claims interface {
	// Claim claims a message for so much time, by the clock of the store, and
	// returns the claim that stands: c, unless somebody came before.
	Claim(ctx context.Context, message string, c MessageClaim, window time.Duration) (MessageClaim, error)
	// Unclaim ends that claim, and no other.
	Unclaim(ctx context.Context, message string, c MessageClaim) error
}

// SharedPushStore is a PushStore of several replicas. Each configuration is one
// replica's to deliver, which is Push.Replica.
type SharedPushStore interface {
	PushStore
	// Adopt makes a configuration another replica's, if it still is in the
	// generation and of the replica that p tells; otherwise, ErrNotFound.
	Adopt(ctx context.Context, p Push, by Replica) error
	// UnfinishedOf is Unfinished for the configurations of one replica.
	UnfinishedOf(ctx context.Context, r Replica, yield func(Push) bool) error
}
