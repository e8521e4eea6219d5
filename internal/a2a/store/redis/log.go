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

// Bounds of the memory of a log.
const (
	// recordOverhead is an estimate of the bytes of a record without its event and
	// its encodings.
	recordOverhead = 160
	// localRecords and localBytes bound the records of one log in memory. Older
	// records are read from Redis.
	localRecords = 4096
	localBytes   = 4 << 20
)

// log is a log in Redis and, unless its memory was dropped, its fold and newest
// records.
type log struct {
	store *Store
	key   store.Key
	// name is that of the task in keys.
	name string
	// charged and cacheEntry belong to the cache.
	charged    int64
	cacheEntry *list.Element

	mu        sync.Mutex
	contextID string
	// fold is the task up to the event numbered seq; nil when the memory was
	// dropped.
	fold *store.Fold
	seq  uint64
	// records are the newest of the log, the last numbered seq.
	records     []*a2a.Record
	recordBytes int
	// foldedUpTo is the number of the last event in the fold that Redis has, and
	// unfolded counts the bytes of the events after it.
	foldedUpTo uint64
	unfolded   int
	// indeterminate counts the appends whose outcome is unknown, and the conflicts.
	// resolved is its value when the log was read last.
	indeterminate, resolved uint64
	// wroteLast is true while the last append was by this process.
	wroteLast bool
	// removed is true once the task does not exist any more.
	removed  bool
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

// lock locks the log, after it has read the log when that is necessary.
func (l *log) lock(ctx context.Context) error {
	for {
		l.mu.Lock()
		switch {
		case l.removed:
			l.mu.Unlock()
			return store.ErrNotFound
		case l.fold != nil && l.indeterminate == l.resolved:
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
	gone, known := l.removed, l.fold != nil
	if known && !gone && (after >= l.seq || l.seq-after <= uint64(len(l.records))) {
		defer l.mu.Unlock()
		if after >= l.seq {
			return dst, nil
		}
		behind := l.records[uint64(len(l.records))-(l.seq-after):]
		return append(dst, store.ReadBatch(behind)...), nil
	}
	l.mu.Unlock()
	if gone {
		return dst, store.ErrNotFound
	}
	return l.readFromRedis(ctx, dst, after)
}

// readFromRedis reads records that are not in memory. The caller owns them.
func (l *log) readFromRedis(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.readRange, l.name, after, store.ReadLimit, store.ReadBytes)
	if err != nil {
		return dst, err
	}
	if reply == nil {
		l.markRemoved()
		return dst, store.ErrNotFound
	}
	from := len(dst)
	a := newReplyReader(reply)
	_, contextID := a.number(), a.text()
	next := after + 1
	for a.more() {
		last, encoded := a.entry(), a.text()
		events, _, err := readEvents(taskIDs{l.key.TaskID, contextID}, []byte(encoded))
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

// initialize sets the state of a log that this process has created, unless another
// goroutine has read it already.
func (l *log) initialize(fold *store.Fold, contextID string, events []a2a.Event, encoded int) (victims []*log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold != nil {
		return nil
	}
	l.fold, l.seq, l.contextID, l.wroteLast = fold, 0, contextID, true
	l.add(events)
	l.unfolded = encoded
	return l.charge()
}

// add adds events to the fold and the records.
func (l *log) add(events []a2a.Event) {
	for i := range events {
		l.fold.Apply(&events[i])
		l.recordBytes += recordOverhead + events[i].Size()
	}
	l.records = a2a.AppendRecords(l.records, l.seq, events, &l.room)
	l.seq += uint64(len(events))
	l.dropSnapshot()
	drop := 0
	for len(l.records)-drop > 1 && (len(l.records)-drop > localRecords || l.recordBytes > localBytes) {
		l.recordBytes -= recordOverhead + l.records[drop].Size()
		l.records[drop].Drop()
		l.records[drop] = nil // or the array keeps the record in memory
		drop++
	}
	l.records = l.records[drop:]
}

func (l *log) charge() (victims []*log) {
	return l.store.cache.charge(l, int64(logOverhead+l.recordBytes+l.fold.Size()))
}

// logOverhead is an estimate of the bytes of a log without its fold and records.
const logOverhead = 1024

// dropMemory drops the fold and the records.
func (l *log) dropMemory() {
	l.dropRecords()
	l.dropSnapshot()
	l.fold = nil
}

func (l *log) dropRecords() {
	for _, r := range l.records {
		r.Drop()
	}
	l.records, l.recordBytes = nil, 0
}

func (l *log) dropSnapshot() {
	if l.snapshot != nil {
		l.snapshot.Drop()
		l.snapshot = nil
	}
}

// markRemoved ends a log whose task does not exist any more.
func (l *log) markRemoved() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.removed {
		l.removed = true
		l.dropMemory()
		l.store.cache.charge(l, 0)
		l.wake()
	}
}

// watcher is a function with an identity.
type watcher struct{ wake func() }

// Watch implements store.Log.
func (l *log) Watch(wake func()) (stop func()) {
	w := &watcher{wake: wake}
	l.mu.Lock()
	l.watchers = append(l.watchers, w)
	l.room.readers.Store(int64(len(l.watchers)))
	first, own := len(l.watchers) == 1, l.wroteLast
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
		// There may be no next reader, or one that needs other encodings.
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

// wake calls all watchers.
func (l *log) wake() {
	for _, w := range l.watchers {
		w.wake()
	}
}
