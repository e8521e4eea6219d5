// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var _ store.Shared = (*Store)(nil)

// Join implements store.Shared.
func (s *Store) Join(name string) store.Member {
	return &member{Store: s, self: store.Replica(name + "/" + rand.Text())}
}

// member is one replica's side of the store.
type member struct {
	*Store
	self store.Replica
	// known is true once the others know of this life.
	known atomic.Bool
	// had is the place of the last mail that came, which Receive knows.
	had string
}

var _ store.Member = (*member)(nil)

// forgetAfter is how long a replica is known that holds nothing.
const forgetAfter = time.Hour

// Self implements store.Lease.
func (m *member) Self() store.Replica { return m.self }

// Create implements store.Store.
func (m *member) Create(ctx context.Context, k store.Key, o store.Origin, events []a2a.Event) (store.Log, error) {
	return m.held(m.create(ctx, k, o, events, claim{}))
}

// Open implements store.Store.
func (m *member) Open(ctx context.Context, k store.Key) (store.Log, error) {
	return m.held(m.open(ctx, k))
}

// CreateHeld implements store.Member.
func (m *member) CreateHeld(ctx context.Context, k store.Key, o store.Origin, events []a2a.Event, b store.TurnDescriptor) (store.HeldLog, error) {
	made, err := claimWith(m.self, b)
	if err != nil {
		return nil, err
	}
	return m.held(m.create(ctx, k, o, events, made))
}

// claimWith returns the claim of a replica on a task with a brief.
func claimWith(r store.Replica, b store.TurnDescriptor) (claim, error) {
	brief, err := json.Marshal(b) //nolint:musttag // names of fields are the form
	if err != nil {
		return claim{}, fmt.Errorf("write brief: %w", err)
	}
	c := claim{replica: string(r), brief: string(brief), message: b.Claim.Message}
	if c.message != "" {
		c.stands = claimText(b.Claim.MessageClaim)
	}
	return c, nil
}

func (m *member) held(l *log, err error) (store.HeldLog, error) {
	if err != nil {
		return nil, err
	}
	return &heldLog{log: l, member: m}, nil
}

// Renew implements store.Lease.
func (m *member) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	first := "1"
	if m.known.Load() {
		first = ""
	}
	reply, err := m.calls.run(ctx, m.scripts.renew, string(m.self), millis(lease), first, millis(m.options.keep()))
	if err != nil {
		return nil, err
	}
	m.known.Store(true)
	return keysOf(reply)
}

// keysOf reads names of tasks with their owners.
func keysOf(reply any) ([]store.Key, error) {
	var keys []store.Key
	a := answerOf(reply)
	for a.more() {
		name, owner := a.text(), a.text()
		if len(name) < len(digest("")) {
			return nil, errForm
		}
		keys = append(keys, store.Key{Owner: a2a.Owner(owner), TaskID: name[len(digest("")):]})
	}
	return keys, a.err
}

// Leave implements store.Lease.
func (m *member) Leave(ctx context.Context) error {
	_, err := m.calls.run(ctx, m.scripts.leave, string(m.self))
	return err
}

// Alive implements store.Lease.
func (m *member) Alive(ctx context.Context, r store.Replica) (bool, error) {
	n, err := m.calls.command(ctx, "EXISTS", m.options.Prefix+"m:"+string(r))
	if err != nil {
		return false, err
	}
	alive, err := integer(n)
	return alive == 1, err
}

// Dead implements store.Lease.
func (m *member) Dead(ctx context.Context) ([]store.Replica, error) {
	reply, err := m.calls.run(ctx, m.scripts.dead, millis(forgetAfter))
	if err != nil {
		return nil, err
	}
	var dead []store.Replica
	a := answerOf(reply)
	for a.more() {
		dead = append(dead, store.Replica(a.text()))
	}
	return dead, a.err
}

// Holding implements store.Lease.
func (m *member) Holding(ctx context.Context, r store.Replica) ([]store.Key, error) {
	reply, err := m.calls.command(ctx, "HGETALL", m.options.Prefix+"h:"+string(r))
	if err != nil {
		return nil, err
	}
	return keysOf(reply)
}

// heldLog is a log as one replica sees it.
type heldLog struct {
	*log
	member *member
}

var _ store.HeldLog = (*heldLog)(nil)

// AppendHeld implements store.HeldLog.
func (l *heldLog) AppendHeld(ctx context.Context, after uint64, events []a2a.Event, c store.HoldChange, b store.TurnDescriptor) (uint64, error) {
	made := claim{replica: string(l.member.self)}
	if c == store.Take || c == store.Continue {
		var err error
		if made, err = claimWith(l.member.self, b); err != nil {
			return 0, err
		}
	}
	made.what = claims[c]
	return l.append(ctx, after, events, made)
}

// Holder implements store.HeldLog.
func (l *heldLog) Holder(ctx context.Context) (h store.Hold, err error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.holder, l.name)
	if err != nil {
		return store.Hold{}, err
	}
	if reply == nil {
		l.vanish()
		return store.Hold{}, store.ErrNotFound
	}
	a := answerOf(reply)
	h.Replica, h.Alive = store.Replica(a.text()), a.number() == 1
	if brief := a.text(); brief != "" {
		if err := json.Unmarshal([]byte(brief), &h.Turn); err != nil { //nolint:musttag // as it was written
			return store.Hold{}, fmt.Errorf("read brief: %w", err)
		}
	}
	return h, a.err
}
