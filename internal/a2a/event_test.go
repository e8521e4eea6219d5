// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// ample is a Room without a bound. It counts the reserved bytes.
type ample struct{ taken atomic.Int64 }

func (r *ample) Take(bytes int64) bool { r.taken.Add(bytes); return true }
func (r *ample) Give(bytes int64)      { r.taken.Add(-bytes) }
func (r *ample) Shared() bool          { return false }

func encodeTen(dst []byte, _ *Event) []byte { return append(dst, make([]byte, 10)...) }

// TestRecordIsSmall checks the size of a Record, because a log stores one for each event:
// each further byte costs memory thousands of times.
func TestRecordIsSmall(t *testing.T) {
	if got := unsafe.Sizeof(Record{}); got > 64 {
		t.Errorf("a record has %d bytes, want 64 at most", got)
	}
}

func TestRecordKeepsOneEncodingOfEachDialect(t *testing.T) {
	room := &ample{}
	r := NewRecord(1, Event{Message: &Message{}}, room)
	for d := range dialects {
		first := r.Encoded(d, encodeTen)
		if again := r.Encoded(d, encodeTen); &again[0] != &first[0] {
			t.Errorf("dialect %d is encoded twice", d)
		}
		if !r.Shared(d) {
			t.Errorf("dialect %d is not shared", d)
		}
	}
	full := room.taken.Load()
	r.Forget()
	if got := room.taken.Load(); got != 0 || full == 0 {
		t.Errorf("%d bytes taken, %d after Forget, want some and none", full, got)
	}
	r.Encoded(DialectV10, encodeTen)
	if !r.Shared(DialectV10) {
		t.Error("nothing is kept after Forget")
	}
	r.Drop()
	r.Forget()
	r.Encoded(DialectV03, encodeTen)
	if got := room.taken.Load(); got != 0 || r.Shared(DialectV03) {
		t.Errorf("%d bytes are kept after Drop, want none", got)
	}
}

func TestRecordReleasesItsReservation(t *testing.T) {
	for range 200 {
		room := &ample{}
		r := NewRecord(1, Event{Message: &Message{}}, room)
		var all sync.WaitGroup
		for d := range dialects {
			for range 2 {
				all.Go(func() {
					for range 4 {
						r.Encoded(d, encodeTen)
					}
				})
			}
		}
		all.Go(r.Forget)
		all.Go(r.Drop)
		all.Wait()
		if got := room.taken.Load(); got != 0 {
			t.Fatalf("%d bytes are left", got)
		}
	}
}
