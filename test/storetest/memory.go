// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
)

// Memory is a shared store whose replicas are all in this process.
type Memory struct {
	*memory.Store
	now func() time.Time

	mu       sync.Mutex
	holds    map[store.Key]*hold
	replicas map[store.Replica]*replica
	claims   map[string]claimed
	// places counts the messages that were put into inboxes.
	places int
}

var _ store.Shared = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory(o memory.Options) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Memory{
		Store: memory.New(o), now: o.Now,
		holds: map[store.Key]*hold{}, replicas: map[store.Replica]*replica{}, claims: map[string]claimed{},
	}
}

// hold is the hold on a task, the claims that the task ends, and its waiting messages.
type hold struct {
	// replica is "" for a task without a holder.
	replica store.Replica
	turn    store.TurnDescriptor
	// released is the token of the last append without events.
	released store.Token
	claims   []store.ClaimedMessage
	waiting  []store.WaitingMessage
}

// Join implements store.Shared.
func (s *Memory) Join(name string) store.Member {
	return &member{Memory: s, self: store.Replica(name + "/" + rand.Text())}
}

// hasClaim reports whether a claim is in effect.
func (s *Memory) hasClaim(c *store.ClaimedMessage) bool {
	now, isClaimed := s.claims[c.Message]
	return isClaimed && now.MessageClaim == c.MessageClaim && now.until.After(s.now())
}

// Create implements store.Store.
func (s *Memory) Create(ctx context.Context, n store.NewTask) (store.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, missing := s.Store.Open(ctx, n.Key)
	if missing != nil && n.Replica != "" && !s.alive(n.Replica) {
		return nil, store.ErrNoLease
	}
	if missing != nil && n.Turn != nil && n.Turn.Claim.Message != "" && !s.hasClaim(&n.Turn.Claim) {
		return nil, store.ErrNoLease
	}
	log, err := s.Store.Create(ctx, n)
	if err != nil {
		return nil, err
	}
	if missing != nil {
		h := &hold{}
		s.holds[n.Key] = h
		if n.Replica != "" {
			h.begin(n.Turn)
		}
		if !ends(n.Events) {
			h.replica = n.Replica
		}
	}
	return &sharedLog{Log: log, store: s, key: n.Key}, nil
}

// Open implements store.Store.
func (s *Memory) Open(ctx context.Context, k store.Key) (store.Log, error) {
	log, err := s.Store.Open(ctx, k)
	if err != nil {
		return nil, err
	}
	return &sharedLog{Log: log, store: s, key: k}, nil
}

// sharedLog is a log whose task may have a holder.
type sharedLog struct {
	store.Log
	store *Memory
	key   store.Key
}

// AppendJournal implements store.Log.
func (l *sharedLog) AppendJournal(ctx context.Context, a store.JournalAppend) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if h := l.store.holds[l.key]; h != nil && h.replica != a.Replica {
		if now, err := l.Snapshot(ctx); err == nil && !now.Task.Status.State.Terminal() {
			return store.ErrHeld
		}
	}
	return l.Log.AppendJournal(ctx, a)
}

// Append implements store.Log.
func (l *sharedLog) Append(ctx context.Context, a store.Append) (uint64, error) {
	s := l.store
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := l.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	h := s.holds[l.key]
	switch {
	case len(a.Events) == 0 && a.Repeat && a.Token == h.released:
		return a.After, nil
	case a.After != now.Seq:
		return l.Log.Append(ctx, a) // the log compares the token of a repeated append
	case (a.Hold == store.Take || a.Hold == store.Continue) && !s.alive(a.Replica):
		return 0, store.ErrNoLease
	case !s.allows(h, &a), !h.waits(a.Waiting):
		return 0, store.ErrHeld
	}
	seq, err := l.Log.Append(ctx, a)
	if err != nil {
		return 0, err
	}
	if len(a.Events) == 0 {
		h.released = a.Token
	}
	if a.Hold == store.Continue || a.Hold == store.AnyHolder && cancels(a.Events) {
		s.unclaim(h.claims)
		h.claims = nil
	}
	h.changeWaiting(a.Waiting, seq)
	takes := a.Hold == store.Take || a.Hold == store.Continue
	if takes {
		h.begin(a.Turn)
	}
	switch now, err := l.Snapshot(ctx); {
	case err != nil, now.Task.Status.State.Terminal(), a.Hold == store.Release:
		h.replica, h.turn, h.waiting = "", store.TurnDescriptor{}, nil
	case takes:
		h.replica = a.Replica
	}
	return seq, nil
}

// allows reports whether the holder allows an append. mu is held.
func (s *Memory) allows(h *hold, a *store.Append) bool {
	switch a.Hold {
	case store.AnyHolder:
		return true
	case store.Keep:
		return h.replica == a.Replica
	default:
		return h.replica == "" || h.replica == a.Replica || !s.alive(h.replica)
	}
}

// begin stores the descriptor of a turn, and adds the claim on its message once.
func (h *hold) begin(turn *store.TurnDescriptor) {
	h.turn = store.TurnDescriptor{}
	if turn != nil {
		h.turn = *turn
	}
	if c := h.turn.Claim; c.Message != "" && !slices.Contains(h.claims, c) {
		h.claims = append(h.claims, c)
		h.claims = h.claims[max(len(h.claims)-store.MaxTaskClaims, 0):]
	}
}

// waits reports whether the message that a change removes still waits. It returns true if
// the change removes none.
func (h *hold) waits(c *store.WaitingChange) bool {
	return c == nil || c.Remove == 0 || slices.ContainsFunc(h.waiting, func(w store.WaitingMessage) bool { return w.Seq == c.Remove })
}

// changeWaiting applies a change by the append whose last event has the number seq.
func (h *hold) changeWaiting(c *store.WaitingChange, seq uint64) {
	switch {
	case c == nil:
	case c.Add != nil:
		added := *c.Add
		added.Seq = seq
		h.waiting = append(h.waiting, added)
	default:
		h.waiting = slices.DeleteFunc(h.waiting, func(w store.WaitingMessage) bool { return w.Seq == c.Remove })
	}
}

// Waiting implements store.Holds.
func (s *Memory) Waiting(_ context.Context, k store.Key) ([]store.WaitingMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holds[k]; h != nil {
		return slices.Clone(h.waiting), nil
	}
	return nil, nil
}

// Holder implements store.Holds.
func (s *Memory) Holder(ctx context.Context, k store.Key) (store.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.Store.Open(ctx, k); err != nil {
		return store.Hold{}, err
	}
	h := s.holds[k]
	if h.replica == "" {
		return store.Hold{}, nil
	}
	return store.Hold{Replica: h.replica, Alive: s.alive(h.replica), Turn: h.turn}, nil
}

// Holding implements store.Holds.
func (s *Memory) Holding(ctx context.Context, r store.Replica) ([]store.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding(ctx, r), nil
}

// holding returns the tasks that a replica holds, and removes the holds on evicted
// tasks. mu is held.
func (s *Memory) holding(ctx context.Context, r store.Replica) (keys []store.Key) {
	for k, h := range s.holds {
		if _, err := s.Store.Open(ctx, k); err != nil {
			delete(s.holds, k)
		} else if h.replica == r {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b store.Key) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.TaskID, b.TaskID))
	})
	return keys
}

func ends(events []a2a.Event) bool {
	s, ok := lastState(events)
	return ok && s.Terminal()
}

func cancels(events []a2a.Event) bool {
	s, ok := lastState(events)
	return ok && s == a2a.StateCanceled
}

func lastState(events []a2a.Event) (s a2a.State, ok bool) {
	if n := len(events); n > 0 && events[n-1].Status != nil {
		return events[n-1].Status.Status.State, true
	}
	return s, false
}

// member is the access of one replica to a Memory.
type member struct {
	*Memory
	self store.Replica
}

// replica is the state of a replica in a Memory.
type replica struct {
	// until is the end of the lease. over is true once end has been called.
	until time.Time
	over  bool
	inbox []posted
	// arrived holds a value when the inbox may hold messages.
	arrived chan struct{}
}

type posted struct {
	place   string
	message *store.InboxMessage
}

type claimed struct {
	store.MessageClaim
	until time.Time
}

// replica returns the state of a replica. mu is held.
func (s *Memory) replica(r store.Replica) *replica {
	if s.replicas[r] == nil {
		s.replicas[r] = &replica{arrived: make(chan struct{}, 1)}
	}
	return s.replicas[r]
}

// alive reports whether a replica has a lease. mu is held.
func (s *Memory) alive(r store.Replica) bool {
	known := s.replicas[r]
	return known != nil && known.until.After(s.now())
}

// unclaim ends the given claims, and no other claims on the same messages. mu is
// held.
func (s *Memory) unclaim(claims []store.ClaimedMessage) {
	for _, c := range claims {
		if s.claims[c.Message].MessageClaim == c.MessageClaim {
			delete(s.claims, c.Message)
		}
	}
}

// end ends a lease before its time, because the replica leaves or has a later incarnation.
func (r *replica) end(now time.Time) {
	r.over = true
	if r.until.IsZero() || r.until.After(now) {
		r.until = now
	}
}
