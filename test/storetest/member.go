// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// forgetAfter is the time after which the store forgets a dead replica that holds
// nothing.
const forgetAfter = time.Hour

var _ store.Member = (*member)(nil)

// Self implements store.Lease.
func (m *member) Self() store.Replica { return m.self }

// Renew implements store.Lease.
func (m *member) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	self := m.replica(m.self)
	if self.until.IsZero() {
		for r, other := range m.replicas {
			if r != m.self && r.Name() == m.self.Name() {
				other.end(now)
			}
		}
	}
	self.until = now.Add(lease)
	return m.holding(ctx, m.self), nil
}

// Leave implements store.Lease.
func (m *member) Leave(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replica(m.self).end(m.now())
	return nil
}

// Alive implements store.Lease.
func (m *member) Alive(_ context.Context, r store.Replica) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive(r), nil
}

// Dead implements store.Lease.
func (m *member) Dead(ctx context.Context) ([]store.Replica, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	var dead []store.Replica
	for r, other := range m.replicas {
		holds := len(m.holding(ctx, r)) > 0
		switch {
		case other.until.After(now), other.until.IsZero() && !holds:
		case other.over && !holds && now.Sub(other.until) > forgetAfter:
			delete(m.replicas, r)
		default:
			dead = append(dead, r)
		}
	}
	slices.Sort(dead)
	return dead, nil
}

// Post implements store.Inbox.
func (m *member) Post(_ context.Context, to store.Replica, message *store.InboxMessage) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.alive(to) {
		return "", store.ErrNotFound
	}
	r := m.replica(to)
	if len(r.inbox) >= store.MaxInbox {
		return "", store.ErrFull
	}
	m.places++
	place := strconv.Itoa(m.places)
	r.inbox = append(r.inbox, posted{place, message})
	select {
	case r.arrived <- struct{}{}:
	default:
	}
	return place, nil
}

// Withdraw implements store.Inbox.
func (m *member) Withdraw(_ context.Context, to store.Replica, place string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.replica(to)
	before := len(r.inbox)
	r.inbox = slices.DeleteFunc(r.inbox, func(other posted) bool { return other.place == place })
	return len(r.inbox) < before, nil
}

// Receive implements store.Inbox.
func (m *member) Receive(ctx context.Context) ([]*store.InboxMessage, error) {
	for {
		messages, arrived := m.collect()
		if len(messages) > 0 {
			return messages, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (m *member) collect() (messages []*store.InboxMessage, arrived <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.replica(m.self)
	for _, each := range r.inbox {
		messages = append(messages, each.message)
	}
	r.inbox = nil
	return messages, r.arrived
}

// Claim implements store.Claims.
func (m *member) Claim(_ context.Context, message string, c store.MessageClaim, window time.Duration) (store.MessageClaim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if !m.alive(m.self) {
		return store.MessageClaim{}, store.ErrNoLease
	}
	if former, ok := m.claims[message]; ok && former.until.After(now) {
		return former.MessageClaim, nil
	}
	m.claims[message] = claimed{c, now.Add(window)}
	return c, nil
}

// KeepClaims implements store.Claims.
func (m *member) KeepClaims(_ context.Context, window time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for _, h := range m.holds {
		if h.replica != m.self {
			continue
		}
		for _, c := range h.claims {
			if kept := m.claims[c.Message]; kept.MessageClaim == c.MessageClaim && kept.until.After(now) && kept.until.Before(now.Add(window)) {
				m.claims[c.Message] = claimed{c.MessageClaim, now.Add(window)}
			}
		}
	}
	return nil
}

// Unclaim implements store.Claims.
func (m *member) Unclaim(_ context.Context, message string, c store.MessageClaim, tasks ...store.Key) (begun bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	claim := store.ClaimedMessage{Message: message, MessageClaim: c}
	for _, k := range tasks {
		if h := m.holds[k]; h != nil && slices.Contains(h.claims, claim) {
			return true, nil
		}
	}
	m.unclaim([]store.ClaimedMessage{claim})
	return false, nil
}
