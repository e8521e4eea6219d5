// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var _ store.Shared = (*Store)(nil)

// Join implements store.Shared.
func (s *Store) Join(name string) store.Member {
	return &member{Store: s, self: store.Replica(name + "/" + rand.Text())}
}

// member is the access of one replica to the store.
type member struct {
	*Store
	self store.Replica
	// announced is true once the store has a lease of the incarnation.
	announced atomic.Bool
	// leaseEnd is the end of the lease that the last renewal returned, by the clock of
	// the server.
	leaseEnd atomic.Uint64
	// lastPlace is the place of the last message that Receive returned.
	lastPlace string
}

var _ store.Member = (*member)(nil)

// forgetAfter is the time between the end of a replica's lease and the moment at which the
// store forgets the replica, unless the replica holds a task.
const forgetAfter = time.Hour

// checkedTasks is the number of tasks, chosen at random, that each renewal of a lease looks for,
// to remove tasks whose keys have expired.
const checkedTasks = 8

// maxForgotten is the number of forgotten replicas for which the store keeps the end of the
// last lease, as a tombstone. If a forgotten replica without a tombstone renews its lease, it
// gets store.ErrRolledBack, although the store may have lost nothing.
const maxForgotten = 1000

// Self implements store.Lease.
func (m *member) Self() store.Replica { return m.self }

// Renew implements store.Lease.
func (m *member) Renew(ctx context.Context, lease time.Duration) ([]store.Key, error) {
	first := "1"
	if m.announced.Load() {
		first = ""
	}
	reply, err := m.calls.run(ctx, m.scripts.renew, string(m.self), millis(lease), first, millis(m.options.keyTTL()), m.leaseEnd.Load(), checkedTasks, millis(m.options.Retention))
	if err != nil {
		return nil, err
	}
	m.announced.Store(true)
	// A full server accepts leases. This call reports whether it also accepts new tasks, and
	// whether it accepts them again. Its error concerns only the observer.
	if _, err := m.calls.run(ctx, m.scripts.room); err == nil {
		m.calls.observer.HasRoom()
	}
	a := newReplyReader(reply)
	end := a.number()
	lost := a.number() == 1
	bytes := int64(a.number()) // MaxBytes bounds it
	keys, err := keysOf(a)
	if err != nil {
		return nil, err
	}
	m.options.Observer.Stored(bytes)
	m.leaseEnd.Store(end)
	if lost {
		m.cache.distrust()
		return keys, store.ErrRolledBack
	}
	return keys, nil
}

// keysOf decodes names of tasks with their owners.
func keysOf(a *replyReader) ([]store.Key, error) {
	var keys []store.Key
	for a.more() {
		name := a.text()
		owner := a.text()
		if len(name) < len(digest("")) {
			return nil, errFormat
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
	reply, err := m.calls.run(ctx, m.scripts.dead, millis(forgetAfter), millis(m.options.keyTTL()), maxForgotten)
	if err != nil {
		return nil, err
	}
	var dead []store.Replica
	a := newReplyReader(reply)
	for a.more() {
		dead = append(dead, store.Replica(a.text()))
	}
	return dead, a.err
}

// Holding implements store.Holds.
func (m *member) Holding(ctx context.Context, r store.Replica) ([]store.Key, error) {
	reply, err := m.calls.command(ctx, "HGETALL", m.options.Prefix+"h:"+string(r))
	if err != nil {
		return nil, err
	}
	return keysOf(newReplyReader(reply))
}

// Waiting implements store.Holds.
func (m *member) Waiting(ctx context.Context, k store.Key) ([]store.WaitingMessage, error) {
	reply, err := m.calls.run(ctx, m.scripts.waiting, nameOf(k), limit.Small)
	if size, isSize := reply.(int64); err == nil && isSize {
		if err := store.ReserveLoad(ctx, loadCost*size); err != nil {
			return nil, err
		}
		var release func()
		if release, err = m.acquireLoad(ctx, k.Owner); err != nil {
			return nil, err
		}
		defer release()
		reply, err = m.calls.run(ctx, m.scripts.waiting, nameOf(k), math.MaxInt64)
	}
	if err != nil {
		return nil, err
	}
	var waiting []store.WaitingMessage
	a := newReplyReader(reply)
	for a.more() {
		w := store.WaitingMessage{}
		seq := a.number()
		if err := json.Unmarshal([]byte(a.text()), &w); err != nil { // the names of the fields are the format
			return nil, fmt.Errorf("read waiting message: %w", err)
		}
		if w.Request == nil || w.Request.Message == nil {
			return nil, errors.New("read waiting message: it has no message")
		}
		w.Seq = seq
		waiting = append(waiting, w)
	}
	return waiting, a.err
}

// Holder implements store.Holds.
func (m *member) Holder(ctx context.Context, k store.Key) (h store.Hold, err error) {
	reply, err := m.calls.run(ctx, m.scripts.holder, nameOf(k))
	if err != nil {
		return store.Hold{}, err
	}
	if reply == nil {
		return store.Hold{}, store.ErrNotFound
	}
	a := newReplyReader(reply)
	h.Replica = store.Replica(a.text())
	h.Alive = a.number() == 1
	if turn := a.text(); turn != "" {
		if err := json.Unmarshal([]byte(turn), &h.Turn); err != nil { // the names of the fields are the format
			return store.Hold{}, fmt.Errorf("read turn descriptor: %w", err)
		}
	}
	h.RolledBack = a.number() == 1
	return h, a.err
}
