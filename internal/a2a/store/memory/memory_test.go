// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(memory.Options{}) })
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// fixture creates tasks and reports which of them are still stored.
type fixture struct {
	*memory.Store
	t     *testing.T
	clock *clock
}

func newFixture(t *testing.T, o memory.Options) *fixture {
	t.Helper()
	c := &clock{now: time.Unix(0, 0)}
	o.Now = c.Now
	return &fixture{Store: memory.New(o), t: t, clock: c}
}

func key(id string) store.Key { return store.Key{Owner: "o", TaskID: id} }

// task creates a task in a state.
func (f *fixture) task(id string, state a2a.State) store.Log {
	f.t.Helper()
	log, err := f.Create(f.t.Context(), store.NewTask{Key: key(id), Origin: store.Origin{ContextID: "c"}, Events: storetest.Begin()})
	if err != nil {
		f.t.Fatalf("Create(%s) error = %v", id, err)
	}
	if state != a2a.StateSubmitted {
		f.append(log, 2, storetest.Status(state, nil))
	}
	return log
}

func (f *fixture) append(log store.Log, after uint64, e a2a.Event) {
	f.t.Helper()
	if _, err := log.Append(f.t.Context(), store.Append{After: after, Events: []a2a.Event{e}}); err != nil {
		f.t.Fatalf("Append() error = %v", err)
	}
}

func (f *fixture) want(ids string) {
	f.t.Helper()
	var got []string
	for i := range 30 {
		if _, err := f.Open(f.t.Context(), key(strconv.Itoa(i))); err == nil {
			got = append(got, strconv.Itoa(i))
		}
	}
	if s := strings.Join(got, " "); s != ids {
		f.t.Errorf("tasks left: %q, want %q", s, ids)
	}
}

func TestFinishedTasksAreEvictedFirstOldestFirst(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 5})
	f.task("0", a2a.StateInputRequired)
	f.task("1", a2a.StateWorking)
	third := f.task("2", a2a.StateWorking)
	f.task("3", a2a.StateCompleted)
	f.append(third, 3, storetest.Status(a2a.StateFailed, nil))
	f.task("4", a2a.StateSubmitted)
	f.task("5", a2a.StateSubmitted)
	f.want("0 1 2 4 5")
	f.task("6", a2a.StateSubmitted)
	f.want("0 1 4 5 6")
	f.task("7", a2a.StateSubmitted)
	f.want("1 4 5 6 7")
	if _, err := f.Create(t.Context(), store.NewTask{Key: key("8"), Origin: store.Origin{ContextID: "c"}, Events: storetest.Begin()}); !errors.Is(err, store.ErrFull) {
		t.Errorf("Create() with all tasks at work: error = %v, want ErrFull", err)
	}
	f.want("1 4 5 6 7")
}

// A turn may end before its own stream has read the first event, and many further turns may
// end before the stream continues. The store therefore evicts tasks with a watcher last.
func TestRecentlyReadTasksAreEvictedLast(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 3})
	watched := f.task("0", a2a.StateCompleted)
	stop := watched.Watch(func() {})
	last := f.task("1", a2a.StateCompleted).Watch(func() {})
	defer last()
	for i := 2; i < 9; i++ {
		f.task(strconv.Itoa(i), a2a.StateCompleted)
	}
	f.want("0 1 8")
	if records, err := watched.Read(t.Context(), nil, 0); len(records) != 3 || err != nil {
		t.Errorf("Read() = %d records, %v, want the whole task", len(records), err)
	}
	stop()
	f.task("9", a2a.StateCompleted)
	f.want("1 8 9")

	// If all tasks have a watcher, the store evicts the oldest one.
	for i := 10; i < 13; i++ {
		stop := f.task(strconv.Itoa(i), a2a.StateCompleted).Watch(func() {})
		defer stop()
	}
	f.want("10 11 12")
}

func TestContinuedTaskIsNotEvicted(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 2})
	log := f.task("0", a2a.StateInputRequired)
	f.task("1", a2a.StateInputRequired)
	f.append(log, 3, storetest.Status(a2a.StateWorking, nil))
	f.task("2", a2a.StateWorking)
	f.want("0 2")
}

func TestFinishedTasksExpire(t *testing.T) {
	f := newFixture(t, memory.Options{Retention: time.Minute})
	f.task("0", a2a.StateCompleted)
	f.task("1", a2a.StateInputRequired)
	f.clock.now = f.clock.now.Add(30 * time.Second)
	f.task("2", a2a.StateCanceled)
	f.clock.now = f.clock.now.Add(30 * time.Second)
	f.want("1 2")
	f.clock.now = f.clock.now.Add(time.Hour)
	f.want("1")
}

func TestBytesAreBounded(t *testing.T) {
	f := newFixture(t, memory.Options{MaxBytes: 1 << 20})
	big := strings.Repeat("x", 100<<10)
	for i := range 20 {
		log := f.task(strconv.Itoa(i), a2a.StateWorking)
		f.append(log, 3, storetest.Chunk("a", big))
		f.append(log, 4, storetest.Status(a2a.StateCompleted, nil))
		if got := f.Bytes(); got > 3<<18 {
			t.Fatalf("after %d tasks one owner holds %d bytes", i, got)
		}
	}
	f.want("17 18 19")
}

func TestRunningTaskTrimsItsOwnLogAndThenIsFull(t *testing.T) {
	f := newFixture(t, memory.Options{MaxBytes: 1 << 20})
	log := f.task("0", a2a.StateWorking)
	big, seq := strings.Repeat("x", 10<<10), uint64(3)
	full := false
	for range 200 {
		_, err := log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{storetest.Chunk("a", big)}})
		if errors.Is(err, store.ErrFull) {
			full = true
			break
		}
		if err != nil {
			t.Fatalf("Append() error = %v", err)
		}
		seq++
	}
	if !full || f.Bytes() > 1<<20 {
		t.Errorf("full = %t with %d bytes, want a full store within its bound", full, f.Bytes())
	}
	if _, err := log.Read(t.Context(), nil, 3); !errors.Is(err, store.ErrTrimmed) {
		t.Errorf("Read() from the beginning: error = %v, want ErrTrimmed", err)
	}
	f.append(log, seq, storetest.Status(a2a.StateFailed, nil))
	record, err := log.Snapshot(t.Context())
	if err != nil || record.Task.Status.State != a2a.StateFailed || len(record.Task.Artifacts[0].Parts) != int(seq)-3 {
		t.Errorf("Snapshot() = %v, %v, want the failed task with all its parts", record, err)
	}
}

func TestLogIsBounded(t *testing.T) {
	f := newFixture(t, memory.Options{MaxLogEvents: 10})
	log := f.task("0", a2a.StateWorking)
	for i := range uint64(20) {
		f.append(log, 3+i, storetest.Chunk("a", "x"))
	}
	if _, err := log.Read(t.Context(), nil, 12); !errors.Is(err, store.ErrTrimmed) {
		t.Errorf("Read() behind the log: error = %v, want ErrTrimmed", err)
	}
	records, err := log.Read(t.Context(), nil, 13)
	if err != nil || len(records) != 10 || records[0].Seq != 14 {
		t.Errorf("Read() = %d records, %v, want the last 10", len(records), err)
	}
}

func TestEvictionNotifiesWatchers(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 1})
	log := f.task("0", a2a.StateCompleted)
	wake := make(chan struct{}, 1)
	defer log.Watch(tell(wake))()
	f.task("1", a2a.StateWorking)
	<-wake
	_, appendErr := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{storetest.Chunk("a", "x")}})
	_, readErr := log.Read(t.Context(), nil, 0)
	_, snapshotErr := log.Snapshot(t.Context())
	for _, err := range []error{appendErr, readErr, snapshotErr} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("error = %v, want ErrNotFound", err)
		}
	}
}

func TestConversationsExpire(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 2})
	say := func(c string) {
		if err := f.Remember(t.Context(), store.Conversation{ContextID: c}, storetest.Message("m", "x"))(); err != nil {
			t.Fatal(err)
		}
	}
	knows := func(c string) bool {
		m, err := f.Recall(t.Context(), store.Conversation{ContextID: c})
		return err == nil && len(m) > 0
	}
	say("a")
	say("b")
	knows("a")
	say("c")
	if !knows("a") || knows("b") || !knows("c") {
		t.Error("the conversation that was quiet for the longest must go first")
	}
}

// The counts of the store equal the contents of its logs under concurrent operations, so an
// empty store counts zero.
func TestCountsReturnToZero(t *testing.T) {
	f := newFixture(t, memory.Options{MaxBytes: 256 << 10, MaxLogEvents: 20})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				log, err := f.Create(t.Context(), store.NewTask{Key: key(strconv.Itoa(w) + "-" + strconv.Itoa(i)), Origin: store.Origin{ContextID: "c"}, Events: storetest.Begin()})
				if err != nil {
					continue
				}
				seq := uint64(2)
				for n := range 30 {
					e := storetest.Chunk("a", strings.Repeat("x", 100*n))
					e.Artifact.Append = n%7 != 0
					e.Artifact.JoinText = n%2 == 0
					if next, err := log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{e}}); err == nil {
						seq = next
					}
					encodeAll(t, log)
				}
				_, _ = log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{storetest.Status(a2a.StateCompleted, nil)}})
			}
		})
	}
	wg.Wait()
	f.clock.now = f.clock.now.Add(24 * time.Hour)
	_, _ = f.Open(t.Context(), key("none"))
	if f.Len() != 0 || f.Bytes() != 0 || f.EncodedBytes() != 0 {
		t.Errorf("%d tasks, %d bytes and %d of encodings left, want none", f.Len(), f.Bytes(), f.EncodedBytes())
	}
}

func TestRestartedTaskIsKept(t *testing.T) {
	f := newFixture(t, memory.Options{MaxTasks: 1})
	log := f.task("0", a2a.StateCompleted)
	if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{{Message: storetest.Message("m", "again")}, storetest.Status(a2a.StateWorking, nil)}}); err != nil {
		t.Fatal(err)
	}
	f.clock.now = f.clock.now.Add(24 * time.Hour)
	f.want("0")
	if _, err := f.Create(t.Context(), store.NewTask{Key: key("1"), Origin: store.Origin{}, Events: storetest.Begin()}); !errors.Is(err, store.ErrFull) {
		t.Errorf("Create() error = %v, want ErrFull", err)
	}
	f.append(log, 5, storetest.Status(a2a.StateCompleted, nil))
	f.want("0")
	f.clock.now = f.clock.now.Add(24 * time.Hour)
	f.want("")
}

// encodeAll lets two readers read the events of a log, in two dialects each.
func encodeAll(t *testing.T, log store.Log) {
	encode := func(dst []byte, _ *a2a.Event) []byte { return append(dst, make([]byte, 100)...) }
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			records, _ := log.Read(t.Context(), nil, 0)
			if snapshot, err := log.Snapshot(t.Context()); err == nil {
				records = append(records, snapshot)
			}
			stop := log.Watch(func() {})
			defer stop()
			for _, r := range records {
				r.Encoded(a2a.DialectV03, encode)
				r.Encoded(a2a.DialectV10, encode)
			}
		})
	}
	wg.Wait()
}

func TestEncodingsAreBounded(t *testing.T) {
	f := newFixture(t, memory.Options{MaxBytes: 16 << 10, MaxLogEvents: 3})
	log := f.task("a", a2a.StateWorking)
	records, err := log.Read(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	encoded := func(r *a2a.Record, d a2a.Dialect, size int) {
		t.Helper()
		for range 3 {
			if got := r.Encoded(d, func([]byte, *a2a.Event) []byte { runs++; return make([]byte, size) }); len(got) != size {
				t.Errorf("Encoded() = %d bytes, want %d", len(got), size)
			}
		}
	}
	want := func(what string, wantRuns int, low, high int64) {
		t.Helper()
		if got := f.EncodedBytes(); runs != wantRuns || got < low || got > high {
			t.Errorf("%s: %d runs, want %d; %d bytes are kept, want %d to %d", what, runs, wantRuns, got, low, high)
		}
		runs = 0
	}
	encoded(records[0], a2a.DialectV03, 1<<10)
	encoded(records[1], a2a.DialectV10, 1<<10)
	want("one for all readers", 2, 2<<10, 2<<10+100)
	encoded(records[1], a2a.DialectV03, 3<<10)
	want("no room", 3, 2<<10, 2<<10+100)
	f.append(log, 3, storetest.Chunk("x", ""))
	want("a trimmed record gives back", 0, 1<<10, 1<<10+50)
	encoded(records[0], a2a.DialectV01, 10)
	want("a trimmed record keeps nothing", 3, 1<<10, 1<<10+50)
	snapshot, err := log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	encoded(snapshot, a2a.DialectV03, 1<<10)
	want("snapshot", 1, 2<<10, 2<<10+100)
	f.append(log, 4, storetest.Chunk("x", ""))
	want("a snapshot of the past gives back", 0, 0, 1<<10+50)
	first, second := log.Watch(func() {}), log.Watch(func() {})
	if records, err = log.Read(t.Context(), nil, 2); err != nil {
		t.Fatal(err)
	}
	encoded(records[0], a2a.DialectV10GRPC, 100)
	first()
	encoded(records[0], a2a.DialectV10GRPC, 100)
	want("while somebody reads", 1, 100, 2<<10)
	second()
	want("after the last reader", 0, 0, 0)
	encoded(records[0], a2a.DialectV10GRPC, 100)
	want("a reader that comes later", 1, 100, 200)
	f.append(log, 5, storetest.Status(a2a.StateCompleted, nil))
	f.clock.now = f.clock.now.Add(24 * time.Hour)
	if _, err := f.Open(t.Context(), key("a")); err == nil {
		t.Error("the task is still there")
	}
	want("an empty store", 0, 0, 0)
}

func TestAllFieldsOfAMessageAreCounted(t *testing.T) {
	f := newFixture(t, memory.Options{})
	m := storetest.Message("m", "x")
	m.Extensions = []string{strings.Repeat("e", 1<<20)}
	if _, err := f.Create(t.Context(), store.NewTask{Key: key("a"), Origin: store.Origin{ContextID: "c"}, Events: []a2a.Event{{Message: m}}}); err != nil {
		t.Fatal(err)
	}
	if f.Bytes() < 1<<20 {
		t.Errorf("Bytes() = %d with an extension of 1 MiB", f.Bytes())
	}
}

func TestSmallChunksCostTheSizeOfTheirText(t *testing.T) {
	const pieces = 100_000
	f := newFixture(t, memory.Options{MaxBytes: 8 << 20, MaxLogBytes: 1 << 20})
	log, seq := f.task("a", a2a.StateWorking), uint64(3)
	for i := range pieces {
		chunk := storetest.Chunk("t", "a")
		chunk.Artifact.JoinText, chunk.Artifact.Append = true, i > 0
		var err error
		if seq, err = log.Append(t.Context(), store.Append{After: seq, Events: []a2a.Event{chunk}}); err != nil {
			t.Fatalf("Append() of piece %d error = %v", i, err)
		}
	}
	record, err := log.Snapshot(t.Context())
	if err != nil || len(record.Task.Artifacts[0].Parts[0].Text) != pieces {
		t.Errorf("Snapshot() = %d bytes, %v", len(record.Task.Artifacts[0].Parts[0].Text), err)
	}
}

// tell returns a watcher that fills a channel of capacity 1.
func tell(wake chan<- struct{}) func() {
	return func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func TestRepeatBehindTrim(t *testing.T) {
	storetest.RepeatBehindTrim(t, func(*testing.T) (store.Store, int) {
		return memory.New(memory.Options{MaxLogEvents: 4}), 4
	})
}

// A message continues a task while another task needs its room. Either the append is stored and
// the task stays, or the task is evicted and the append fails.
func TestTaskThatContinuesIsNotEvicted(t *testing.T) {
	s := memory.New(memory.Options{MaxTasks: 1})
	create := func(id string, state a2a.State) (store.Log, error) {
		events := append(storetest.Begin(), storetest.Status(state, nil))
		return s.Create(t.Context(), store.NewTask{Key: key(id), Origin: store.Origin{ContextID: "c"}, Events: events})
	}
	for i := range 30_000 {
		paused, err := create("paused"+strconv.Itoa(i), a2a.StateInputRequired)
		if err != nil {
			t.Fatal(err)
		}
		var continues sync.WaitGroup
		var continued error
		continues.Go(func() {
			message := a2a.Event{Message: storetest.Message("m2", "more")}
			_, continued = paused.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{message, storetest.Status(a2a.StateWorking, nil)}})
		})
		_, created := create("next"+strconv.Itoa(i), a2a.StateCompleted)
		continues.Wait()
		switch {
		case continued == nil && errors.Is(created, store.ErrFull):
			if _, err := paused.Append(t.Context(), store.Append{After: 5, Events: []a2a.Event{storetest.Status(a2a.StateCompleted, nil)}}); err != nil {
				t.Fatalf("round %d: the task that continued is gone: %v", i, err)
			}
		case errors.Is(continued, store.ErrNotFound) && created == nil:
		default:
			t.Fatalf("round %d: Append() error = %v and Create() error = %v, want that one of them fails", i, continued, created)
		}
	}
}

func TestCompactAppendsDropEvents(t *testing.T) {
	f := newFixture(t, memory.Options{})
	log := f.task("t", a2a.StateInputRequired)
	for i := range 20 {
		_, err := log.Append(t.Context(), store.Append{After: uint64(i + 3), Compact: true, Events: []a2a.Event{{Artifact: &a2a.ArtifactUpdate{
			Artifact: a2a.Artifact{ID: "a", Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", 64<<10))}},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if bytes := f.Bytes(); bytes > 3*64<<10 {
		t.Errorf("the store has %d bytes for 64 KiB", bytes)
	}
}
