// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Bounds of what this process keeps and reads.
const (
	// recordOverhead is what a record costs beside its event and its encodings.
	recordOverhead = 160
	// localRecords and localBytes bound the records of one log in memory. Who
	// reads further back reads from Redis.
	localRecords = 4096
	localBytes   = 4 << 20
)

// log is a log in Redis and, unless its memory was taken, what it comes to.
type log struct {
	store *Store
	key   store.Key
	// name is the task's in keys.
	name string
	// charged and at are the cache's.
	charged int64
	at      *list.Element

	mu        sync.Mutex
	contextID string
	// fold is the task up to the event numbered seq; nil without memory.
	fold *store.Fold
	seq  uint64
	// records are the newest of the log, the last numbered seq.
	records     []*a2a.Record
	recordBytes int
	// stored is the number of the event up to which Redis has a fold, and unfolded
	// counts the bytes behind it.
	stored   uint64
	unfolded int
	// doubts counts the appends of which it is not known what became, and sure is
	// their number when the log was read last.
	doubts, sure uint64
	// own is true while this process was the last to append.
	own bool
	// gone is true once there is no such task.
	gone     bool
	snapshot *a2a.Record
	watchers []*watcher
	room     room
}

var _ store.Log = (*log)(nil)

// Snapshot implements store.Log.
func (l *log) Snapshot(ctx context.Context) (*a2a.Record, error) {
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if l.snapshot == nil {
		l.snapshot = a2a.NewRecord(l.seq, a2a.Event{Task: l.fold.Task()}, &l.room)
	}
	return l.snapshot, nil
}

// lock takes the lock of a log that knows where it stands.
func (l *log) lock(ctx context.Context) error {
	for {
		l.mu.Lock()
		switch {
		case l.gone:
			l.mu.Unlock()
			return store.ErrNotFound
		case l.fold != nil && l.doubts == l.sure:
			return nil
		}
		l.mu.Unlock()
		if err := l.sync(ctx); err != nil {
			return err
		}
	}
}

// Read implements store.Log.
func (l *log) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	l.mu.Lock()
	gone, known := l.gone, l.fold != nil
	if known && !gone && (after >= l.seq || l.seq-after <= uint64(len(l.records))) {
		defer l.mu.Unlock()
		if after >= l.seq {
			return dst, nil
		}
		behind := l.records[uint64(len(l.records))-(l.seq-after):]
		return append(dst, store.Piece(behind)...), nil
	}
	l.mu.Unlock()
	if gone {
		return dst, store.ErrNotFound
	}
	return l.between(ctx, dst, after)
}

// between reads a piece of the log that is not in memory. Its records are
// nobody else's.
func (l *log) between(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.between, l.name, after, store.ReadLimit, store.ReadBytes)
	if err != nil {
		return dst, err
	}
	if reply == nil {
		l.vanish()
		return dst, store.ErrNotFound
	}
	from := len(dst)
	a := answerOf(reply)
	_, contextID := a.number(), a.text()
	next := after + 1
	for a.more() {
		last, encoded := a.entry(), a.text()
		events, _, err := readEvents(home{l.key.TaskID, contextID}, []byte(encoded))
		if err != nil || a.err != nil {
			return dst[:from], errors.Join(a.err, err)
		}
		first := last - uint64(len(events)) + 1
		if first > next {
			return dst[:from], store.ErrTrimmed
		}
		for i := range events[next-first:] {
			if len(dst)-from == store.ReadLimit {
				return dst, nil
			}
			dst = append(dst, &a2a.Record{Seq: next + uint64(i), Event: events[next-first+uint64(i)]})
		}
		next = last + 1
	}
	return dst, a.err
}

// begin is the state of a log that this process has created, unless somebody has
// read it already.
func (l *log) begin(fold *store.Fold, contextID string, events []a2a.Event, encoded int) (victims []*log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold != nil {
		return nil
	}
	l.fold, l.seq, l.contextID, l.own = fold, 0, contextID, true
	l.add(events)
	l.unfolded = encoded
	return l.charge()
}

// add folds and numbers events.
func (l *log) add(events []a2a.Event) {
	for i := range events {
		l.fold.Apply(&events[i])
		l.recordBytes += recordOverhead + events[i].Size()
	}
	l.records = a2a.AppendRecords(l.records, l.seq, events, &l.room)
	l.seq += uint64(len(events))
	l.forgetSnapshot()
	drop := 0
	for len(l.records)-drop > 1 && (len(l.records)-drop > localRecords || l.recordBytes > localBytes) {
		l.recordBytes -= recordOverhead + l.records[drop].Size()
		l.records[drop].Drop()
		l.records[drop] = nil // it would keep what it points to alive
		drop++
	}
	l.records = l.records[drop:]
}

func (l *log) charge() (victims []*log) {
	return l.store.cache.charge(l, int64(logOverhead+l.recordBytes+l.fold.Size()))
}

// logOverhead is what a log costs beside what it holds.
const logOverhead = 1024

// forget drops what is in memory.
func (l *log) forget() {
	l.forgetRecords()
	l.forgetSnapshot()
	l.fold = nil
}

func (l *log) forgetRecords() {
	for _, r := range l.records {
		r.Drop()
	}
	l.records, l.recordBytes = nil, 0
}

func (l *log) forgetSnapshot() {
	if l.snapshot != nil {
		l.snapshot.Drop()
		l.snapshot = nil
	}
}

// vanish is the end of a log whose task is gone.
func (l *log) vanish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		l.gone = true
		l.forget()
		l.store.cache.charge(l, 0)
		l.wake()
	}
}

// watcher has an identity, which a function lacks.
type watcher struct{ wake func() }

// Watch implements store.Log.
func (l *log) Watch(wake func()) (stop func()) {
	w := &watcher{wake: wake}
	l.mu.Lock()
	l.watchers = append(l.watchers, w)
	l.room.readers.Store(int64(len(l.watchers)))
	first, own := len(l.watchers) == 1, l.own
	l.mu.Unlock()
	if first {
		l.store.follower.add(l, own)
	}
	return sync.OnceFunc(func() { l.unwatch(w) })
}

func (l *log) unwatch(w *watcher) {
	l.mu.Lock()
	at := slices.Index(l.watchers, w)
	last := len(l.watchers) - 1
	l.watchers[at] = l.watchers[last]
	l.watchers[last] = nil
	l.watchers = l.watchers[:last]
	l.room.readers.Store(int64(last))
	if last == 0 {
		// The next reader may never come, and speaks what it likes.
		for _, r := range l.records {
			r.Forget()
		}
		if l.snapshot != nil {
			l.snapshot.Forget()
		}
	}
	l.mu.Unlock()
	if last == 0 {
		l.store.follower.remove(l)
	}
}

// wake tells those who watch.
func (l *log) wake() {
	for _, w := range l.watchers {
		w.wake()
	}
}
