// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// A log is bounded by number and bytes. The task stays complete: it is read from a fold
// and the events after it.
func TestLogIsTrimmed(t *testing.T) {
	server := start(t)
	for name, size := range map[string]int{"events": 1, "bytes": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			o := server.options()
			o.MaxLogEvents, o.MaxLogBytes = 64, 64<<10
			s := open(t, o)
			log := create(t, s)
			const chunks = 300
			for i := range uint64(chunks) {
				e := storetest.Chunk("a", strings.Repeat("x", size))
				e.Artifact.JoinText = true
				if _, err := log.Append(t.Context(), store.Append{After: 2 + i, Events: []a2a.Event{e}}); err != nil {
					t.Fatal(err)
				}
				if i%50 != 0 {
					continue
				}
				// A replica that opens the log finds the same task.
				want, err := log.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got, err := reopen(t, open(t, o)).Snapshot(t.Context())
				if diff := cmp.Diff(want.Task, got.Task); diff != "" || err != nil || want.Seq != got.Seq {
					t.Fatalf("task at %d and %d: %v, difference (-want +got):\n%s", want.Seq, got.Seq, err, diff)
				}
			}
			other := reopen(t, open(t, o))
			if _, err := other.Read(t.Context(), nil, 0); !errors.Is(err, store.ErrTrimmed) {
				t.Errorf("Read() of the beginning: error = %v, want ErrTrimmed", err)
			}
			if records, err := other.Read(t.Context(), nil, chunks-5); err != nil || len(records) == 0 || records[0].Seq != chunks-4 {
				t.Errorf("Read() = %d records, %v", len(records), err)
			}
			c := client.NewClient(&client.Options{Addr: server.Address()})
			defer func() { _ = c.Close() }()
			keys, err := c.Keys(t.Context(), o.Prefix+"l:*").Result()
			if err != nil || len(keys) != 1 {
				t.Fatalf("%d logs, %v", len(keys), err)
			}
			if n := c.XLen(t.Context(), keys[0]).Val(); n > 64 {
				t.Errorf("log has %d entries", n)
			}
		})
	}
}

// After the retention a task and all keys that name it are gone, for every operation.
func TestRetention(t *testing.T) {
	server := start(t)
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	list := &store.Query{Owner: "alice", Limit: 10}
	for name, gone := range map[string]func(*redis.Store) bool{
		"opened": func(s *redis.Store) bool {
			_, err := s.Open(t.Context(), key)
			return errors.Is(err, store.ErrNotFound)
		},
		"listed": func(s *redis.Store) bool {
			page, err := s.List(t.Context(), list)
			return err == nil && page.Total == 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := server.options()
			s := open(t, o)
			log := create(t, s)
			if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{storetest.Status(a2a.StateCompleted, nil)}}); err != nil {
				t.Fatal(err)
			}
			reopen(t, s)
			if page, err := s.List(t.Context(), list); err != nil || page.Total != 1 {
				t.Fatalf("List() = %+v, %v", page, err)
			}
			// A replica with a retention of a millisecond finds that the retention is
			// over.
			o.Retention = time.Millisecond
			hasty := open(t, o)
			for deadline := time.Now().Add(10 * time.Second); !gone(hasty); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the task is still there")
				}
			}
			if _, err := s.Open(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("Open() error = %v, want ErrNotFound", err)
			}
			if page, err := s.List(t.Context(), list); err != nil || page.Total != 0 {
				t.Errorf("List() = %+v, %v", page, err)
			}
			if keys := c.Keys(t.Context(), o.Prefix+"*").Val(); len(keys) > 0 {
				t.Errorf("left behind: %q", keys)
			}
		})
	}
}

// Every key has a time to live, which each change of a task or a conversation extends.
func TestChangesExtendTheExpirationOfKeys(t *testing.T) {
	server := start(t)
	o := server.options()
	s := open(t, o)
	replica := s.Join("a")
	if _, err := replica.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	holds := store.Write{Replica: replica.Self()}
	log, err := s.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: storetest.Begin(), Write: holds})
	if err != nil {
		t.Fatal(err)
	}
	talk := store.Conversation{Owner: key.Owner, ContextID: origin.ContextID}
	said := storetest.Message("m", "hi")
	said.TaskID = key.TaskID
	if err := s.Remember(t.Context(), talk, said)(); err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	const day = 24 * time.Hour
	wantEnds := func(when string, least, most time.Duration, kinds ...string) {
		t.Helper()
		for _, kind := range kinds {
			keys := c.Keys(t.Context(), o.Prefix+kind+"*").Val()
			if len(keys) == 0 {
				t.Errorf("%s: no key is like %s", when, kind)
			}
			for _, k := range keys {
				if left := c.PTTL(t.Context(), k).Val(); left < least || left > most {
					t.Errorf("%s: %s has %v left, want %v to %v", when, k, left, least, most)
				}
			}
		}
	}
	wantEnds("at first", 30*day-time.Minute, 30*day, "t:", "l:", "o:", "c:", "s:", "q:", "v:", "h:", "a:", "accounts",
		"bytes", "weights", "talkbytes", "talkweights")
	for _, k := range c.Keys(t.Context(), o.Prefix+"*").Val() {
		if err := c.PExpire(t.Context(), k, 28*day).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), store.Append{
		After: 2, Events: []a2a.Event{storetest.Status(a2a.StateInputRequired, nil)}, Hold: store.Take, Write: holds,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recall(t.Context(), talk); err != nil {
		t.Fatal(err)
	}
	wantEnds("after a change", 30*day-time.Minute, 30*day, "t:", "l:", "o:", "c:", "s:", "w:", "q:", "v:", "h:", "a:", "bytes", "weights",
		"talkbytes", "talkweights")

	// The times to live of lists and tasks are renewed at different times, so a list may
	// expire before its task.
	for _, kind := range []string{"o:", "c:", "s:", "w:"} {
		if err := c.Del(t.Context(), c.Keys(t.Context(), o.Prefix+kind+"*").Val()...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), store.Append{After: 3, Events: []a2a.Event{storetest.Status(a2a.StateInputRequired, nil)}}); err != nil {
		t.Fatal(err)
	}
	wantEnds("with new lists", 30*day-time.Minute, 30*day, "o:", "c:", "s:", "w:")
}

// No key of an ended task expires while the task can still be read, even if the end of
// the task did not write the key.
func TestKeysOutliveRetention(t *testing.T) {
	const day = 24 * time.Hour
	server := start(t)
	o := server.options()
	o.Retention = 90 * day
	log := create(t, open(t, o))
	c := client.NewClient(&client.Options{Addr: server.Address()})
	defer func() { _ = c.Close() }()
	keys := func() []string { return c.Keys(t.Context(), o.Prefix+"[tlocsqa]:*").Val() }
	for _, k := range keys() {
		if err := c.PExpire(t.Context(), k, c.PTTL(t.Context(), k).Val()-day+time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{storetest.Status(a2a.StateCompleted, nil)}}); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys() {
		if left := c.PTTL(t.Context(), k).Val(); left < o.Retention {
			t.Errorf("%s has %v left, and the task %v", k, left, o.Retention)
		}
	}
	if n := len(keys()); n < 6 {
		t.Errorf("%d keys", n)
	}
}

// Events that were stored in one step can be read from the middle of the step on, from
// memory and from Redis.
func TestBatchOfEventsIsReadFromItsMiddle(t *testing.T) {
	o := start(t).options()
	events := append(storetest.Begin(), storetest.Chunk("a", "1"), storetest.Chunk("a", "2"), storetest.Status(a2a.StateCompleted, nil))
	here := open(t, o)
	if _, err := here.Create(t.Context(), store.NewTask{Key: key, Origin: origin, Events: events}); err != nil {
		t.Fatal(err)
	}
	small := o
	small.CacheBytes = 1
	for what, s := range map[string]*redis.Store{"memory": here, "redis": open(t, o), "redis alone": open(t, small)} {
		log, err := s.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for after := range uint64(len(events) + 1) {
				records, err := log.Read(t.Context(), nil, after)
				if err != nil || len(records) != len(events)-int(after) || len(records) > 0 && records[0].Seq != after+1 {
					t.Errorf("%s: Read() after %d = %d records, %v", what, after, len(records), err)
				}
			}
			if record, err := log.Snapshot(t.Context()); err != nil || record.Seq != 5 || len(record.Task.Artifacts) != 1 {
				t.Errorf("%s: Snapshot() = %+v, %v", what, record, err)
			}
		}
	}
}

// The store evicts ended tasks first, then tasks that wait for their client, and never a
// task with a running turn.
func TestTasksAreBounded(t *testing.T) {
	o := start(t).options()
	o.MaxTasks = 3
	s := open(t, o)
	task := func(id string, state a2a.State) error {
		_, err := s.Create(t.Context(), store.NewTask{Key: store.Key{Owner: "alice", TaskID: id}, Origin: origin, Events: []a2a.Event{
			{Message: storetest.Message("m", "hi")}, storetest.Status(state, nil),
		}})
		return err
	}
	for id, state := range map[string]a2a.State{"works": a2a.StateWorking, "waits": a2a.StateInputRequired, "ended": a2a.StateFailed} {
		if err := task(id, state); err != nil {
			t.Fatal(err)
		}
	}
	for i, gone := range []string{"ended", "waits"} {
		if err := task("new-"+strconv.Itoa(i), a2a.StateWorking); err != nil {
			t.Errorf("Create() error = %v", err)
		}
		if _, err := s.Open(t.Context(), store.Key{Owner: "alice", TaskID: gone}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	if err := task("too-many", a2a.StateWorking); !errors.Is(err, store.ErrFull) {
		t.Errorf("Create() error = %v, want ErrFull", err)
	}
}

// A full server refuses new data, but accepts the end of a task.
func TestServerIsFull(t *testing.T) {
	server := start(t, "--maxmemory", "4mb", "--maxmemory-policy", "noeviction")
	s := open(t, server.options())
	log := create(t, s)
	var err error
	after := uint64(2)
	for range 100 {
		if after, err = log.Append(t.Context(), store.Append{After: after, Events: []a2a.Event{storetest.Chunk("a", strings.Repeat("x", 100<<10))}}); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("Append() error = %v, want ErrFull", err)
	}
	for i := 0; i < 100 && err == nil; i++ {
		first := []a2a.Event{{Message: storetest.Message("m", strings.Repeat("x", 100<<10))}, storetest.Status(a2a.StateWorking, nil)}
		_, err = s.Create(t.Context(), store.NewTask{Key: store.Key{Owner: "bob", TaskID: strconv.Itoa(i)}, Origin: origin, Events: first})
	}
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("Create() error = %v, want ErrFull", err)
	}
	record, err := log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), store.Append{After: record.Seq, Events: []a2a.Event{storetest.Status(a2a.StateFailed, nil)}}); err != nil {
		t.Errorf("Append() of the end: error = %v", err)
	}
}

type calls struct{ n atomic.Int64 }

func (c *calls) Called(time.Duration, error) { c.n.Add(1) }

func (*calls) HasRoom() {}

func (*calls) Refused() {}

func (*calls) Stored(int64) {}

// A turn costs only its appends. Neither the run nor the subscribers in the same process
// read the events from Redis.
func TestOwnAppendsAreNotReadBack(t *testing.T) {
	counted := &calls{}
	o := start(t).options()
	o.Observer = counted
	// The store subscribes to a log of this process only after ownLogDelay. The clock of this
	// test stands still, so this delay does not pass.
	began := time.Now()
	o.Now = func() time.Time { return began }
	s := open(t, o)
	log := create(t, s)
	done := make(chan error, 1)
	go func() { done <- follow(t.Context(), log, 0, 102) }()
	for after := uint64(2); after < 102; after++ {
		add(t, log, after)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := log.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	if n := counted.n.Load(); n > 101 {
		t.Errorf("%d calls for 101 appends", n)
	}
}

// Logs drop their memory for other logs, and remain usable.
func TestMemoryIsBounded(t *testing.T) {
	o := start(t).options()
	o.CacheBytes = 64 << 10
	s := open(t, o)
	logs := map[string]store.Log{}
	for i := range 20 {
		id := strconv.Itoa(i)
		log, err := s.Create(t.Context(), store.NewTask{Key: store.Key{Owner: "alice", TaskID: id}, Origin: origin, Events: storetest.Begin()})
		if err != nil {
			t.Fatal(err)
		}
		logs[id] = log
	}
	for round := range uint64(4) {
		for id, log := range logs {
			if _, err := log.Append(t.Context(), store.Append{After: 2 + round, Events: []a2a.Event{storetest.Chunk("a", strings.Repeat("x", 4<<10))}}); err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			if got := s.Bytes(); got > o.CacheBytes {
				t.Fatalf("%d bytes are in memory", got)
			}
		}
	}
	for id, log := range logs {
		record, err := log.Snapshot(t.Context())
		if err != nil || record.Seq != 6 || len(record.Task.Artifacts[0].Parts) != 4 {
			t.Errorf("%s: %+v, %v", id, record, err)
		}
		records, err := log.Read(t.Context(), nil, 0)
		if err != nil || len(records) != 6 {
			t.Errorf("%s: %d records, %v", id, len(records), err)
		}
	}
}
