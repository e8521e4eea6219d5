// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest has the tests that every store must pass, run by the tests of
// each implementation, and a shared store in memory for tests of its users.
package storetest

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Run runs the tests of stores. open returns an empty store with room for all of
// them.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, store.Store){
		"create and open":              createAndOpen,
		"key holds the owner":          keyHoldsOwner,
		"append in order":              appendInOrder,
		"append needs the last number": appendNeedsLast,
		"append has one winner":        appendHasOneWinner,
		"repeated create":              repeatedCreate,
		"repeated append":              repeatedAppend,
		"read from anywhere":           readFromAnywhere,
		"reads are bounded in bytes":   readsAreBoundedInBytes,
		"snapshot is one moment":       snapshotIsOneMoment,
		"snapshot never changes":       snapshotNeverChanges,
		"watch tells of appends":       watchTells,
		"fold":                         fold,
		"artifacts have places":        artifactsHavePlaces,
		"list":                         list,
		"list while written":           listWhileWritten,
		"paused":                       pausedOfConversation,
		"remember and recall":          rememberAndRecall,
		"remember is bounded":          rememberIsBounded,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var (
	key    = store.Key{Owner: "alice", TaskID: "t1"}
	origin = store.Origin{ContextID: "c1", Dialect: a2a.DialectV01}
)

// Message returns a message of a client.
func Message(id, text string) *a2a.Message {
	return &a2a.Message{ID: id, Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(text)}}
}

// Status returns an event.
func Status(state a2a.State, message *a2a.Message) a2a.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return a2a.Event{Status: &a2a.StatusUpdate{Status: a2a.Status{State: state, Message: message, Time: at}}}
}

// Chunk returns an event that adds a text to an artifact.
func Chunk(id, text string) a2a.Event {
	return a2a.Event{Artifact: &a2a.ArtifactUpdate{
		Artifact: a2a.Artifact{ID: id, Parts: []a2a.Part{a2a.TextPart(text)}}, Append: true,
	}}
}

// Begin returns the events that a log starts with.
func Begin() []a2a.Event {
	return []a2a.Event{{Message: Message("m1", "hi")}, Status(a2a.StateSubmitted, nil)}
}

func create(t *testing.T, s store.Store, k store.Key) store.Log {
	t.Helper()
	log, err := s.Create(t.Context(), store.NewTask{Key: k, Origin: origin, Events: Begin()})
	if err != nil {
		t.Fatalf("Create() error = %v", err)
	}
	return log
}

func add(t *testing.T, log store.Log, after uint64, events ...a2a.Event) {
	t.Helper()
	seq, err := log.Append(t.Context(), store.Append{After: after, Events: events})
	if want := after + uint64(len(events)); err != nil || seq != want {
		t.Fatalf("Append() = %d, %v, want %d", seq, err, want)
	}
}

func task(t *testing.T, log store.Log) *a2a.Record {
	t.Helper()
	record, err := log.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot() error = %v", err)
	}
	return record
}

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

// A reader holds no more than a piece of a log of large events, and gets all of
// them, one after the other.
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

// A writer appends while others take snapshots and follow: whoever starts
// from a snapshot and reads on sees every event once.
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

// An artifact keeps the place that its first update got, whatever becomes of
// it and whoever opens the log.
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
	// A watcher that does not listen must not hold anybody up.
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

func rememberAndRecall(t *testing.T, s store.Store) {
	c := store.Conversation{Owner: "alice", ContextID: "c1"}
	if got, err := s.Recall(t.Context(), c); err != nil || len(got) != 0 {
		t.Errorf("Recall() of nothing = %v, %v", got, err)
	}
	want := []*a2a.Message{Message("m1", "a"), Message("m2", "b")}
	for _, m := range want {
		if err := s.Remember(t.Context(), c, m)(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err := s.Recall(t.Context(), c)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Recall() error = %v, difference (-want +got):\n%s", err, diff)
	}
	for _, c := range []store.Conversation{{Owner: "bob", ContextID: "c1"}, {Owner: "alice", ContextID: "c2"}} {
		if got, err := s.Recall(t.Context(), c); err != nil || len(got) != 0 {
			t.Errorf("Recall(%v) = %v, %v, want nothing", c, got, err)
		}
	}
}

func rememberIsBounded(t *testing.T, s store.Store) {
	c := store.Conversation{Owner: "alice", ContextID: "c1"}
	for i := range 100 {
		if err := s.Remember(t.Context(), c, Message(strconv.Itoa(i), "x"))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err := s.Recall(t.Context(), c)
	if err != nil || len(got) != store.MaxRemembered || got[0].ID != strconv.Itoa(100-store.MaxRemembered) {
		t.Errorf("Recall() = %d messages, %v, want the newest %d", len(got), err, store.MaxRemembered)
	}
	big := string(make([]byte, store.MaxRememberedBytes/4))
	for i := range 8 {
		if err := s.Remember(t.Context(), c, Message("big"+strconv.Itoa(i), big))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err = s.Recall(t.Context(), c)
	if err != nil || len(got) != 3 || got[2].ID != "big7" {
		t.Errorf("Recall() = %d messages, %v, want the 3 that fit", len(got), err)
	}
	// One that has no room is forgotten, with all that was said before.
	for _, text := range []string{strings.Repeat(big, 5), "x"} {
		if err := s.Remember(t.Context(), c, Message("last", text))(); err != nil {
			t.Fatalf("Remember() error = %v", err)
		}
	}
	got, err = s.Recall(t.Context(), c)
	if err != nil || len(got) != 1 || got[0].Parts[0].Text != "x" {
		t.Errorf("Recall() = %d messages, %v, want the last", len(got), err)
	}
}

var ignoreTime = cmpopts.IgnoreFields(a2a.Status{}, "Time")

// tell is a watcher that fills a channel of capacity 1.
func tell(wake chan<- struct{}) func() {
	return func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}
