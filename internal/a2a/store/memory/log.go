// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// recordOverhead is an estimate of the bytes of a record without its event and its
// encodings.
const recordOverhead = 160

type log struct {
	store   *Store
	key     store.Key
	account *account
	place   evictionPlace
	// ownerIndex is the index of the log among those of its owner. Store.mu guards
	// it.
	ownerIndex int
	// pausedIn is the conversation in whose paused tasks the log is; nil for none.
	// Store.mu guards it.
	pausedIn *store.Conversation

	mu   sync.Mutex
	fold *store.Fold
	// records are the newest of the log. The last is numbered seq.
	records     []*a2a.Record
	seq         uint64
	recordBytes int
	// charge is the number of bytes that the store counts for this log.
	charge  int64
	removed bool
	// snapshot is the last one that was returned; nil after the next event.
	snapshot *a2a.Record
	watchers []*watcher
	room     room
	// created is the token of the creation, and written those of the appends whose
	// records the log still has; appends without a token are not among them.
	creationToken store.Token
	written       []written
}

// written is an append that has a token.
type written struct {
	last  uint64
	token store.Token
}

var _ store.Log = (*log)(nil)

// Append implements store.Log.
func (l *log) Append(_ context.Context, a store.Append) (uint64, error) {
	if a.Repeat {
		if done, err := l.repeated(&a); done || err != nil {
			return a.After + uint64(len(a.Events)), err
		}
	}
	size, ok := l.reserve(a.Events)
	if !ok {
		return 0, store.ErrFull
	}
	l.mu.Lock()
	l.charge += size
	if err := l.refuse(a.After); err != nil {
		l.recharge()
		l.mu.Unlock()
		return 0, err
	}
	before := l.fold.State()
	if len(a.Events) > 0 {
		l.add(a.Events)
		if a.Token != 0 {
			l.written = append(l.written, written{l.seq, a.Token})
		}
		l.trim(l.store.options.MaxLogEvents, l.store.options.MaxLogBytes)
		l.recharge()
		l.wake()
	}
	seq, now := l.seq, l.fold.State()
	l.mu.Unlock()
	if l.store.queueOf(before) != l.store.queueOf(now) {
		l.store.mu.Lock()
		l.store.file(l)
		l.store.mu.Unlock()
	}
	return seq, nil
}

// refuse returns why an append is not possible; nil when it is.
func (l *log) refuse(after uint64) error {
	switch {
	case l.removed:
		return store.ErrNotFound
	case after != l.seq:
		return store.ErrConflict
	default:
		return nil
	}
}

// repeated reports whether an append that is repeated has happened.
func (l *log) repeated(a *store.Append) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := a.After + uint64(len(a.Events))
	switch {
	case l.removed:
		return false, store.ErrNotFound
	case a.After == l.seq:
		return false, nil
	case slices.Contains(l.written, written{last, a.Token}):
		return true, nil
	case last <= l.seq-uint64(len(l.records)):
		return false, store.ErrIndeterminate // its record is gone, and the token with it
	default:
		return false, store.ErrConflict
	}
}

// Snapshot implements store.Log.
func (l *log) Snapshot(context.Context) (*a2a.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return nil, store.ErrNotFound
	}
	if l.snapshot == nil {
		l.snapshot = a2a.NewRecord(l.seq, a2a.Event{Task: l.fold.Task()}, &l.room)
	}
	return l.snapshot, nil
}

// Read implements store.Log.
func (l *log) Read(_ context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return dst, store.ErrNotFound
	}
	if after >= l.seq {
		return dst, nil
	}
	missing := l.seq - after
	if missing > uint64(len(l.records)) {
		return dst, store.ErrTrimmed
	}
	behind := l.records[uint64(len(l.records))-missing:]
	return append(dst, store.ReadBatch(behind)...), nil
}

// watcher is a function with an identity.
type watcher struct{ wake func() }

// Watch implements store.Log.
func (l *log) Watch(wake func()) (stop func()) {
	w := &watcher{wake: wake}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = append(l.watchers, w)
	l.room.readers.Store(int64(len(l.watchers)))
	return func() { l.unwatch(w) }
}

func (l *log) unwatch(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.watchers, w)
	if at < 0 {
		return
	}
	last := len(l.watchers) - 1
	l.watchers[at] = l.watchers[last]
	l.watchers[last] = nil
	l.watchers = l.watchers[:last]
	l.room.readers.Store(int64(last))
	if last == 0 {
		l.forgetEncodings()
	}
}

// forgetEncodings drops the encodings when the last watcher has left: there may be
// no next reader, or one that needs others.
func (l *log) forgetEncodings() {
	for _, r := range l.records {
		r.Forget()
	}
	if l.snapshot != nil {
		l.snapshot.Forget()
	}
}

// add adds events to the fold and the records.
func (l *log) add(events []a2a.Event) {
	for i := range events {
		l.fold.Apply(&events[i])
		l.recordBytes += recordOverhead + events[i].Size()
	}
	l.records = a2a.AppendRecords(l.records, l.seq, events, &l.room)
	l.seq += uint64(len(events))
	l.forgetSnapshot()
}

func (l *log) forgetSnapshot() {
	if l.snapshot != nil {
		l.snapshot.Drop()
		l.snapshot = nil
	}
}

// trim drops the oldest records above a bound, and the tokens of their appends.
func (l *log) trim(count, bytes int) {
	drop := 0
	for len(l.records)-drop > 1 && (len(l.records)-drop > count || l.recordBytes > bytes) {
		l.recordBytes -= recordOverhead + l.records[drop].Size()
		l.records[drop].Drop()
		// The slice would keep the record in memory.
		l.records[drop] = nil
		drop++
	}
	l.records = l.records[drop:]
	first := l.seq - uint64(len(l.records)) + 1
	for len(l.written) > 0 && l.written[0].last < first {
		l.written = l.written[1:]
	}
}

// wake calls all watchers.
func (l *log) wake() {
	for _, w := range l.watchers {
		w.wake()
	}
}

// reserve charges events to the account and returns their bytes. When the store is
// full, it evicts other tasks first, and then drops the older half of this log's
// records. It never evicts this task, because it is being worked on.
func (l *log) reserve(events []a2a.Event) (size int64, ok bool) {
	if len(events) == 0 {
		return 0, true
	}
	for i := range events {
		size += int64(recordOverhead + 2*events[i].Size())
	}
	s := l.store
	if s.add(l.account, size) {
		return size, true
	}
	s.add(l.account, -size)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.noteGrowth(l.account)
	for !s.reserve(l.account, size, l) {
		if !l.trimHalf() {
			// A full store accepts the end of a task.
			last := events[len(events)-1].Status
			if last == nil || !last.Status.State.Terminal() {
				return 0, false
			}
			s.add(l.account, size)
			break
		}
	}
	return size, true
}

// trimHalf drops half of the records, so that the next events have room, too.
func (l *log) trimHalf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := len(l.records)
	l.trim(max(count/2, 1), l.store.options.MaxLogBytes)
	l.recharge()
	return len(l.records) < count
}

// recharge sets the charge to the bytes that the log holds. l.mu is held.
func (l *log) recharge() {
	size := int64(0)
	if !l.removed {
		size = l.size()
	}
	l.store.add(l.account, size-l.charge)
	l.charge = size
}

func (l *log) size() int64 { return int64(l.recordBytes) + int64(l.fold.Size()) }

func (l *log) state() (state a2a.State, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.State(), l.removed
}

// remove ends the log and returns its charge.
func (l *log) remove() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	charge := l.charge
	for _, r := range l.records {
		r.Drop()
	}
	l.forgetSnapshot()
	l.removed, l.charge, l.records, l.written = true, 0, nil, nil
	// A caller may keep the log for a while.
	l.fold = store.NewFold(l.key.TaskID, store.Origin{})
	l.wake()
	return charge
}
