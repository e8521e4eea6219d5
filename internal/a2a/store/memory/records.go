// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import "github.com/a2a-operator/a2a-operator/internal/a2a"

// recordOverhead is an estimate of the bytes of a record without its event and its
// encodings.
const recordOverhead = 160

// forgetEncodings drops the cached encodings when the last watcher has left, because
// the next reader, if there is one, may need other encodings.
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

// trim drops the oldest records, and the tokens of their appends, until the log has at most
// count records and at most bytes bytes. It keeps at least one record.
func (l *log) trim(count, bytes int) {
	drop := 0
	for len(l.records)-drop > 1 && (len(l.records)-drop > count || l.recordBytes > bytes) {
		l.recordBytes -= recordOverhead + l.records[drop].Size()
		l.records[drop].Drop()
		// The array behind the slice would keep the record in memory.
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

func (l *log) size() int64 {
	return int64(l.recordBytes) + int64(l.fold.Size()) + int64(l.journalBytes)
}

func (l *log) state() (state a2a.State, gone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.State(), l.removed
}
