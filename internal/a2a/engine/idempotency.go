// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// maxIdempotentBytes bounds what the known turns hold by themselves: their
// messages while they run, and answers without a task.
const maxIdempotentBytes = 16 << 20

// idempotency knows the turns of a while, so that a message that is sent again,
// because its answer got lost, joins its turn and makes no other. A message is
// forgotten once its task is continued or canceled: its client has the answer,
// and means a new message.
type idempotency struct {
	window func() time.Duration
	limit  int
	// shared is true when the store knows, too, which messages are forgotten: those
	// whose claim does not stand any more (Claims).
	shared bool
	seed   maphash.Seed

	mu    sync.Mutex
	turns map[messageKey]*remembered
	// tasks has what is remembered of the turns that began, by their task.
	tasks map[store.Key][]*remembered
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
	// task is that of a turn that began; the zero value before.
	task store.Key
}

func newIdempotency(window func() time.Duration, limit int, shared bool) *idempotency {
	return &idempotency{
		window: window, limit: limit, shared: shared, seed: maphash.MakeSeed(),
		turns: map[messageKey]*remembered{}, tasks: map[store.Key][]*remembered{},
	}
}

// join returns the turn of the same message, or a new one. On a shared store a
// turn that has stopped may have been forgotten by another replica: then the new
// turn takes its place and has it as its former one, until the store tells.
func (i *idempotency) join(r *a2a.SendRequest, now time.Time) (tn *turn, joined bool) {
	window := i.window()
	if r.Message.ID == "" || window <= 0 {
		return newTurn(r), false
	}
	key := i.key(r)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.expire(now)
	until := now.Add(window)
	var former *turn
	if known := i.turns[key]; known != nil {
		switch {
		case !now.Before(known.until), known.turn.isRefused():
			// What was refused may be taken now.
		case i.shared && known.turn.mayBeForgotten():
			former, until = known.turn, known.until
		default:
			return known.turn, true
		}
		i.drop(known)
	}
	tn = newTurn(r)
	tn.former = former
	tn.recent = &remembered{key: key, turn: tn, until: until, bytes: r.Message.Size()}
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

// began files a turn under its task.
func (i *idempotency) began(tn *turn, k store.Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := tn.recent; known != nil && known.turn != nil && known.task == (store.Key{}) {
		known.task = k
		i.tasks[k] = append(i.tasks[k], known)
	}
}

// forgetTask lets the messages be sent again that began turns of a task.
func (i *idempotency) forgetTask(k store.Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, known := range slices.Clone(i.tasks[k]) {
		i.drop(known)
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
	if old.task != (store.Key{}) {
		of := slices.DeleteFunc(i.tasks[old.task], func(other *remembered) bool { return other == old })
		if i.tasks[old.task] = of; len(of) == 0 {
			delete(i.tasks, old.task)
		}
	}
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
