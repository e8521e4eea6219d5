// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
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

// initialize sets the state of a log that this process has created, unless another
// goroutine has read the log already. encoded is the size of the encoded events, in bytes.
func (l *log) initialize(fold *store.Fold, n *store.NewTask, token string, encoded int) (victims []*log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold != nil {
		return nil
	}
	l.fold = fold
	l.seq = 0
	l.contextID = n.ContextID
	l.wroteLast = true
	l.lastToken = token
	l.add(n.Events)
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
		l.records[drop] = nil // otherwise the array keeps the record in memory
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
	l.records = nil
	l.recordBytes = 0
}

func (l *log) dropSnapshot() {
	if l.snapshot != nil {
		l.snapshot.Drop()
		l.snapshot = nil
	}
}

// end ends a log whose task does not exist any more (store.ErrNotFound), or of which
// the server has lost events (store.ErrRolledBack). The log leaves the cache, and its
// watchers wake.
func (l *log) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = why
		l.dropMemory()
		l.store.cache.charge(l, 0)
		l.wake()
	}
}

// wake calls all watchers.
func (l *log) wake() {
	for _, w := range l.watchers {
		w.wake()
	}
}

// dropMemories drops the memory of logs. The caller holds no lock.
func dropMemories(victims []*log) {
	for _, l := range victims {
		l.mu.Lock()
		l.dropMemory()
		l.store.cache.charge(l, 0)
		l.mu.Unlock()
	}
}
