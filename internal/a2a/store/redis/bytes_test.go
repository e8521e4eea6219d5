// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/redis"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

func connect(t *testing.T, s server) *client.Client {
	t.Helper()
	c := client.NewClient(&client.Options{Addr: s.Address()})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func largeTask(owner a2a.Owner, id string, size int, state a2a.State) store.NewTask {
	return store.NewTask{Key: store.Key{Owner: owner, TaskID: id}, Origin: origin, Events: []a2a.Event{
		{Message: storetest.Message("m", strings.Repeat("x", size))}, storetest.Status(state, nil),
	}}
}

// One caller of one agent sends 37 messages of 9 MB. Neither the other callers of the agent nor
// the other agents of the server are refused, and they lose no task.
func TestOneCallerDoesNotFillAServer(t *testing.T) {
	s := start(t, "--maxmemory", "320mb", "--maxmemory-policy", "noeviction")
	mine, others := s.options(), s.options()
	mine.MaxBytes, others.MaxBytes = 128<<20, 64<<20
	mine.Timeout, others.Timeout = 30*time.Second, 30*time.Second // for a busy machine
	agents := []*redis.Store{open(t, mine), open(t, others)}
	for n := range 37 {
		if _, err := agents[0].Create(t.Context(), largeTask("hostile", strconv.Itoa(n), 9<<20, a2a.StateCompleted)); err != nil {
			t.Fatalf("message %d of the hostile caller: %v", n, err)
		}
		for _, agent := range agents {
			if _, err := agent.Create(t.Context(), largeTask("alice", strconv.Itoa(n), 1<<10, a2a.StateCompleted)); err != nil {
				t.Fatalf("task %d of another caller: %v", n, err)
			}
		}
	}
	for n := range 37 {
		for _, agent := range agents {
			if _, err := agent.Open(t.Context(), store.Key{Owner: "alice", TaskID: strconv.Itoa(n)}); err != nil {
				t.Errorf("task %d of another caller: %v", n, err)
			}
		}
	}
	if used := usedMemory(t, connect(t, s)); used > 128<<20*5/4 {
		t.Errorf("the server uses %d MiB", used>>20)
	}
}

func usedMemory(t *testing.T, c *client.Client) int64 {
	t.Helper()
	info, err := c.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "\nused_memory:")
	text, _, _ := strings.Cut(rest, "\r")
	used, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

// Messages of conversations have a bound of their own.
func TestConversationsAreBoundedInBytes(t *testing.T) {
	s := start(t)
	o := s.options()
	o.MaxBytes = 16 << 20
	agent := open(t, o)
	remember := func(owner a2a.Owner, n int) {
		t.Helper()
		c := store.Conversation{Owner: owner, ContextID: strconv.Itoa(n)}
		if err := agent.Remember(t.Context(), c, storetest.Message("m", strings.Repeat("x", 200<<10)))(); err != nil {
			t.Fatal(err)
		}
	}
	remember("modest", 0)
	for n := range 30 {
		remember("greedy", n)
	}
	remember("modest", 1)
	for n := range 2 {
		if messages, err := agent.Recall(t.Context(), store.Conversation{Owner: "modest", ContextID: strconv.Itoa(n)}); len(messages) != 1 || err != nil {
			t.Errorf("conversation %d of an owner with few: %d messages, %v", n, len(messages), err)
		}
	}
	c := connect(t, s)
	kept := len(c.Keys(t.Context(), o.Prefix+"v:*").Val())
	if kept < 5 || kept > 10 {
		t.Errorf("%d conversations, want as many as have 2 MiB", kept)
	}
	if total, err := c.HGet(t.Context(), o.Prefix+"talkbytes", "*").Int64(); err != nil || total > 2<<20 {
		t.Errorf("counted bytes = %d, %v", total, err)
	}
	if n := c.HLen(t.Context(), o.Prefix+"talkbytes").Val(); int(n) != kept+1 {
		t.Errorf("%d conversations count, and %d are stored", n-1, kept)
	}
}

// Credentials of push configurations have a bound of their own, too.
func TestPushesAreBoundedInBytes(t *testing.T) {
	s := start(t)
	o := s.options()
	o.MaxBytes = 4 << 20
	pushes := open(t, o).Pushes()
	put := func(owner a2a.Owner, n int) error {
		id := strconv.Itoa(n)
		_, err := pushes.Put(t.Context(), store.Push{
			Task:   store.Key{Owner: owner, TaskID: id},
			Config: a2a.PushConfig{ID: "a", TaskID: id, Credentials: strings.Repeat("x", 8<<10)},
		})
		return err
	}
	n := 0
	for put("greedy", n) == nil {
		n++
	}
	if n < 40 || n > 60 {
		t.Errorf("one owner has %d configurations of 8 KiB, want those of two thirds of 1 MiB", n)
	}
	if err := put("greedy", n-1); err != nil {
		t.Errorf("Put() of a configuration that is stored: error = %v", err)
	}
	if err := put("modest", 0); err != nil {
		t.Errorf("Put() of another owner: error = %v", err)
	}
	for i := range n {
		if err := pushes.Delete(t.Context(), store.Key{Owner: "greedy", TaskID: strconv.Itoa(i)}, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := connect(t, s).HGetAll(t.Context(), o.Prefix+"pushbytes").Val(); len(got) != 2 || got["*"] != strconv.Itoa(12<<10) {
		t.Errorf("counted bytes = %v", got)
	}
}

// A full store accepts what running tasks need to end, and what another replica appends to take
// them over.
func TestFullStoreAcceptsTheEndOfTasks(t *testing.T) {
	o := start(t).options()
	o.MaxBytes = 1 << 20
	h := newHeldTask(t, o)
	full := func(ids string) error {
		var err error
		for n := 0; err == nil; n++ {
			_, err = h.Create(t.Context(), largeTask(key.Owner, ids+strconv.Itoa(n), 3<<10, a2a.StateWorking))
		}
		return err
	}
	if err := h.set(t, a2a.StateWorking, store.Keep, waits("waits", strings.Repeat("x", 64<<10))); err != nil {
		t.Fatal(err)
	}
	if err := full("a"); !errors.Is(err, store.ErrFull) {
		t.Fatalf("Create() error = %v, want ErrFull", err)
	}
	waiting, err := h.Waiting(t.Context(), key)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%d waiting messages, %v", len(waiting), err)
	}
	large := []a2a.Event{{Message: storetest.Message("waits", strings.Repeat("x", 64<<10))}, storetest.Status(a2a.StateWorking, nil)}
	if _, err := h.log.Append(t.Context(), store.Append{After: h.seq, Events: large, Hold: store.Take, Write: store.Write{Replica: h.Self()}}); !errors.Is(err, store.ErrFull) {
		t.Errorf("message of a client: error = %v, want ErrFull", err)
	}
	seq, err := h.log.Append(t.Context(), store.Append{
		After: h.seq, Events: large, Hold: store.Take, Waiting: &store.WaitingChange{Remove: waiting[0].Seq}, Write: store.Write{Replica: h.Self()},
	})
	if err != nil {
		t.Fatalf("message that is stored already: error = %v", err)
	}
	h.seq = seq
	if err := full("b"); !errors.Is(err, store.ErrFull) {
		t.Fatalf("Create() error = %v, want ErrFull", err)
	}
	end := storetest.Status(a2a.StateFailed, storetest.Message("e", strings.Repeat("x", 64<<10)))
	if _, err := h.log.Append(t.Context(), store.Append{After: h.seq, Events: []a2a.Event{end}, Hold: store.Take, Write: store.Write{Replica: h.Self()}}); err != nil {
		t.Errorf("end of the task: error = %v", err)
	}
}

// Tasks of an earlier version count from the first append of this version on.
func TestTasksWithoutCountedBytes(t *testing.T) {
	s := start(t)
	o := s.options()
	agent, c := open(t, o), connect(t, s)
	var logs []store.Log
	for _, id := range []string{"appended", "removed"} {
		log, err := agent.Create(t.Context(), largeTask("alice", id, 20<<10, a2a.StateInputRequired))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	for _, k := range c.Keys(t.Context(), o.Prefix+"t:*").Val() {
		if err := c.HDel(t.Context(), k, "charge", "further").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Del(t.Context(), o.Prefix+"bytes", o.Prefix+"weights").Err(); err != nil {
		t.Fatal(err)
	}
	for _, log := range logs[:1] {
		if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{storetest.Status(a2a.StateCompleted, nil)}}); err != nil {
			t.Fatal(err)
		}
	}
	if total := c.HGet(t.Context(), o.Prefix+"bytes", "*").Val(); total != strconv.Itoa(24<<10) {
		t.Errorf("counted bytes = %s", total)
	}
	for _, k := range []string{"bytes", "weights"} {
		if left := c.PTTL(t.Context(), o.Prefix+k).Val(); left < 29*24*time.Hour {
			t.Errorf("%s has %v left", k, left)
		}
	}
	o.MaxTasks = 1
	if _, err := open(t, o).Create(t.Context(), largeTask("bob", "new", 1, a2a.StateWorking)); err != nil {
		t.Fatal(err)
	}
	wantCounted(t, c, o.Prefix, "with a task of this version alone")
}

// wantCounted requires that the counted bytes are those of the tasks that the server has.
func wantCounted(t *testing.T, c *client.Client, prefix, when string) {
	t.Helper()
	const ownerSize, memberSize = 32, 96
	want, weights, total := map[string]string{}, map[string]int64{}, int64(0)
	for _, k := range c.Keys(t.Context(), prefix+"t:*").Val() {
		task := c.HGetAll(t.Context(), k).Val()
		bytes, err := strconv.ParseInt(task["bytes"], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for field, value := range task {
			if _, err := strconv.Atoi(strings.TrimPrefix(field, "w")); field == "fold" || field == "turn" || strings.HasPrefix(field, "w") && err == nil {
				bytes += int64(len(value))
			}
		}
		counted := (bytes + 2048 + 4095) / 4096 * 4096
		member := task["member"]
		want[member] = strconv.FormatInt(counted, 10)
		weights[member[2*ownerSize:memberSize]] += counted
		total += counted
	}
	if total > 0 {
		want["*"] = strconv.FormatInt(total, 10)
	}
	if diff := gocmp.Diff(want, c.HGetAll(t.Context(), prefix+"bytes").Val()); diff != "" {
		t.Fatalf("%s: bytes of tasks (-want +got):\n%s", when, diff)
	}
	got := map[string]int64{}
	for _, z := range c.ZRangeWithScores(t.Context(), prefix+"weights", 0, -1).Val() {
		got[z.Member.(string)] = int64(z.Score)
	}
	if diff := gocmp.Diff(weights, got); diff != "" {
		t.Fatalf("%s: bytes of principals (-want +got):\n%s", when, diff)
	}
	wantShares(t, c, prefix, when)
}

// TestCountedBytesDoNotDrift checks that the counted bytes are those of the stored tasks, whatever happens to tasks,
// replicas and the server.
func TestCountedBytesDoNotDrift(t *testing.T) {
	s := start(t, redistest.Durable...)
	o := s.options()
	o.MaxBytes, o.MaxTasks, o.MaxLogBytes, o.MaxLogEvents = 2<<20, 40, 256<<10, 32
	o.Timeout, o.AppendTimeout = 10*time.Second, 10*time.Second
	c := connect(t, s)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	var replicas []store.Member
	for _, name := range []string{"a", "b"} {
		replicas = append(replicas, open(t, o).Join(name))
	}
	renew := func() {
		t.Helper()
		for _, r := range replicas {
			if _, err := r.Renew(t.Context(), time.Minute); err != nil && !errors.Is(err, store.ErrRolledBack) {
				t.Fatal(err)
			}
		}
	}
	renew()
	// accept returns nil for errors with which a store may answer.
	accept := func(err error) error {
		for _, known := range []error{store.ErrFull, store.ErrNotFound, store.ErrConflict, store.ErrHeld, store.ErrRolledBack} {
			if errors.Is(err, known) {
				return nil
			}
		}
		return err
	}
	text := func() string { return strings.Repeat("x", random.IntN(1<<(4+random.IntN(14)))) }
	states := []a2a.State{a2a.StateWorking, a2a.StateInputRequired, a2a.StateCompleted}
	owners := []a2a.Owner{"owner0", "owner1", "system:serviceaccount:team:a", "system:serviceaccount:team:b"}
	var tasks []store.Key
	for step := range 1200 {
		r := replicas[random.IntN(len(replicas))]
		what := "create"
		var err error
		if action := random.IntN(100); len(tasks) == 0 || action < 25 {
			k := store.Key{Owner: owners[random.IntN(len(owners))].In(fmt.Sprint(random.IntN(2))), TaskID: strconv.Itoa(step)}
			_, err = r.Create(t.Context(), store.NewTask{
				Key: k, Origin: origin, Events: append(storetest.Begin(), storetest.Chunk("a", text()), storetest.Status(states[random.IntN(3)], nil)),
				Write: store.Write{Token: store.NewToken(), Replica: r.Self()},
			})
			if err == nil {
				tasks = append(tasks, k)
			}
		} else {
			what, err = disturb(t, tasks[random.IntN(len(tasks))], r, action, text)
		}
		if err := accept(err); err != nil {
			t.Fatalf("step %d: %s: %v", step, what, err)
		}
		switch step % 300 {
		case 50: // those of shares, too
			for _, key := range c.Keys(t.Context(), o.Prefix+[]string{"n:*", "b:*"}[random.IntN(2)]).Val() {
				if err := c.Del(t.Context(), key).Err(); err != nil {
					t.Fatal(err)
				}
			}
		case 100: // the keys of some tasks expire
			for _, k := range c.Keys(t.Context(), o.Prefix+"t:*").Val()[:3] {
				if err := c.Del(t.Context(), k, strings.Replace(k, "}:t:", "}:l:", 1)).Err(); err != nil {
					t.Fatal(err)
				}
			}
			swept := func() bool {
				renew()
				return int64(len(c.Keys(t.Context(), o.Prefix+"t:*").Val())+1) == c.HLen(t.Context(), o.Prefix+"bytes").Val()
			}
			for n := 0; !swept(); n++ {
				if n > 10_000 {
					t.Fatal("tasks whose keys have expired still count")
				}
			}
		case 200:
			s.Kill()
			s.Run()
			renew()
		}
		if step%10 == 0 {
			wantCounted(t, c, o.Prefix, fmt.Sprint("step ", step, ": ", what))
		}
	}
	o.Retention = time.Millisecond
	hasty := open(t, o)
	time.Sleep(2 * time.Millisecond)
	for _, k := range tasks {
		if _, err := hasty.List(t.Context(), &store.Query{Owner: k.Owner, Limit: 1}); err != nil {
			t.Fatal(err)
		}
	}
	wantCounted(t, c, o.Prefix, "after the retention")
}

// disturb does something with a task.
func disturb(t *testing.T, k store.Key, r store.Member, action int, text func() string) (what string, err error) {
	t.Helper()
	log, err := r.Open(t.Context(), k)
	if err != nil {
		return "open", err
	}
	record, err := log.Snapshot(t.Context())
	if err != nil {
		return "read", err
	}
	a := store.Append{After: record.Seq, Write: store.Write{Token: store.NewToken(), Replica: r.Self()}}
	hold, err := r.Holder(t.Context(), k)
	if err != nil {
		return "holder", err
	}
	waiting, err := r.Waiting(t.Context(), k)
	if err != nil {
		return "waiting", err
	}
	switch {
	case action < 60:
		what, a.Events = "chunk", []a2a.Event{storetest.Chunk("a", text())}
	case action < 70:
		what, a.Events = "pause", []a2a.Event{storetest.Status(a2a.StateInputRequired, storetest.Message("m", text()))}
	case action < 78:
		what, a.Events = "begin", []a2a.Event{{Message: storetest.Message("m", text())}, storetest.Status(a2a.StateWorking, nil)}
		a.Hold, a.Turn = store.Take, &store.TurnDescriptor{Metadata: a2a.Object(`{"a":"` + text() + `"}`)}
	case action < 84 && hold.Replica == r.Self():
		what, a.Events, a.Hold = "wait", []a2a.Event{storetest.Status(a2a.StateWorking, nil)}, store.Keep
		a.Waiting = waits("w", text())
	case action < 88 && len(waiting) > 0:
		what, a.Events = "begin a waiting message", []a2a.Event{{Message: waiting[0].Request.Message}, storetest.Status(a2a.StateWorking, nil)}
		a.Hold, a.Waiting = store.Take, &store.WaitingChange{Remove: waiting[0].Seq}
	case action < 91:
		what, a.Hold = "take", store.Take
	case action < 94:
		what, a.Hold = "release", store.Release
	case action < 95:
		return "leave", cmp.Or(r.Leave(t.Context()), func() error { _, err := r.Renew(t.Context(), time.Minute); return err }())
	default:
		what, a.Events = "end", []a2a.Event{storetest.Status(a2a.StateFailed, storetest.Message("m", text()))}
	}
	_, err = log.Append(t.Context(), a)
	return what, err
}
