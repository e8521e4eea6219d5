// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package coordination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
)

// lastWrites bounds each call of the store that may have to end during a shutdown: the
// release of the lease, and each attempt to post an answer to another replica.
const lastWrites = time.Second

var (
	errStopped = errors.New("server is shutting down")
	errFenced  = errors.New("the lease may have ended")
)

// errStopping refuses a message because this replica shuts down.
func errStopping() *a2a.Error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "Server is shutting down; try again"}
}

// errMoving refuses a message for a task whose owner replica is about to change.
func errMoving() error {
	return &a2a.Error{Reason: a2a.ReasonUnavailable, Message: "The task moves to another replica; try again"}
}

// Options configure a Shared. All fields are required.
type Options struct {
	// Lease is how long the lease lasts without a renewal.
	Lease time.Duration
	// RetryFor is how long an answer to another replica is retried during an outage, and how
	// long a forwarded message waits for an answer that seems to be lost.
	RetryFor time.Duration
	// FenceRuns returns whether the runs of this replica must end before its lease ends,
	// because other replicas then re-run the turns.
	FenceRuns func() bool
	// ClaimWindow returns how long a claim on a message lasts after its turn; 0 means that no
	// message is claimed.
	ClaimWindow func() time.Duration
	Now         func() time.Time
	Log         *slog.Logger
}

// Shared is the Coordinator of an engine that shares its store with other replicas. It
// renews the lease of the replica, takes over orphaned tasks, and reads the inbox.
type Shared struct {
	options Options
	member  store.Member
	host    Host
	// ctx ends the goroutines of the coordinator. group waits for them.
	ctx   context.Context //nolint:containedctx // it lasts as long as the replica
	stop  context.CancelCauseFunc
	group sync.WaitGroup
	// forwarding bounds the forwarded messages whose outcome is not known yet, and accepting the messages of other replicas that are
	// processed concurrently. A share of accounting principals has at most half of them.
	forwarding, accepting *fairslots.Slots[a2a.AccountingPrincipal]
	// reviewing bounds the concurrent reviews of tasks.
	reviewing chan struct{}
	// fenced is true before the first renewal of the lease. Under Options.FenceRuns, it is
	// also true while the lease may have ended.
	fenced atomic.Bool
	// renewalWanted makes renewLease renew the lease at once.
	renewalWanted chan struct{}
	// noRetries is true after Interrupt.
	noRetries atomic.Bool

	mu sync.Mutex
	// attempted closes after the next attempt to renew the lease.
	attempted chan struct{}
	// writes is the context of all writes, and stopWrites ends it. creations is a child
	// of writes, for the writes that create tasks.
	writes, creations         context.Context //nolint:containedctx // replaced after they have ended
	stopWrites, stopCreations context.CancelCauseFunc
	// term increases when the lease may have ended, and again with the next renewal.
	term uint64
	// replies contains, by the number of each forwarded message, the channel for the
	// answers to the message.
	replies map[uint64]chan *store.InboxMessage
	number  uint64
	// refused are the tasks for which a message was refused although the store has stored
	// it or may have stored it, with the time of the refusal.
	refused map[store.Key]time.Time
	// stopped is true when no more messages are forwarded.
	stopped bool
}

var _ Coordinator = (*Shared)(nil)

// NewShared returns the Coordinator of a replica. Other replicas see this replica after
// Start.
func NewShared(m store.Member, o Options) *Shared {
	s := &Shared{
		options: o, member: m,
		forwarding:    newSlots(maxForwarded),
		accepting:     newSlots(store.MaxInbox),
		reviewing:     make(chan struct{}, store.MaxInbox),
		renewalWanted: make(chan struct{}, 1), attempted: make(chan struct{}),
		replies: map[uint64]chan *store.InboxMessage{},
		refused: map[store.Key]time.Time{},
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.allowWrites()
	// No write is allowed before the first renewal: other replicas would take over the tasks
	// of a replica without a lease.
	s.fenced.Store(true)
	s.stopWrites(errFenced)
	return s
}

// newSlots returns slots for which no message waits.
func newSlots(n int) *fairslots.Slots[a2a.AccountingPrincipal] {
	return fairslots.New[a2a.AccountingPrincipal](fairslots.Options{Slots: n, PerTenant: n / 2})
}

// Exclusive implements Lease.
func (s *Shared) Exclusive() bool { return false }

// Fenced implements Lease.
func (s *Shared) Fenced() bool { return s.fenced.Load() }

// Term implements Lease.
func (s *Shared) Term() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term
}

// Interrupt implements Lease.
func (s *Shared) Interrupt() {
	s.noRetries.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopWrites(errStopped)
	s.allowWrites()
}

// allowWrites replaces the contexts of writes. The caller holds the lock.
func (s *Shared) allowWrites() {
	s.writes, s.stopWrites = context.WithCancelCause(context.Background())
	s.creations, s.stopCreations = context.WithCancelCause(s.writes)
}

// fenceCreations ends the creations in progress, and later creations fail until unfence.
// Once the lease has ended, another replica may release the claim on a message and process
// the message. This replica must then not create the task of the message any more.
func (s *Shared) fenceCreations() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopCreations(errFenced)
	s.term++
}

// fence ends the writes in progress, and later writes fail until unfence. A write that
// began now and was retried would hold the lock of its task, and StopRuns would wait for
// this lock until after the end of the lease.
func (s *Shared) fence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fenced.Store(true)
	s.stopWrites(errFenced)
}

// unfence allows writes again. It is called after a renewal of the lease.
func (s *Shared) unfence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fenced.Swap(false):
		s.allowWrites()
		s.term++
	case s.creations.Err() != nil:
		s.term++
		s.creations, s.stopCreations = context.WithCancelCause(s.writes)
	}
}

// write is the context of a write: it ends with Interrupt or a fence, and has the values
// of the caller's context.
type write struct {
	context.Context                 //nolint:containedctx // it is a context itself
	values          context.Context //nolint:containedctx // only its values are used
}

// Value implements context.Context.
func (w write) Value(key any) any {
	if v := w.Context.Value(key); v != nil {
		return v
	}
	return w.values.Value(key)
}

// prepare sets the token, the replica and the retry time of a write, and returns the
// context of the write.
func (s *Shared) prepare(ctx context.Context, w *store.Write) context.Context {
	w.Token = store.NewToken()
	w.Replica = s.member.Self()
	if s.noRetries.Load() {
		w.RetryFor = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return write{s.writes, context.WithoutCancel(ctx)}
}

// prepareCreation is prepare for a write that creates a task. ok is false if term is no
// longer the current term, or if writes are fenced.
func (s *Shared) prepareCreation(ctx context.Context, w *store.Write, term uint64) (prepared context.Context, ok bool) {
	ctx = s.prepare(ctx, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	return write{s.creations, ctx}, s.term == term && s.creations.Err() == nil && !s.fenced.Load()
}

// Owner implements Ownership.
func (s *Shared) Owner(ctx context.Context, k store.Key) (Owner, error) {
	hold, err := s.member.Holder(ctx, k)
	if err != nil || hold.Replica == "" {
		return Owner{}, err
	}
	here := hold.Replica == s.member.Self()
	s.mu.Lock()
	_, refused := s.refused[k]
	s.mu.Unlock()
	return Owner{
		Replica: hold.Replica, Here: here, Alive: hold.Alive && !here, Turn: hold.Turn,
		RolledBack: hold.RolledBack, Refused: refused,
	}, nil
}

// Waiting implements Messages.
func (s *Shared) Waiting(ctx context.Context, k store.Key) ([]store.WaitingMessage, error) {
	return s.member.Waiting(ctx, k)
}

// Create implements Ownership.
func (s *Shared) Create(ctx context.Context, n store.NewTask, term uint64) (store.Log, error) {
	ctx, ok := s.prepareCreation(ctx, &n.Write, term)
	if !ok {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, errFenced)
	}
	log, err := s.member.Create(ctx, n)
	err = s.leased(err)
	s.began(n.Key, err)
	return log, err
}

// Begin implements Ownership.
func (s *Shared) Begin(ctx context.Context, k store.Key, log store.Log, a store.Append) (uint64, error) {
	if s.fenced.Load() {
		return 0, fmt.Errorf("%w: %w", store.ErrUnavailable, errFenced)
	}
	seq, err := log.Append(s.prepare(ctx, &a.Write), a)
	err = s.leased(err)
	s.began(k, err)
	return seq, err
}

// Append implements Ownership.
func (s *Shared) Append(ctx context.Context, log store.Log, a store.Append) (uint64, error) {
	if a.Hold == store.AnyHolder {
		a.Token = store.NewToken()
		return log.Append(ctx, a)
	}
	seq, err := log.Append(s.prepare(ctx, &a.Write), a)
	return seq, s.leased(err)
}

// AppendJournal implements Journals.
func (s *Shared) AppendJournal(ctx context.Context, log store.Log, a store.JournalAppend) error {
	w := store.Write{RetryFor: a.RetryFor}
	ctx = s.prepare(ctx, &w)
	a.Replica = w.Replica
	return log.AppendJournal(ctx, a)
}

// began records the outcome err of the write that begins a turn. After an indeterminate
// write, it remembers that the message is refused (RefuseTurn). After a successful write, it
// forgets an earlier refusal.
func (s *Shared) began(k store.Key, err error) {
	if errors.Is(err, store.ErrIndeterminate) {
		s.RefuseTurn(k)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.refused, k)
	}
}

// RefuseTurn implements Ownership. It remembers at most store.MaxInbox tasks, and ignores
// further ones.
func (s *Shared) RefuseTurn(k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) < store.MaxInbox {
		s.refused[k] = s.options.Now()
	}
}

// forgetRefused forgets the messages that were refused earlier than the parameter before. The
// caller has since taken over all tasks that the store lists for this replica. If the store
// has stored such a message, it therefore also has the end of the task of the message.
func (s *Shared) forgetRefused(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.refused, func(_ store.Key, at time.Time) bool { return at.Before(before) })
}

// RequestReview implements Ownership.
func (s *Shared) RequestReview(ctx context.Context, o Owner, k store.Key) {
	if o.Alive {
		_, _ = s.member.Post(ctx, o.Replica, &store.InboxMessage{From: s.member.Self(), Kind: store.ReviewTask, Task: k})
	}
}

// retry calls call until it succeeds or fails with an error other than an outage, for at
// most RetryFor.
func (s *Shared) retry(call func() error) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.options.RetryFor)
	defer cancel()
	return store.Retry(ctx, call)
}
