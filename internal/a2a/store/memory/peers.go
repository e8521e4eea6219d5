// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// forgetAfter is how long a replica is known that holds nothing.
const forgetAfter = time.Hour

// peers are the replicas that share the store, with their mail, and the
// messages that were claimed. Nothing is called while mu is held.
type peers struct {
	mu     sync.Mutex
	of     map[store.Replica]*peer
	claims map[string]claimed
	// expiring are the claims in the order of their making.
	expiring []string
	places   uint64
}

type peer struct {
	// until is the end of the lease; over is true when there will be no other.
	until time.Time
	over  bool
	held  map[store.Key]struct{}
	mail  []posted
	// arrived tells that there is mail.
	arrived chan struct{}
}

type posted struct {
	place string
	mail  *store.InboxMessage
}

type claimed struct {
	store.MessageClaim
	until time.Time
}

// peer returns what is known of a replica. mu is held.
func (p *peers) peer(r store.Replica) *peer {
	known := p.of[r]
	if known == nil {
		known = &peer{held: map[store.Key]struct{}{}, arrived: make(chan struct{}, 1)}
		if p.of == nil {
			p.of = map[store.Replica]*peer{}
		}
		p.of[r] = known
	}
	return known
}

func (p *peers) alive(r store.Replica, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[r]
	return known != nil && known.until.After(now)
}

// end ends the lease, unless it has ended.
func (p *peer) end(now time.Time) {
	p.over = true
	if p.until.IsZero() || p.until.After(now) {
		p.until = now
	}
}

func (p *peer) keys() []store.Key {
	keys := make([]store.Key, 0, len(p.held))
	for k := range p.held {
		keys = append(keys, k)
	}
	return keys
}

// Post implements store.Inbox.
func (m *member) Post(_ context.Context, to store.Replica, mail *store.InboxMessage) (string, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	box := p.of[to]
	switch {
	case box == nil || !box.until.After(m.options.Now()):
		return "", store.ErrNotFound
	case len(box.mail) >= store.MaxInbox:
		return "", store.ErrFull
	}
	p.places++
	place := strconv.FormatUint(p.places, 10)
	box.mail = append(box.mail, posted{place, mail})
	select {
	case box.arrived <- struct{}{}:
	default:
	}
	return place, nil
}

// Withdraw implements store.Inbox.
func (m *member) Withdraw(_ context.Context, to store.Replica, place string) (bool, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	box := p.of[to]
	if box == nil {
		return false, nil
	}
	at := slices.IndexFunc(box.mail, func(other posted) bool { return other.place == place })
	if at < 0 {
		return false, nil
	}
	box.mail = slices.Delete(box.mail, at, at+1)
	return true, nil
}

// Receive implements store.Inbox.
func (m *member) Receive(ctx context.Context) ([]*store.InboxMessage, error) {
	arrived := m.box().arrived
	for {
		if mail := m.collect(); len(mail) > 0 {
			return mail, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (m *member) box() *peer {
	m.peers.mu.Lock()
	defer m.peers.mu.Unlock()
	return m.peers.peer(m.self)
}

func (m *member) collect() []*store.InboxMessage {
	m.peers.mu.Lock()
	defer m.peers.mu.Unlock()
	box := m.peers.peer(m.self)
	mail := make([]*store.InboxMessage, 0, len(box.mail))
	for _, each := range box.mail {
		mail = append(mail, each.mail)
	}
	box.mail = nil
	return mail
}

// Claim implements store.Claims.
func (m *member) Claim(_ context.Context, message string, c store.MessageClaim, window time.Duration) (store.MessageClaim, error) {
	p := &m.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	now := m.options.Now()
	for len(p.expiring) > 0 {
		oldest, ok := p.claims[p.expiring[0]]
		if ok && oldest.until.After(now) {
			break
		}
		delete(p.claims, p.expiring[0])
		p.expiring = p.expiring[1:]
	}
	if stands, ok := p.claims[message]; ok && stands.until.After(now) {
		return stands.MessageClaim, nil
	}
	if p.claims == nil {
		p.claims = map[string]claimed{}
	}
	p.claims[message] = claimed{c, now.Add(window)}
	p.expiring = append(p.expiring, message)
	return c, nil
}

// Unclaim implements store.Claims.
func (m *member) Unclaim(_ context.Context, message string, c store.MessageClaim) error {
	m.peers.unclaim([]store.ClaimedMessage{{Message: message, MessageClaim: c}})
	return nil
}

// unclaim ends claims, and no others of the same messages.
func (p *peers) unclaim(claims []store.ClaimedMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range claims {
		if p.claims[c.Message].MessageClaim == c.MessageClaim {
			delete(p.claims, c.Message)
		}
	}
}
