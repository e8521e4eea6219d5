// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

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

// Read implements store.Log.
func (l *log) Read(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	l.mu.Lock()
	ended := l.ended
	known := l.fold != nil
	if known && (after >= l.seq || l.seq-after <= uint64(len(l.records))) {
		defer l.mu.Unlock()
		if after >= l.seq {
			return dst, nil
		}
		behind := l.records[uint64(len(l.records))-(l.seq-after):]
		return append(dst, store.ReadBatch(behind)...), nil
	}
	l.mu.Unlock()
	if ended != nil {
		return dst, ended
	}
	return l.readFromRedis(ctx, dst, after)
}

// readFromRedis reads records that are not in memory. The caller owns them. One call at a time reads a large entry.
func (l *log) readFromRedis(ctx context.Context, dst []*a2a.Record, after uint64) ([]*a2a.Record, error) {
	reply, err := l.store.calls.run(ctx, l.store.scripts.readRange, l.name, after, store.ReadLimit, limit.Small)
	size, _ := reply.(int64)
	if size > 0 {
		var release func()
		release, err = l.acquireLarge(ctx, size)
		if err != nil {
			return dst, err
		}
		defer release()
		reply, err = l.store.calls.run(ctx, l.store.scripts.readRange, l.name, after, 1, math.MaxInt64)
	}
	if err != nil {
		return dst, err
	}
	if err := l.endOf(reply); err != nil {
		return dst, err
	}
	from := len(dst)
	a := newReplyReader(reply)
	_ = a.number()
	contextID := a.text()
	next := after + 1
	for a.more() {
		last := a.entry()
		encoded := a.text()
		events, _, err := readEvents(taskIDs{l.key.TaskID, contextID}, []byte(encoded))
		if err == nil && size <= 0 { // a large entry has its memory already
			err = store.ReserveLoad(ctx, int64(len(encoded)))
		}
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

// Watch implements store.Log.
func (l *log) Watch(wake func()) (stop func()) {
	w := &watcher{wake: wake}
	l.mu.Lock()
	l.watchers = append(l.watchers, w)
	l.room.Readers.Store(int64(len(l.watchers)))
	first := len(l.watchers) == 1
	own := l.wroteLast
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
	l.room.Readers.Store(int64(last))
	if last == 0 {
		// A later reader may use another protocol version, and would then need other
		// encodings.
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
