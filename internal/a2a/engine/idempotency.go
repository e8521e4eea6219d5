// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// maxIdempotentBytes bounds what the known turns hold by themselves: their
// messages while they run, and answers without a task.
const maxIdempotentBytes = 16 << 20

// idempotency knows the turns of the last minute, so that a message that is
// sent again, because its answer got lost, joins its turn and makes no other.
type idempotency struct {
	window time.Duration
	limit  int
	seed   maphash.Seed

	mu    sync.Mutex
	turns map[messageKey]*remembered
	// order holds what is remembered by age, the oldest first; what was
	// forgotten stays until then, without its turn.
	order []*remembered
	bytes int
}

// messageKey is who said what where. The body is a hash under a seed of this
// process: nobody can make two bodies meet.
type messageKey struct {
	owner                        a2a.Owner
	contextID, taskID, messageID string
	body                         uint64
}

type remembered struct {
	key   messageKey
	turn  *turn
	until time.Time
	bytes int
}

func newIdempotency(window time.Duration, limit int) *idempotency {
	return &idempotency{window: window, limit: limit, seed: maphash.MakeSeed(), turns: map[messageKey]*remembered{}}
}

// join returns the turn of the same message, or a new one.
func (i *idempotency) join(r *a2a.SendRequest, now time.Time) (tn *turn, joined bool) {
	if r.Message.ID == "" {
		return newTurn(r), false
	}
	key := i.key(r)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expire(now)
	if known := i.turns[key]; known != nil {
		if !known.turn.isRefused() {
			return known.turn, true
		}
		i.drop(known) // what was refused may be taken now
	}
	tn = newTurn(r)
	tn.recent = &remembered{key: key, turn: tn, until: now.Add(i.window), bytes: r.Message.Size()}
	i.turns[key] = tn.recent
	i.order = append(i.order, tn.recent)
	i.bytes += tn.recent.bytes
	i.shrink()
	return tn, false
}

// grow counts an answer that is kept with its turn.
func (i *idempotency) grow(tn *turn, bytes int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if old := tn.recent; old != nil && old.turn != nil {
		old.bytes += bytes
		i.bytes += bytes
		i.shrink()
	}
}

// forget lets a message that was refused be sent again.
func (i *idempotency) forget(tn *turn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if tn.recent != nil {
		i.drop(tn.recent)
	}
}

func (i *idempotency) expire(now time.Time) {
	for len(i.order) > 0 && (len(i.order) >= i.limit || !now.Before(i.order[0].until)) {
		i.dropOldest()
	}
}

func (i *idempotency) shrink() {
	for len(i.order) > 0 && i.bytes > maxIdempotentBytes {
		i.dropOldest()
	}
}

func (i *idempotency) dropOldest() {
	i.drop(i.order[0])
	i.order[0] = nil
	i.order = i.order[1:]
}

func (i *idempotency) drop(old *remembered) {
	if old.turn == nil {
		return
	}
	delete(i.turns, old.key)
	i.bytes -= old.bytes
	old.turn = nil
}

func (i *idempotency) key(r *a2a.SendRequest) messageKey {
	m := r.Message
	return messageKey{
		owner: r.Owner, contextID: m.ContextID, taskID: m.TaskID, messageID: m.ID,
		body: i.body(r),
	}
}

// body hashes what is said, each piece behind its length.
func (i *idempotency) body(r *a2a.SendRequest) uint64 {
	var h maphash.Hash
	h.SetSeed(i.seed)
	text := func(s string) {
		maphash.WriteComparable(&h, len(s))
		_, _ = h.WriteString(s)
	}
	raw := func(b []byte) {
		maphash.WriteComparable(&h, len(b))
		_, _ = h.Write(b)
	}
	pieces(r, text, raw)
	return h.Sum64()
}

// pieces calls text and raw with all that is said.
func pieces(r *a2a.SendRequest, text func(string), raw func([]byte)) {
	m := r.Message
	for n := range m.Parts {
		p := &m.Parts[n]
		text("0123456789"[p.Content : p.Content+1])
		text(p.Text)
		raw(p.Raw)
		text(p.URL)
		raw(p.Data)
		text(p.Filename)
		text(p.MediaType)
		raw(p.Metadata)
	}
	raw(m.Metadata)
	raw(r.Metadata)
	if p := r.Push; p != nil {
		text(p.ID)
		text(p.URL)
		text(p.Token)
		text(p.Scheme)
		text(p.Credentials)
	}
	for _, id := range m.ReferenceTasks {
		text(id)
	}
}
