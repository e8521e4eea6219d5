// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"slices"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

var _ store.Log = (*log)(nil)

// Append implements store.Log.
func (l *log) Append(_ context.Context, a store.Append) (uint64, error) {
	if a.Repeat {
		if done, err := l.repeated(&a); done || err != nil {
			return a.After + uint64(len(a.Events)), err
		}
	}
	size := costOf(a.Events, a.Waiting.Size())
	if !l.reserve(size, ends(a.Events)) {
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
		if a.Compact {
			l.trim(1, l.store.options.MaxLogBytes)
		}
		l.trim(l.store.options.MaxLogEvents, l.store.options.MaxLogBytes)
		if l.fold.State().Terminal() {
			l.dropJournal()
		}
		l.recharge()
		l.wake()
	}
	seq := l.seq
	now := l.fold.State()
	l.mu.Unlock()
	if l.store.queueOf(before) != l.store.queueOf(now) {
		l.store.mu.Lock()
		l.store.file(l)
		l.store.mu.Unlock()
	}
	return seq, nil
}

// refuse returns store.ErrNotFound if the task was evicted, store.ErrConflict if after is not
// the last event, and nil otherwise. l.mu is held.
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

// repeated reports whether an earlier attempt of a repeated append has succeeded. It returns
// false and nil if the append has to be made. It returns ErrConflict if the log has other
// events at the place of the append, ErrIndeterminate if the log has dropped the events at
// this place, and ErrNotFound if the task was evicted.
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
		return false, store.ErrIndeterminate // the log has dropped the record, and the token with it
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

// Watch implements store.Log.
func (l *log) Watch(wake func()) (stop func()) {
	w := &watcher{wake: wake}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers = append(l.watchers, w)
	l.room.Readers.Store(int64(len(l.watchers)))
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
	l.room.Readers.Store(int64(last))
	if last == 0 {
		l.forgetEncodings()
	}
}

// costOf returns the charge for events and further bytes.
func costOf(events []a2a.Event, further int) int64 {
	if len(events) == 0 {
		return 0
	}
	size := int64(2 * further)
	for i := range events {
		size += int64(recordOverhead + 2*events[i].Size())
	}
	return size
}

func ends(events []a2a.Event) bool {
	last := len(events) - 1
	return last >= 0 && events[last].Status != nil && events[last].Status.Status.State.Terminal()
}

// reserve charges bytes to the account. When the store is full, it evicts other tasks first, and then drops the
// older half of this log's records, repeatedly. It never evicts this task, because its turn runs. It returns false
// if there is still no room, unless isEnd is true: a full store accepts the end of a task.
func (l *log) reserve(size int64, isEnd bool) bool {
	s := l.store
	if size == 0 || s.add(l.account, size) {
		return true
	}
	s.add(l.account, -size)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.noteGrowth(l.account)
	for !s.reserve(l.account, size, l) {
		if l.trimHalf() {
			continue
		}
		if !isEnd {
			return false
		}
		s.add(l.account, size)
		break
	}
	return true
}

// recharge sets the charge of the log to the bytes that it holds now. l.mu is held.
func (l *log) recharge() {
	size := int64(0)
	if !l.removed {
		size = l.size()
	}
	l.store.add(l.account, size-l.charge)
	l.charge = size
}

// trimHalf drops the older half of the records, so that the next events have room, too. It
// returns false if it could drop none.
func (l *log) trimHalf() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := len(l.records)
	l.trim(max(count/2, 1), l.store.options.MaxLogBytes)
	l.recharge()
	return len(l.records) < count
}
