// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// A large task is read only if there is memory for it, until the reader has released what it read before.
func TestLargeReadsNeedMemory(t *testing.T) {
	o := start(t).options()
	writer := open(t, o)
	for _, id := range []string{"1", "2"} {
		if _, err := writer.Create(t.Context(), largeTask("alice", id, 200<<10, a2a.StateCompleted)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, o)
	loads := store.NewLoads(800 << 10)
	read := func(r *store.Reader, id string) error {
		_, err := s.Open(r.In(t.Context()), store.Key{Owner: "alice", TaskID: id})
		return err
	}
	first, second := loads.Reader("alice"), loads.Reader("alice")
	if err := read(first, "1"); err != nil {
		t.Fatal(err)
	}
	problem, ok := errors.AsType[*a2a.Error](read(second, "2"))
	if !ok || problem.Reason != a2a.ReasonUnavailable || problem.RetryAfter == 0 {
		t.Errorf("a second read: %v, want a refusal", problem)
	}
	first.Release()
	second.Release()
	if err := read(second, "2"); err != nil {
		t.Errorf("a read after the release: %v", err)
	}
	if err := read(loads.Reader("alice"), "1"); err != nil {
		t.Errorf("a read of what is in memory: %v", err)
	}
}

// A large entry of a log is read only if there is memory for it: a refused read transfers nothing.
func TestLargeEntriesNeedMemory(t *testing.T) {
	server := start(t)
	o := server.options()
	o.CacheBytes = 1 // the task that was used last stays in memory
	s := open(t, o)
	log, err := s.Create(t.Context(), largeTask("alice", "1", 200<<10, a2a.StateWorking))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) { // 2 entries of 40 KiB do not fit into one read
		if _, err := log.Append(t.Context(), store.Append{After: 2 + i, Events: []a2a.Event{storetest.Chunk("a", strings.Repeat("x", 40<<10))}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(t.Context(), largeTask("alice", "2", 1, a2a.StateWorking)); err != nil {
		t.Fatal(err)
	}
	loads := store.NewLoads(800 << 10)
	first, second := loads.Reader("alice"), loads.Reader("alice")
	read := func(r *store.Reader, after uint64) (records int, err error) {
		batch, err := log.Read(r.In(t.Context()), nil, after)
		return len(batch), err
	}
	if n, err := read(first, 0); err != nil || n != 2 {
		t.Fatalf("a read of the large entry: %d records, %v", n, err)
	}
	before := server.sent(t)
	_, err = log.Read(second.InPromptly(t.Context()), nil, 0)
	if problem, ok := errors.AsType[*a2a.Error](err); !ok || problem.RetryAfter == 0 {
		t.Errorf("a second read: %v, want a refusal", err)
	}
	if n := server.sent(t) - before; n > 64<<10 {
		t.Errorf("the refused read transferred %d bytes", n)
	}
	for after := range uint64(3) {
		if n, err := read(loads.Reader("bob"), 2+after); err != nil || n != 1 {
			t.Errorf("a read of a small entry: %d records, %v", n, err)
		}
	}
	first.Release()
	second.Release()
	if n, err := read(second, 1); err != nil || n != 1 {
		t.Errorf("a read after the release: %d records, %v", n, err)
	}
}

// Waiting messages are read only if there is memory for them: a refused read transfers nothing.
func TestWaitingMessagesNeedMemory(t *testing.T) {
	server := start(t)
	h := newHeldTask(t, server.options())
	for _, id := range []string{"m2", "m3"} {
		if err := h.set(t, a2a.StateWorking, store.Keep, waits(id, strings.Repeat("x", 100<<10))); err != nil {
			t.Fatal(err)
		}
	}
	loads := store.NewLoads(800 << 10)
	first, second := loads.Reader("alice"), loads.Reader("alice")
	read := func(r *store.Reader) (int, error) {
		waiting, err := h.Waiting(r.InPromptly(t.Context()), key)
		return len(waiting), err
	}
	if n, err := read(first); n != 2 || err != nil {
		t.Fatalf("%d messages, %v", n, err)
	}
	before := server.sent(t)
	_, err := read(second)
	if problem, ok := errors.AsType[*a2a.Error](err); !ok || problem.RetryAfter == 0 {
		t.Errorf("a second read: %v, want a refusal", err)
	}
	if n := server.sent(t) - before; n > 64<<10 {
		t.Errorf("the refused read transferred %d bytes", n)
	}
	first.Release()
	if n, err := read(second); n != 2 || err != nil {
		t.Errorf("a read after the release: %d messages, %v", n, err)
	}
}

// sent returns the bytes that the server has sent to its clients.
func (s server) sent(t *testing.T) int {
	t.Helper()
	c := client.NewClient(&client.Options{Addr: s.Address()})
	defer func() { _ = c.Close() }()
	n, err := strconv.Atoi(c.InfoMap(t.Context(), "stats").Item("Stats", "total_net_output_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A reader that keeps all that it reads gets no more tasks than there is memory for.
func TestTasksThatAreKeptFitIntoMemory(t *testing.T) {
	o := start(t).options()
	writer := open(t, o)
	for _, id := range []string{"1", "2"} {
		if _, err := writer.Create(t.Context(), largeTask("alice", id, 200<<10, a2a.StateCompleted)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, o)
	reader := store.NewLoads(800 << 10).Reader("alice")
	ctx := reader.InWhole(t.Context())
	if _, err := s.Open(ctx, store.Key{Owner: "alice", TaskID: "1"}); err != nil {
		t.Fatal(err)
	}
	_, err := s.Open(ctx, store.Key{Owner: "alice", TaskID: "2"})
	if problem, ok := errors.AsType[*a2a.Error](err); !ok || !strings.Contains(problem.Message, "refer to fewer tasks") {
		t.Errorf("a second task: %v, want a refusal", err)
	}
	reader.Release()
	if _, err := s.Open(ctx, store.Key{Owner: "alice", TaskID: "2"}); err != nil {
		t.Errorf("after the release: %v", err)
	}
}

// TestLargeJournalsNeedMemory checks that the memory for a large journal is reserved before the journal is read.
func TestLargeJournalsNeedMemory(t *testing.T) {
	s := open(t, start(t).options())
	log, err := s.Create(t.Context(), largeTask("alice", "1", 1, a2a.StateWorking))
	if err != nil {
		t.Fatal(err)
	}
	var reserved []int64
	refusal := errors.New("no memory")
	read := func(err error) ([][]byte, error) {
		reserved = nil
		return log.Journal(t.Context(), func(bytes int64) error {
			reserved = append(reserved, bytes)
			return err
		})
	}
	for i := range 3 {
		if entries, err := read(nil); err != nil || len(entries) != i || (len(reserved) > 0) != (i > 1) {
			t.Errorf("a journal with %d entries: %d entries, %v, reserved %v", i, len(entries), err, reserved)
		}
		if err := log.AppendJournal(t.Context(), store.JournalAppend{After: i, Entry: bytes.Repeat([]byte("x"), 40<<10)}); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := read(refusal); !errors.Is(err, refusal) || entries != nil || !slices.Equal(reserved, []int64{120 << 10}) {
		t.Errorf("without memory: %d entries, %v, reserved %v", len(entries), err, reserved)
	}
}

// A large conversation is read only if there is memory for it.
func TestLargeConversationsNeedMemory(t *testing.T) {
	s := open(t, start(t).options())
	c := store.Conversation{Owner: "alice", ContextID: "c"}
	message := &a2a.Message{ID: "m", Role: a2a.RoleUser, Parts: []a2a.Part{a2a.TextPart(strings.Repeat("x", 200<<10))}}
	if err := s.Remember(t.Context(), c, message)(); err != nil {
		t.Fatal(err)
	}
	loads := store.NewLoads(800 << 10)
	recall := func(r *store.Reader) error {
		messages, err := s.Recall(r.In(t.Context()), c)
		if err == nil && (len(messages) != 1 || messages[0].Size() != message.Size()) {
			t.Errorf("%d messages are recalled", len(messages))
		}
		return err
	}
	first, second := loads.Reader("alice"), loads.Reader("alice")
	if err := recall(first); err != nil {
		t.Fatal(err)
	}
	if problem, ok := errors.AsType[*a2a.Error](recall(second)); !ok || problem.RetryAfter == 0 {
		t.Errorf("a second read: %v, want a refusal", problem)
	}
	first.Release()
	second.Release()
	if err := recall(second); err != nil {
		t.Errorf("a read after the release: %v", err)
	}
}
