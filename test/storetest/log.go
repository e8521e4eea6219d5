// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

func createAndOpen(t *testing.T, s store.Store) {
	if _, err := s.Open(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open() of nothing: error = %v, want ErrNotFound", err)
	}
	create(t, s, key)
	if _, err := s.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: Begin()}); !errors.Is(err, store.ErrExists) {
		t.Errorf("second Create() error = %v, want ErrExists", err)
	}
	log, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("Open() error = %v", err)
	}
	got := task(t, log)
	want := &a2a.Task{
		ID: "t1", ContextID: "c1", Dialect: a2a.DialectV01,
		Status:  Status(a2a.StateSubmitted, nil).Status.Status,
		History: []*a2a.Message{Message("m1", "hi")},
	}
	if diff := cmp.Diff(want, got.Task); diff != "" || got.Seq != 2 {
		t.Errorf("Snapshot() at %d, want 2; difference (-want +got):\n%s", got.Seq, diff)
	}
}

func keyHoldsOwner(t *testing.T, s store.Store) {
	create(t, s, key)
	if _, err := s.Open(t.Context(), store.Key{Owner: "bob", TaskID: key.TaskID}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open() by another owner: error = %v, want ErrNotFound", err)
	}
	create(t, s, store.Key{Owner: "bob", TaskID: key.TaskID})
}

func appendInOrder(t *testing.T, s store.Store) {
	log := create(t, s, key)
	add(t, log, 2, Status(a2a.StateWorking, nil))
	add(t, log, 3, Chunk("a", "x"), Chunk("a", "y"))
	records, err := log.Read(t.Context(), nil, 0)
	if err != nil {
		t.Fatalf("Read() error = %v", err)
	}
	for i, r := range records {
		if r.Seq != uint64(i)+1 {
			t.Errorf("record %d has number %d", i, r.Seq)
		}
	}
	if len(records) != 5 {
		t.Errorf("Read() = %d records, want 5", len(records))
	}
}

func appendNeedsLast(t *testing.T, s store.Store) {
	log := create(t, s, key)
	for _, after := range []uint64{0, 1, 3} {
		if _, err := log.Append(t.Context(), store.Append{After: after, Events: []a2a.Event{Chunk("a", "x")}}); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Append() after %d: error = %v, want ErrConflict", after, err)
		}
	}
	if got := task(t, log); got.Seq != 2 || len(got.Task.Artifacts) != 0 {
		t.Errorf("a refused append left number %d and %d artifacts", got.Seq, len(got.Task.Artifacts))
	}
}

func appendHasOneWinner(t *testing.T, s store.Store) {
	log := create(t, s, key)
	const writers = 8
	var won, lost sync.Map
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			_, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{Status(a2a.StateCompleted, nil)}})
			switch {
			case err == nil:
				won.Store(i, true)
			case errors.Is(err, store.ErrConflict):
				lost.Store(i, true)
			default:
				t.Errorf("Append() error = %v", err)
			}
		})
	}
	wg.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(any, any) bool { n++; return true })
		return n
	}
	if count(&won) != 1 || count(&lost) != writers-1 {
		t.Errorf("%d writers won and %d lost, want 1 and %d", count(&won), count(&lost), writers-1)
	}
}

func readFromAnywhere(t *testing.T, s store.Store) {
	log := create(t, s, key)
	for i := range 20 {
		add(t, log, uint64(i)+2, Chunk("a", strconv.Itoa(i)))
	}
	for after := range uint64(23) {
		next := after
		var got []*a2a.Record
		for {
			records, err := log.Read(t.Context(), nil, next)
			if err != nil {
				t.Fatalf("Read() after %d: error = %v", next, err)
			}
			if len(records) == 0 {
				break
			}
			got = append(got, records...)
			next = records[len(records)-1].Seq
		}
		if len(got) != int(22-after) {
			t.Errorf("Read() after %d = %d records, want %d", after, len(got), 22-after)
		}
	}
	kept := []*a2a.Record{{Seq: 99}}
	if got, err := log.Read(t.Context(), kept, 21); err != nil || len(got) != 2 || got[0].Seq != 99 || got[1].Seq != 22 {
		t.Errorf("Read() did not append to its argument: %v, %v", got, err)
	}
}

// A reader of a log of large events holds only a part of the log at a time, and receives
// all events in order.
func readsAreBoundedInBytes(t *testing.T, s store.Store) {
	log := create(t, s, key)
	const events, size = 6, 400 << 10
	for i := range events {
		add(t, log, uint64(i)+2, Chunk("a"+strconv.Itoa(i), strings.Repeat("x", size)))
	}
	after := uint64(2)
	for after < events+2 {
		records, err := log.Read(t.Context(), nil, after)
		if err != nil || len(records) == 0 {
			t.Fatalf("Read() after %d = %d records, %v", after, len(records), err)
		}
		bytes := 0
		for _, r := range records {
			bytes += r.Size()
		}
		if bytes > store.ReadBytes && len(records) > 1 {
			t.Errorf("Read() after %d = %d records of %d bytes, want %d bytes at most", after, len(records), bytes, store.ReadBytes)
		}
		after = records[len(records)-1].Seq
	}
}

// A writer appends while readers take snapshots. A reader that continues from a snapshot
// receives every later event once.
func snapshotIsOneMoment(t *testing.T, s store.Store) {
	log := create(t, s, key)
	const events = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range events {
			if _, err := log.Append(t.Context(), store.Append{After: uint64(i) + 2, Events: []a2a.Event{Chunk("a", "x")}}); err != nil {
				t.Errorf("Append() error = %v", err)
				return
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			record, err := log.Snapshot(t.Context())
			if err != nil {
				t.Errorf("Snapshot() error = %v", err)
				return
			}
			seen := 0
			if len(record.Task.Artifacts) > 0 {
				seen = len(record.Task.Artifacts[0].Parts)
			}
			if seen != int(record.Seq)-2 {
				t.Errorf("snapshot %d holds %d chunks", record.Seq, seen)
			}
			follow(t, log, record.Seq, events+2)
		})
	}
	wg.Wait()
}

func follow(t *testing.T, log store.Log, after, last uint64) {
	wake := make(chan struct{}, 1)
	stop := log.Watch(tell(wake))
	defer stop()
	for after < last {
		records, err := log.Read(t.Context(), nil, after)
		if err != nil {
			t.Errorf("Read() error = %v", err)
			return
		}
		for _, r := range records {
			if after++; r.Seq != after {
				t.Errorf("got record %d, want %d", r.Seq, after)
				return
			}
		}
		if len(records) == 0 {
			<-wake
		}
	}
}

func snapshotNeverChanges(t *testing.T, s store.Store) {
	log := create(t, s, key)
	seq := uint64(2)
	var taken []*a2a.Task
	var copies []a2a.Task
	step := func(e a2a.Event) {
		add(t, log, seq, e)
		seq++
		got := task(t, log).Task
		taken = append(taken, got)
		copies = append(copies, deepCopy(got))
	}
	joined := func(text string) a2a.Event {
		e := Chunk("joined", text)
		e.Artifact.JoinText = true
		return e
	}
	for i := range 20 {
		step(Chunk("a", strconv.Itoa(i)))
		step(joined(strconv.Itoa(i)))
		step(Status(a2a.StateWorking, Message("s"+strconv.Itoa(i), "x")))
		if i%5 == 4 {
			step(Chunk("joined", "a part of its own"))
		}
	}
	for i := range taken {
		if diff := cmp.Diff(&copies[i], taken[i]); diff != "" {
			t.Fatalf("snapshot %d was changed later (-before +after):\n%s", i, diff)
		}
	}
}

func deepCopy(t *a2a.Task) a2a.Task {
	c := *t
	c.History = append([]*a2a.Message(nil), t.History...)
	c.Artifacts = append([]a2a.Artifact(nil), t.Artifacts...)
	for i := range c.Artifacts {
		c.Artifacts[i].Parts = append([]a2a.Part(nil), c.Artifacts[i].Parts...)
	}
	return c
}

// An artifact keeps the place that its first update got, for every reader and after any
// update.
func artifactsHavePlaces(t *testing.T, s store.Store) {
	log := create(t, s, key)
	replaced := Chunk("b", "new")
	replaced.Artifact.Append = false
	add(t, log, 2, Chunk("a", "x"), Chunk("b", "x"), Chunk("a", "y"))
	add(t, log, 5, Status(a2a.StateInputRequired, nil), a2a.Event{Message: Message("m2", "more")})
	again, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	add(t, again, 7, replaced, Chunk("c", "x"), Chunk("b", "y"))
	records, err := log.Read(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		if r.Artifact != nil {
			got = append(got, r.Artifact.Artifact.ID+strconv.Itoa(r.Artifact.Index))
		}
	}
	if diff := cmp.Diff([]string{"a0", "b1", "a0", "b1", "c2", "b1"}, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func watchTells(t *testing.T, s store.Store) {
	log := create(t, s, key)
	wake, other := make(chan struct{}, 1), make(chan struct{}, 1)
	stop, stopOther := log.Watch(tell(wake)), log.Watch(tell(other))
	defer stopOther()
	add(t, log, 2, Chunk("a", "x"))
	// A signal that its watcher has not received yet must not delay an append.
	add(t, log, 3, Chunk("a", "y"))
	<-wake
	stop()
	add(t, log, 4, Chunk("a", "z"))
	<-other
	select {
	case <-wake:
		t.Error("a watcher was told after it had stopped")
	default:
	}
}

// compact checks that compact appends keep the fold of a log.
func compact(t *testing.T, s store.Store) {
	log := create(t, s, key)
	const appends = 40
	text := strings.Repeat("x", 16<<10)
	for i := range appends {
		a := a2a.Artifact{ID: "a", Name: strconv.Itoa(i), Parts: []a2a.Part{a2a.TextPart(text)}}
		if i == appends-1 {
			a = a2a.Artifact{ID: "a"}
		}
		event := a2a.Event{Artifact: &a2a.ArtifactUpdate{Artifact: a}}
		if _, err := log.Append(t.Context(), store.Append{After: uint64(i + 2), Events: []a2a.Event{event}, Compact: true}); err != nil {
			t.Fatal(err)
		}
	}
	again, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	got := task(t, again)
	if len(got.Task.Artifacts) != 1 || got.Task.Artifacts[0].Name != "" || len(got.Task.Artifacts[0].Parts) != 0 || got.Seq != appends+2 {
		t.Errorf("artifacts %+v at %d", got.Task.Artifacts, got.Seq)
	}
}
