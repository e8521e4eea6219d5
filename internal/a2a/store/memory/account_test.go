// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store/memory"
	"github.com/a2a-operator/a2a-operator/test/storetest"
)

// shared is a store of several owners.
type shared struct {
	*memory.Store
	t *testing.T
}

func newShared(t *testing.T, o memory.Options) *shared {
	t.Helper()
	return &shared{memory.New(o), t}
}

// make creates a task with an artifact of the given number of bytes. The task belongs to one
// of two tenants of the owner.
func (s *shared) make(owner, id string, state a2a.State, bytes int) error {
	s.t.Helper()
	events := storetest.Begin()
	events = append(events, storetest.Chunk("a", strings.Repeat("x", bytes)), storetest.Status(state, nil))
	k := store.Key{Owner: a2a.Owner(owner).In(strconv.Itoa(len(id) % 2)), TaskID: id}
	_, err := s.Create(s.t.Context(), store.NewTask{Key: k, Origin: store.Origin{ContextID: "c"}, Events: events})
	return err
}

func (s *shared) must(owner, id string, state a2a.State, bytes int) {
	s.t.Helper()
	if err := s.make(owner, id, state, bytes); err != nil {
		s.t.Fatalf("make %s of %s: %v", id, owner, err)
	}
}

// has reports whether an owner has a task.
func (s *shared) has(owner, id string) bool {
	_, err := s.Open(s.t.Context(), store.Key{Owner: a2a.Owner(owner).In(strconv.Itoa(len(id) % 2)), TaskID: id})
	return err == nil
}

func TestSharesOfBytes(t *testing.T) {
	storetest.RunByteShares(t, func(_ *testing.T, bytes int64) store.Store { return memory.New(memory.Options{MaxBytes: bytes}) })
}

func TestSharesOfTasks(t *testing.T) {
	storetest.RunShares(t, func(_ *testing.T, tasks int) store.Store { return memory.New(memory.Options{MaxTasks: tasks}) })
}

func TestSharesOfNamespaces(t *testing.T) {
	storetest.RunNamespaceShares(t, func(_ *testing.T, tasks int) store.Store { return memory.New(memory.Options{MaxTasks: tasks}) })
}

func TestTasksOfTheLargestOwnerAreEvictedFirst(t *testing.T) {
	for name, test := range map[string]struct {
		options memory.Options
		bytes   int
		state   a2a.State
	}{
		"by number":                      {options: memory.Options{MaxTasks: 100}, state: a2a.StateCompleted},
		"by bytes":                       {options: memory.Options{MaxBytes: 1 << 20}, bytes: 8 << 10, state: a2a.StateCompleted},
		"by tasks that wait for clients": {options: memory.Options{MaxTasks: 100}, state: a2a.StateInputRequired},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, test.options)
			for i := range 5 {
				s.must("modest", strconv.Itoa(i), a2a.StateCompleted, 0)
			}
			for i := range 500 {
				s.must("greedy", strconv.Itoa(i), test.state, test.bytes)
			}
			for i := range 5 {
				if !s.has("modest", strconv.Itoa(i)) {
					t.Errorf("task %d of an owner with five is gone", i)
				}
			}
			if s.has("greedy", "0") || !s.has("greedy", "499") {
				t.Error("the oldest of the owner with most must go first")
			}
			// There is room for another owner.
			for i := range 5 {
				s.must("late", strconv.Itoa(i), a2a.StateWorking, test.bytes)
			}
			if s.Len() > 100 && test.options.MaxTasks > 0 {
				t.Errorf("Len() = %d", s.Len())
			}
		})
	}
}

// TestRunningTasksOfOneOwnerAreBounded checks that the running tasks of one owner, which the store does not evict, leave
// room for other owners.
func TestRunningTasksOfOneOwnerAreBounded(t *testing.T) {
	s := newShared(t, memory.Options{MaxBytes: 1 << 20})
	for i := 0; ; i++ {
		err := s.make("greedy", strconv.Itoa(i), a2a.StateWorking, 8<<10)
		if errors.Is(err, store.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Bytes(); got > 3<<18 {
		t.Errorf("one owner holds %d bytes of %d", got, 1<<20)
	}
	s.must("modest", "0", a2a.StateWorking, 8<<10)
}

// TestManyOwners checks that with thousands of accounts, the store still evicts only tasks
// of the heaviest account. It logs the time of an eviction.
func TestManyOwners(t *testing.T) {
	s := newShared(t, memory.Options{MaxTasks: 10_000})
	for i := range 5_000 {
		s.must("owner"+strconv.Itoa(i), "0", a2a.StateCompleted, 0)
	}
	for i := range 5_000 {
		s.must("greedy", strconv.Itoa(i), a2a.StateCompleted, 0)
	}
	start := time.Now()
	for i := range 2_000 {
		s.must("greedy", "more"+strconv.Itoa(i), a2a.StateCompleted, 0)
	}
	t.Logf("%s for each", time.Since(start)/2000)
	for i := range 5_000 {
		if !s.has("owner"+strconv.Itoa(i), "0") {
			t.Fatalf("owner %d lost its task", i)
		}
	}
}
