// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var _ store.Shared = (*Store)(nil)

// Join implements store.Shared, for replicas that share this process.
func (s *Store) Join(name string) store.Member {
	return &member{Store: s, self: store.Replica(name + "/" + rand.Text())}
}

// member is one replica's side of the store.
type member struct {
	*Store
	self store.Replica
}

var _ store.Member = (*member)(nil)

// Self implements store.Lease.
func (m *member) Self() store.Replica { return m.self }

// Create implements store.Store.
func (m *member) Create(_ context.Context, k store.Key, o store.Origin, events []a2a.Event) (store.Log, error) {
	log, err := m.create(k, o, events, nil)
	return m.hold(log, err)
}

// Open implements store.Store.
func (m *member) Open(_ context.Context, k store.Key) (store.Log, error) {
	log, err := m.open(k)
	return m.hold(log, err)
}

// CreateHeld implements store.Member.
func (m *member) CreateHeld(_ context.Context, k store.Key, o store.Origin, events []a2a.Event, b store.TurnDescriptor) (store.HeldLog, error) {
	log, err := m.create(k, o, events, &hold{replica: m.self, brief: b})
	return m.hold(log, err)
}

func (m *member) hold(l *log, err error) (store.HeldLog, error) {
	if err != nil {
		return nil, err
	}
	return &heldLog{log: l, member: m}, nil
}

// Renew implements store.Lease.
func (m *member) Renew(_ context.Context, lease time.Duration) ([]store.Key, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	now := m.options.Now()
	self := p.peer(m.self)
	if self.until.IsZero() {
		for r, other := range p.of {
			if r != m.self && r.Name() == m.self.Name() {
				other.end(now)
			}
		}
	}
	self.until = now.Add(lease)
	return self.keys(), nil
}

// Leave implements store.Lease.
func (m *member) Leave(context.Context) error {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peer(m.self).end(m.options.Now())
	return nil
}

// Alive implements store.Lease.
func (m *member) Alive(_ context.Context, r store.Replica) (bool, error) {
	return m.peers.alive(r, m.options.Now()), nil
}

// Dead implements store.Lease.
func (m *member) Dead(context.Context) ([]store.Replica, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	now := m.options.Now()
	var dead []store.Replica
	for r, other := range p.of {
		switch {
		case other.until.After(now), other.until.IsZero() && len(other.held) == 0:
		case other.over && len(other.held) == 0 && now.Sub(other.until) > forgetAfter:
			delete(p.of, r)
		default:
			dead = append(dead, r)
		}
	}
	return dead, nil
}

// Holding implements store.Lease.
func (m *member) Holding(_ context.Context, r store.Replica) ([]store.Key, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.of[r]; other != nil {
		return other.keys(), nil
	}
	return nil, nil
}

// hold is who runs a task.
type hold struct {
	replica store.Replica
	brief   store.TurnDescriptor
}

// heldLog is a log as one replica sees it.
type heldLog struct {
	*log
	member *member
}

var _ store.HeldLog = (*heldLog)(nil)

// AppendHeld implements store.HeldLog.
func (l *heldLog) AppendHeld(_ context.Context, after uint64, events []a2a.Event, c store.HoldChange, b store.TurnDescriptor) (uint64, error) {
	return l.append(after, events, &claim{by: l.member.self, what: c, brief: b})
}

// Holder implements store.HeldLog.
func (l *heldLog) Holder(context.Context) (store.Hold, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.gone:
		return store.Hold{}, store.ErrNotFound
	case l.held == nil:
		return store.Hold{}, nil
	}
	alive := l.store.peers.alive(l.held.replica, l.store.options.Now())
	return store.Hold{Replica: l.held.replica, Alive: alive, Turn: l.held.brief}, nil
}

// claim is what an append does to the hold on a task.
type claim struct {
	by    store.Replica
	what  store.HoldChange
	brief store.TurnDescriptor
}

// admits reports whether a replica may do what it claims. l.mu is held.
func (l *log) admits(c *claim) bool {
	switch {
	case l.held != nil && l.held.replica == c.by:
		return true
	case c.what == store.Keep:
		return false
	default:
		return l.held == nil || !l.store.peers.alive(l.held.replica, l.store.options.Now())
	}
}

// settleHold is what follows an append; c is nil when that was open to all.
// l.mu is held.
func (l *log) settleHold(c *claim) {
	switch {
	case l.fold.State().Terminal(), c != nil && c.what == store.Release:
		l.setHold(nil)
	case c != nil && (c.what == store.Take || c.what == store.Continue):
		l.setHold(&hold{replica: c.by, brief: c.brief})
	}
}

func (l *log) setHold(h *hold) {
	if l.held == nil && h == nil {
		return
	}
	p := &l.store.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.held != nil {
		delete(p.peer(l.held.replica).held, l.key)
	}
	if h != nil {
		p.peer(h.replica).held[l.key] = struct{}{}
	}
	l.held = h
}

// settleClaims ends the claims on the messages of former turns when the task was
// continued or canceled, and keeps the one of the turn that began. l.mu is held.
func (l *log) settleClaims(c *claim, events []a2a.Event) {
	if c == nil && endsAsCanceled(events) || c != nil && c.what == store.Continue {
		l.store.peers.unclaim(l.claims)
		l.claims = nil
	}
	if c != nil && (c.what == store.Take || c.what == store.Continue) {
		l.claimed(c.brief.Claim)
	}
}

// claimed keeps the claim on a message that began a turn, once.
func (l *log) claimed(c store.ClaimedMessage) {
	if c.Message == "" || slices.Contains(l.claims, c) {
		return
	}
	l.claims = append(l.claims, c)
	if more := len(l.claims) - store.MaxTaskClaims; more > 0 {
		l.claims = slices.Delete(l.claims, 0, more)
	}
}

func endsAsCanceled(events []a2a.Event) bool {
	n := len(events)
	return n > 0 && events[n-1].Status != nil && events[n-1].Status.Status.State == a2a.StateCanceled
}
