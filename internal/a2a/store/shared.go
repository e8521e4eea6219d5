// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// ErrHeld says that another replica runs the task.
var ErrHeld = errors.New("task is run by another replica")

// Replica names one life of a replica: "<name>/<incarnation>". The name is the
// pod's, which a restarted container keeps; the incarnation is random.
type Replica string

// Name returns the name without the incarnation.
func (r Replica) Name() string {
	return string(r[:max(strings.LastIndexByte(string(r), '/'), 0)])
}

// Shared is a Store that several replicas use at once.
//
// A replica proves that it lives by one lease, whatever it runs. The lease tells
// the others when they may take over what it holds, and nothing else: who runs
// a task stands with the task, and changes in the same step as its log. So a
// replica whose lease lapsed and that comes back still has what nobody took.
type Shared interface {
	Store
	// Join returns a new life of a replica. It does not call the store: the
	// others know of it from its first Renew on.
	Join(name string) Member
}

// Member is a replica's side of a shared store. Its methods are called from
// many goroutines.
type Member interface {
	// Store opens logs that are HeldLogs. Its Create makes a task that nobody
	// holds.
	Store
	Lease
	Inbox
	Claims
	// CreateHeld is Create of a task that the caller holds, unless it has ended.
	CreateHeld(ctx context.Context, k Key, o Origin, events []a2a.Event, b TurnDescriptor) (HeldLog, error)
}

// Lease says who lives.
type Lease interface {
	// Self is the caller.
	Self() Replica
	// Renew has the lease end after so much time, by the clock of the store. The
	// first call ends the lease of every other life of the same name. It returns
	// the tasks that the caller holds at that moment: a run of any other that had
	// begun before the call has lost its task.
	Renew(ctx context.Context, lease time.Duration) ([]Key, error)
	// Leave ends the lease. What the caller still holds is left to the others.
	Leave(ctx context.Context) error
	// Alive reports whether a replica has a lease.
	Alive(ctx context.Context, r Replica) (bool, error)
	// Dead returns the replicas whose lease has ended and who may still hold
	// tasks or push configurations. One that holds nothing is forgotten after a
	// while.
	Dead(ctx context.Context) ([]Replica, error)
	// Holding returns the tasks that a replica holds.
	Holding(ctx context.Context, r Replica) ([]Key, error)
}

// HoldChange is what an append does to the hold on its task.
type HoldChange uint8

const (
	// Keep is for a run that goes on: the caller holds the task, or ErrHeld.
	Keep HoldChange = iota
	// Take makes the caller the holder, unless another replica that has a lease
	// is: ErrHeld.
	Take
	// Release leaves the task without a holder, under the same condition as Take.
	Release
	// Continue is Take for a message that continues a task which had stopped. The
	// claims on the messages that began the task's former turns end with it, so
	// that the same messages may be sent anew.
	Continue
)

// HeldLog is a log whose task may have a holder: the replica that runs it.
//
// Append of the interface is open to everybody, and compares the number only:
// it is how a task is canceled from anywhere, which also ends the claims on the
// messages that began its turns. An event with a terminal status ends the hold,
// whoever appends it and however.
type HeldLog interface {
	Log
	// AppendHeld is Append for those who run the task, in one step with the claim
	// on it. The number is compared before the holder. Without events it changes
	// the hold only, and wakes nobody. With Take and Continue, b replaces the turn descriptor,
	// and the claim that it names is the task's to end; with any other claim it is
	// not looked at. It returns ErrHeld, beside the errors of
	// Append, and then nothing has changed.
	AppendHeld(ctx context.Context, after uint64, events []a2a.Event, c HoldChange, b TurnDescriptor) (uint64, error)
	// Holder returns the hold on the task. Without one it is the zero value.
	Holder(ctx context.Context) (Hold, error)
}

// Hold says who runs a task.
type Hold struct {
	Replica Replica
	// Alive is whether the replica had a lease a moment ago.
	Alive bool
	Turn TurnDescriptor
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
// or when the task of its message is continued or canceled (HeldLog).
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
