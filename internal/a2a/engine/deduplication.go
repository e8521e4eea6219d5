// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/list"
	"hash/maphash"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/kit/ranking"
)

// deduplication remembers turns by their messages, so that a message that a client sends again
// joins the turn of the first copy. It remembers a message until its turn is over, and then for one
// window. If the task of the message is continued or canceled, it forgets the message earlier: the
// client has received its answer by then, so an equal message begins a new turn. If it remembers too much, it forgets the oldest
// message of the owner that uses the most, of the share (a2a.Owner.Share) that uses the most.
type deduplication struct {
	window func() time.Duration
	now    func() time.Time
	// limit bounds the number of remembered turns that are over, and maxBytes their bytes.
	limit    int
	maxBytes int64
	// shared is true if another replica may continue or cancel a task. The claim in the
	// store then decides whether a message is forgotten (store.Claims).
	shared bool
	seed   maphash.Seed

	mu    sync.Mutex
	turns map[messageKey]*recentMessage
	// number is that of the last turn that ended.
	number uint64
	// tasks has the newest entry of each task whose turns are remembered. recentMessage.older
	// leads from it to the older entries.
	tasks map[store.Key]*recentMessage
	// ended has the entries whose turns are over, and owners those of each a2a.Owner.Principal. shares are their sums for each
	// a2a.Owner.Share, and byWeight has the shares, the largest one first.
	ended    recentOwner
	owners   map[string]*recentOwner
	shares   map[string]*recentShare
	byWeight *ranking.Ranking[*recentShare]
}

// recentOwner has entries in the order in which their turns ended, and the sum of their bytes.
type recentOwner struct {
	order list.List
	bytes int
	share *recentShare
	place *ranking.Place[*recentOwner]
}

// recentShare is the number and the bytes of the entries of a share. byWeight has its owners, the largest one first. Of equal ones, it is the
// one with the oldest entry.
type recentShare struct {
	entries, bytes int
	byWeight       *ranking.Ranking[*recentOwner]
	place          *ranking.Place[*recentShare]
}

// recentMessage is an entry of deduplication.
type recentMessage struct {
	deduplication *deduplication
	key           messageKey
	turn          *turn
	// over is true once the turn is over. The message is then remembered until until.
	over  bool
	until time.Time
	bytes int
	// inEnded and inOwner are the places in the lists of deduplication, if over is true. number is that of the end of the turn.
	inEnded, inOwner *list.Element
	number           uint64
	// task is the zero value until the turn has a task. older and newer are the remembered
	// turns of the same task before and after it, nil for none.
	task         store.Key
	older, newer *recentMessage
}

// messageKey identifies a message by owner, ids and content. body is a hash with a
// random seed, so that clients cannot construct collisions.
type messageKey struct {
	owner                        a2a.Owner
	contextID, taskID, messageID string
	body                         uint64
}

func newDeduplication(window func() time.Duration, now func() time.Time, limit int, maxBytes int64, shared bool) *deduplication {
	d := &deduplication{
		window: window, now: now, limit: limit, maxBytes: maxBytes, shared: shared, seed: maphash.MakeSeed(),
		turns: map[messageKey]*recentMessage{}, tasks: map[store.Key]*recentMessage{},
		owners: map[string]*recentOwner{}, shares: map[string]*recentShare{},
	}
	d.byWeight = ranking.New(func(a, b *recentShare) bool { return d.weight(a.entries, a.bytes) > d.weight(b.entries, b.bytes) })
	return d
}

// findOrAdd returns the known turn of the same message and true, or a new turn and false. If
// another replica may have continued or canceled the task of the known turn, findOrAdd
// returns a new turn, with the known one in turn.former. The claim in the store then decides
// which of the two is valid.
func (d *deduplication) findOrAdd(r *a2a.SendRequest, now time.Time) (tn *turn, joined bool) {
	window := d.window()
	if r.Message.ID == "" || window <= 0 {
		return newTurn(r), false
	}
	key := d.key(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expire(now)
	var until time.Time
	var former *turn
	if known := d.turns[key]; known != nil {
		switch {
		case known.over && !now.Before(known.until), known.turn.isRefused():
			// A message that was refused may be accepted now.
		case d.shared && known.turn.mayBeForgotten():
			former = known.turn
			until = known.until
		default:
			return known.turn, true
		}
		d.drop(known)
	}
	tn = newTurn(r)
	tn.former = former
	tn.recent = &recentMessage{deduplication: d, key: key, turn: tn, until: until, bytes: r.Message.Size()}
	d.turns[key] = tn.recent
	return tn, false
}

// mayBeForgotten reports whether the turn has stopped in a task that another replica may
// have continued or canceled since.
func (tn *turn) mayBeForgotten() bool {
	select {
	case <-tn.stopped:
		return tn.isDecided() && tn.first != nil && tn.claim.Message != ""
	default:
		return false
	}
}

// isOver records that the turn of an entry is over. The entry is forgotten one window later, or at
// the same time as the earlier turn that it replaces.
func (m *recentMessage) isOver() {
	if m == nil {
		return
	}
	d := m.deduplication
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.turn == nil || m.over {
		return
	}
	now := d.now()
	d.expire(now)
	m.over = true
	if m.turn.former == nil {
		m.until = now.Add(d.window())
	}
	d.number++
	m.number = d.number
	of := d.ownerOf(m.key.owner)
	m.inEnded = d.ended.order.PushBack(m)
	m.inOwner = of.order.PushBack(m)
	if of.place == nil {
		of.place = of.share.byWeight.Add(of)
	}
	d.count(of, 1, m.bytes)
	d.shrink(of.share)
}

// ownerOf returns the entries of an owner.
func (d *deduplication) ownerOf(owner a2a.Owner) *recentOwner {
	if known := d.owners[owner.Principal()]; known != nil {
		return known
	}
	s := d.shares[owner.Share()]
	if s == nil {
		s = &recentShare{byWeight: ranking.New(d.isBefore)}
		s.place = d.byWeight.Add(s)
		d.shares[owner.Share()] = s
	}
	of := &recentOwner{share: s}
	d.owners[owner.Principal()] = of
	return of
}

func (d *deduplication) isBefore(a, b *recentOwner) bool {
	ofA := d.weight(a.order.Len(), a.bytes)
	ofB := d.weight(b.order.Len(), b.bytes)
	return ofA > ofB || ofA == ofB && a.oldest().number < b.oldest().number
}

// addBytes counts the bytes of an answer that is kept with its turn.
func (d *deduplication) addBytes(tn *turn, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if old := tn.recent; old != nil && old.turn != nil && old.over {
		old.bytes += bytes
		of := d.ownerOf(old.key.owner)
		d.count(of, 0, bytes)
		d.shrink(of.share)
	}
}

// forget removes the entry of a turn whose message was refused, so that the client can send
// the message again.
func (d *deduplication) forget(tn *turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if tn.recent != nil {
		d.drop(tn.recent)
	}
}

// began indexes a turn by its task.
func (d *deduplication) began(tn *turn, k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := tn.recent; known != nil && known.turn != nil && known.task == (store.Key{}) {
		known.task = k
		if newest := d.tasks[k]; newest != nil {
			known.older = newest
			newest.newer = known
		}
		d.tasks[k] = known
	}
}

// forgetTask removes the entries of all turns of a task.
func (d *deduplication) forgetTask(k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for newest := d.tasks[k]; newest != nil; newest = d.tasks[k] {
		d.drop(newest)
	}
}

// forgetAll forgets all messages whose turns have begun or were refused. The others still have to claim
// their messages, and other replicas may forward copies of them meanwhile.
func (d *deduplication) forgetAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range d.turns {
		if each.over || each.turn.isDecided() {
			d.drop(each)
		}
	}
}

func (d *deduplication) expire(now time.Time) {
	for oldest := d.ended.oldest(); oldest != nil && !now.Before(oldest.until); oldest = d.ended.oldest() {
		d.drop(oldest)
	}
}

// oldest returns the entry that ended first, nil for none.
func (s *recentOwner) oldest() *recentMessage {
	if s.order.Len() == 0 {
		return nil
	}
	return s.order.Front().Value.(*recentMessage) // the list has nothing else
}

// weight returns the part of deduplication that entries use: by their number or by their bytes, whichever is larger.
func (d *deduplication) weight(entries, bytes int) float64 {
	return max(float64(entries)/float64(d.limit), float64(bytes)/float64(d.maxBytes))
}

// count adds to the entries and the bytes of an owner, whose list is changed already and is not empty.
func (d *deduplication) count(of *recentOwner, entries, bytes int) {
	of.bytes += bytes
	of.share.entries += entries
	of.share.bytes += bytes
	d.ended.bytes += bytes
	of.share.byWeight.Moved(of.place)
	d.byWeight.Moved(of.share.place)
}

// shrink forgets entries of the largest share while there are too many or too large ones. Of equal shares, it is the one that has grown.
func (d *deduplication) shrink(grown *recentShare) {
	for d.weight(d.ended.order.Len(), d.ended.bytes) > 1 {
		largest := d.byWeight.First()
		if grown.entries > 0 && d.weight(grown.entries, grown.bytes) >= d.weight(largest.entries, largest.bytes) {
			largest = grown
		}
		d.drop(largest.byWeight.First().oldest())
	}
}

func (d *deduplication) drop(old *recentMessage) {
	if old.turn == nil {
		return
	}
	delete(d.turns, old.key)
	if old.task != (store.Key{}) {
		d.unlink(old)
	}
	if old.over {
		d.dropEnded(old)
	}
	old.turn = nil
}

func (d *deduplication) dropEnded(old *recentMessage) {
	of := d.ownerOf(old.key.owner)
	of.order.Remove(old.inOwner)
	d.ended.order.Remove(old.inEnded)
	if of.order.Len() > 0 {
		d.count(of, -1, -old.bytes)
		return
	}
	of.share.byWeight.Remove(of.place)
	delete(d.owners, old.key.owner.Principal())
	of.share.entries--
	of.share.bytes -= old.bytes
	d.ended.bytes -= old.bytes
	d.byWeight.Moved(of.share.place)
	if of.share.entries == 0 {
		d.byWeight.Remove(of.share.place)
		delete(d.shares, old.key.owner.Share())
	}
}

// unlink removes an entry from the entries of its task. Most tasks have one turn. For them,
// unlink only deletes the entry in deduplication.tasks.
func (d *deduplication) unlink(old *recentMessage) {
	older := old.older
	newer := old.newer
	old.older = nil
	old.newer = nil
	if older != nil {
		older.newer = newer
	}
	switch {
	case newer != nil:
		newer.older = older
	case older != nil:
		d.tasks[old.task] = older
	default:
		delete(d.tasks, old.task)
	}
}

func (d *deduplication) key(r *a2a.SendRequest) messageKey {
	m := r.Message
	return messageKey{
		owner: r.Owner, contextID: m.ContextID, taskID: m.TaskID, messageID: m.ID,
		body: d.body(r),
	}
}

// body hashes the content of a message. The length of each value precedes the value, so that
// two contents that divide the same bytes differently have different hashes.
func (d *deduplication) body(r *a2a.SendRequest) uint64 {
	var h maphash.Hash
	h.SetSeed(d.seed)
	text := func(s string) {
		maphash.WriteComparable(&h, len(s))
		_, _ = h.WriteString(s)
	}
	raw := func(b []byte) {
		maphash.WriteComparable(&h, len(b))
		_, _ = h.Write(b)
	}
	r.Content(text, raw)
	return h.Sum64()
}
