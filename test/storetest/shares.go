// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// RunShares runs the tests of the shares that owners have in a store. open returns an empty
// store with room for the given number of tasks.
func RunShares(t *testing.T, open func(t *testing.T, tasks int) store.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, func(tasks int) tasksOfOwners){
		"the owner with the most tasks makes room":                 largestOwnerMakesRoom,
		"an owner with more tasks evicts no task of another owner": largerOwnerEvictsNoOther,
		"an owner has one share in all its tenants":                tenantsShareOneAccount,
		"of equal owners, the task that ended first makes room":    oldestOfEqualOwners,
		"conversations of the owner with the most make room":       conversationsOfLargestOwnerMakeRoom,
		"of equal owners, the conversation used first makes room":  oldestConversationOfEqualOwners,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test(t, func(tasks int) tasksOfOwners { return tasksOfOwners{open(t, tasks), t} })
		})
	}
}

// tasksOfOwners is a store with the tasks of several owners. The tasks of each owner have
// numbers.
type tasksOfOwners struct {
	store.Store
	t *testing.T
}

func numbered(owner a2a.Owner, n int) store.Key {
	return store.Key{Owner: owner, TaskID: fmt.Sprintf("%s-%03d", owner, n)}
}

func (s tasksOfOwners) create(owner a2a.Owner, n int, state a2a.State) error {
	events := append(Begin(), Status(state, nil))
	_, err := s.Create(s.t.Context(), store.NewTask{Key: numbered(owner, n), Origin: origin, Events: events})
	return err
}

// fill creates the tasks with the numbers from first to end-1.
func (s tasksOfOwners) fill(owner a2a.Owner, first, end int, state a2a.State) {
	s.t.Helper()
	for n := first; n < end; n++ {
		if err := s.create(owner, n, state); err != nil {
			s.t.Fatalf("Create(%d) for %q: error = %v", n, owner, err)
		}
	}
}

// want requires that the store has the tasks of an owner with the numbers from first to end-1,
// and does not have the tasks with the numbers from 0 to first-1 and with the number end.
func (s tasksOfOwners) want(owner a2a.Owner, first, end int) {
	s.t.Helper()
	for n := range end + 1 {
		_, err := s.Open(s.t.Context(), numbered(owner, n))
		switch stored := n >= first && n < end; {
		case stored && err != nil:
			s.t.Errorf("task %d of %q: error = %v, want that it is stored", n, owner, err)
		case !stored && !errors.Is(err, store.ErrNotFound):
			s.t.Errorf("task %d of %q: error = %v, want ErrNotFound", n, owner, err)
		}
	}
}

func largestOwnerMakesRoom(t *testing.T, open func(int) tasksOfOwners) {
	for _, state := range []a2a.State{a2a.StateCompleted, a2a.StateInputRequired} {
		s := open(20)
		s.fill("modest", 0, 3, a2a.StateCompleted)
		s.fill("greedy", 0, 60, state)
		s.want("modest", 0, 3)
		s.want("greedy", 60-17, 60)
		s.fill("late", 0, 3, a2a.StateWorking)
		s.want("modest", 0, 3)
		s.want("greedy", 60-14, 60)
		if t.Failed() {
			t.Errorf("the tasks of the largest owner are %s", state)
		}
	}
}

func largerOwnerEvictsNoOther(t *testing.T, open func(int) tasksOfOwners) {
	s := open(10)
	s.fill("greedy", 0, 7, a2a.StateWorking)
	s.fill("modest", 0, 3, a2a.StateCompleted)
	if err := s.create("greedy", 7, a2a.StateWorking); !errors.Is(err, store.ErrFull) {
		t.Errorf("one more of the owner with the most tasks: error = %v, want ErrFull", err)
	}
	s.fill("modest", 3, 4, a2a.StateWorking)
	s.want("modest", 1, 4)
	s.want("greedy", 0, 7)
}

func tenantsShareOneAccount(t *testing.T, open func(int) tasksOfOwners) {
	s := open(10)
	s.fill("modest", 0, 3, a2a.StateCompleted)
	for n := range 30 {
		s.fill(a2a.Owner("greedy").In(fmt.Sprint(n)), 0, 1, a2a.StateCompleted)
	}
	s.want("modest", 0, 3)
}

func oldestOfEqualOwners(_ *testing.T, open func(int) tasksOfOwners) {
	s := open(4)
	for _, owner := range []a2a.Owner{"d", "b", "c", "a"} {
		s.fill(owner, 0, 1, a2a.StateCompleted)
		time.Sleep(2 * time.Millisecond) // the stores compare times in milliseconds
	}
	s.fill("e", 0, 1, a2a.StateCompleted)
	s.want("d", 1, 1)
	for _, owner := range []a2a.Owner{"a", "b", "c", "e"} {
		s.want(owner, 0, 1)
	}
}

// RunByteShares runs the tests of the shares of bytes that owners have in a store. open returns
// an empty store with room for the given number of bytes.
func RunByteShares(t *testing.T, open func(t *testing.T, bytes int64) store.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, tasksOfOwners){
		"an owner with large tasks leaves room":                largeTasksLeaveRoom,
		"running tasks of an owner leave room":                 largeRunningTasksLeaveRoom,
		"an event makes room among the tasks of its owner":     eventMakesRoom,
		"an owner with fewer bytes evicts the largest owner's": smallOwnerEvictsLargest,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, tasksOfOwners{open(t, roomInBytes), t}) })
	}
}

const (
	// roomInBytes is the room of the stores of RunByteShares.
	roomInBytes = 8 << 20
	// large is the size of a large message.
	large = 300 << 10
)

// createLarge creates a task whose message has the size large.
func (s tasksOfOwners) createLarge(owner a2a.Owner, n int, state a2a.State) (store.Log, error) {
	events := []a2a.Event{{Message: Message("m", strings.Repeat("x", large))}, Status(state, nil)}
	return s.Create(s.t.Context(), store.NewTask{Key: numbered(owner, n), Origin: origin, Events: events})
}

func largeTasksLeaveRoom(t *testing.T, s tasksOfOwners) {
	s.fill("modest", 0, 10, a2a.StateCompleted)
	for n := range 60 {
		if _, err := s.createLarge("greedy", n, a2a.StateCompleted); err != nil {
			t.Fatalf("large task %d: %v", n, err)
		}
		s.fill("modest", 10+n, 11+n, a2a.StateCompleted)
	}
	s.want("modest", 0, 70)
}

func largeRunningTasksLeaveRoom(t *testing.T, s tasksOfOwners) {
	n := 0
	for ; ; n++ {
		if _, err := s.createLarge("greedy", n, a2a.StateWorking); err != nil {
			if !errors.Is(err, store.ErrFull) {
				t.Fatal(err)
			}
			break
		}
		if n*large > roomInBytes/4*3 {
			t.Fatal("one owner may use more than three quarters")
		}
	}
	s.fill("modest", 0, 10, a2a.StateWorking)
	s.want("greedy", 0, n)
	// The end of a task needs no room.
	log, err := s.Open(t.Context(), numbered("greedy", 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), store.Append{After: 2, Events: []a2a.Event{Status(a2a.StateFailed, Message("m", strings.Repeat("x", large)))}}); err != nil {
		t.Errorf("Append() of the end: error = %v", err)
	}
	// The task that has ended makes room.
	if _, err := s.createLarge("greedy", n+1, a2a.StateWorking); err != nil {
		t.Errorf("Create() after the end of a task: error = %v", err)
	}
	s.want("modest", 0, 10)
}

func eventMakesRoom(t *testing.T, s tasksOfOwners) {
	s.fill("modest", 0, 10, a2a.StateCompleted)
	log, err := s.createLarge("greedy", 0, a2a.StateInputRequired)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < 10; n++ {
		if _, err := s.createLarge("greedy", n, a2a.StateCompleted); err != nil {
			t.Fatal(err)
		}
	}
	// The task may be evicted until the append, which must not evict it.
	after := uint64(2)
	for range 12 {
		events := []a2a.Event{{Message: Message("m", strings.Repeat("x", large))}, Status(a2a.StateInputRequired, nil)}
		if after, err = log.Append(t.Context(), store.Append{After: after, Events: events}); err != nil {
			t.Fatalf("Append() after %d: error = %v", after, err)
		}
	}
	s.want("modest", 0, 10)
	if _, err := s.Open(t.Context(), numbered("greedy", 1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("oldest ended task of the owner: error = %v, want ErrNotFound", err)
	}
	if _, err := s.Open(t.Context(), numbered("greedy", 0)); err != nil {
		t.Errorf("task of the appends: %v", err)
	}
}

func smallOwnerEvictsLargest(t *testing.T, s tasksOfOwners) {
	for n, owner := range []a2a.Owner{"small", "large", "large", "large", "large"} {
		if _, err := s.createLarge(owner, n, a2a.StateCompleted); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 40 {
		if _, err := s.createLarge(a2a.Owner(fmt.Sprint("other", n%8)), n, a2a.StateCompleted); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(t.Context(), numbered("large", 1)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("oldest task of the largest owner: error = %v, want ErrNotFound", err)
	}
	if _, err := s.Open(t.Context(), numbered("small", 0)); err != nil {
		t.Errorf("oldest task of a small owner: %v", err)
	}
}

func numberedConversation(owner a2a.Owner, n int) store.Conversation {
	return store.Conversation{Owner: owner, ContextID: fmt.Sprint(n)}
}

// remember creates the conversations of an owner with the numbers from first to end-1.
func (s tasksOfOwners) remember(owner a2a.Owner, first, end int) {
	s.t.Helper()
	for n := first; n < end; n++ {
		if err := s.Remember(s.t.Context(), numberedConversation(owner, n), Message("m", "hi"))(); err != nil {
			s.t.Fatalf("Remember(%d) for %q: error = %v", n, owner, err)
		}
		time.Sleep(2 * time.Millisecond) // the stores compare times in milliseconds
	}
}

// remembers requires that of the conversations of an owner with the numbers from 0 to end-1,
// the store has those from first on. It tests whether they are there in the order of their
// use, because a test is a use.
func (s tasksOfOwners) remembers(owner a2a.Owner, first, end int) {
	s.t.Helper()
	for n := range end {
		messages, err := s.Recall(s.t.Context(), numberedConversation(owner, n))
		if got, want := len(messages) > 0, n >= first; got != want || err != nil {
			s.t.Errorf("conversation %d of %q is stored: %t, %v, want %t", n, owner, got, err, want)
		}
	}
}

func conversationsOfLargestOwnerMakeRoom(t *testing.T, open func(int) tasksOfOwners) {
	s := open(10)
	s.remember("modest", 0, 3)
	for n := range 30 {
		s.remember(a2a.Owner("greedy").In(fmt.Sprint(n%3)), n, n+1)
	}
	s.remembers("modest", 0, 3)
	s.remember("late", 0, 3)
	s.remembers("late", 0, 3)
	s.remembers("modest", 0, 3)
	for n := range 30 {
		messages, err := s.Recall(t.Context(), numberedConversation(a2a.Owner("greedy").In(fmt.Sprint(n%3)), n))
		if got, want := len(messages) > 0, n >= 26; got != want || err != nil {
			t.Errorf("conversation %d of the largest owner is stored: %t, %v, want %t", n, got, err, want)
		}
	}
}

func oldestConversationOfEqualOwners(_ *testing.T, open func(int) tasksOfOwners) {
	s := open(3)
	for _, owner := range []a2a.Owner{"b", "c", "a", "d"} {
		s.remember(owner, 0, 1)
	}
	s.remembers("b", 1, 1)
	for _, owner := range []a2a.Owner{"a", "c", "d"} {
		s.remembers(owner, 0, 1)
	}
}

// RunPushShares runs the tests of the shares that owners have in a push store. open returns
// an empty store with room for the given number of configurations.
func RunPushShares(t *testing.T, open func(t *testing.T, configurations int) store.PushStore) {
	t.Helper()
	tests := map[string]func(*testing.T, func(configurations int) *pushes){
		"every owner leaves room for another":                        everyOwnerLeavesRoom,
		"only an owner's own ended configurations extend its share":  ownEndedPushesMakeRoom,
		"ended configurations of equal owners make room for another": endedPushesOfOthersMakeRoom,
		"the accounts of a namespace have one share":                 namespaceLeavesRoom,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test(t, func(configurations int) *pushes { return &pushes{PushStore: open(t, configurations), t: t} })
		})
	}
}

// putOf puts a configuration of an owner. If ended is true, the configuration has ended and
// has a time at which it expires.
func (s *pushes) putOf(owner a2a.Owner, n int, ended bool) error {
	p := config(numbered(owner, n), "a")
	if ended {
		p.Expires = time.Date(2100, 1, 1, 0, 0, n, 0, time.UTC)
	}
	_, err := s.Put(s.t.Context(), p)
	return err
}

func everyOwnerLeavesRoom(t *testing.T, open func(int) *pushes) {
	s := open(90)
	for i, want := range []int{60, 20, 6, 2, 1} {
		owner, n := a2a.Owner(fmt.Sprint("owner", i)), 0
		for ; ; n++ {
			err := s.putOf(owner.In(fmt.Sprint(n%3)), n, false)
			if errors.Is(err, store.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if n != want {
			t.Errorf("owner number %d has room for %d configurations, want %d", i+1, n, want)
		}
	}
}

func namespaceLeavesRoom(t *testing.T, open func(int) *pushes) {
	s := open(90)
	for n := range 60 {
		if err := s.putOf(account("crowded", fmt.Sprint(n)), n, n < 10); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 11 {
		err := s.putOf(account("crowded", fmt.Sprint("more", n)), n, false)
		if full := errors.Is(err, store.ErrFull); full != (n == 10) {
			t.Errorf("Put() number %d in the place of an ended configuration: error = %v", n, err)
		}
	}
	if err := s.putOf("modest", 0, false); err != nil {
		t.Errorf("Put() of another owner: error = %v", err)
	}
}

func ownEndedPushesMakeRoom(t *testing.T, open func(int) *pushes) {
	s := open(6)
	for n, owner := range []a2a.Owner{"other", "o", "o", "o"} {
		if err := s.putOf(owner, n, n < 2); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.putOf("o", 4, false); err != nil {
		t.Errorf("Put() in the place of an ended configuration: error = %v", err)
	}
	s.missing(numbered("o", 1), "a")
	if err := s.putOf("o", 5, false); !errors.Is(err, store.ErrFull) {
		t.Errorf("Put() beyond the share: error = %v, want ErrFull", err)
	}
	if _, err := s.Get(t.Context(), numbered("other", 0), "a"); err != nil {
		t.Errorf("Get() of another owner: error = %v", err)
	}
	// A configuration that replaces another one needs no room.
	if err := s.putOf("o", 4, false); err != nil {
		t.Errorf("Put() of the same configuration: error = %v", err)
	}
}

func endedPushesOfOthersMakeRoom(t *testing.T, open func(int) *pushes) {
	const room = 20
	s := open(room)
	for n := range 3 * room {
		if err := s.putOf(a2a.Owner(fmt.Sprint("owner", n)), n, true); err != nil {
			t.Fatalf("Put() of owner number %d: error = %v", n+1, err)
		}
	}
	s.missing(numbered("owner0", 0), "a")
	if _, err := s.Get(t.Context(), numbered(a2a.Owner(fmt.Sprint("owner", 3*room-1)), 3*room-1), "a"); err != nil {
		t.Errorf("Get() of the last configuration: error = %v", err)
	}
}

// account returns an owner that a namespace can create in any number.
func account(namespace, name string) a2a.Owner {
	return a2a.Owner("system:serviceaccount:" + namespace + ":" + name)
}

// RunNamespaceShares runs the tests of the shares that the ServiceAccounts of a namespace have together, and of their shares in it. open
// returns an empty store with room for the given number of tasks, and of conversations.
func RunNamespaceShares(t *testing.T, open func(t *testing.T, tasks int) store.Store) {
	t.Helper()
	t.Run("many accounts of a namespace evict no task of others", func(t *testing.T) {
		s := tasksOfOwners{open(t, 20), t}
		s.fill("modest", 0, 8, a2a.StateCompleted)
		s.fill(account("quiet", "busy"), 0, 4, a2a.StateCompleted)
		for n := range 60 {
			s.fill(account("crowded", fmt.Sprint(n)), 0, 1, a2a.StateCompleted)
		}
		s.want("modest", 0, 8)
		s.want(account("quiet", "busy"), 0, 4)
	})
	t.Run("the account with the most tasks of its namespace makes room", func(t *testing.T) {
		s := tasksOfOwners{open(t, 20), t}
		s.fill(account("team", "modest"), 0, 3, a2a.StateCompleted)
		s.fill("other", 0, 4, a2a.StateCompleted)
		s.fill(account("team", "greedy"), 0, 60, a2a.StateCompleted)
		s.fill("other", 4, 8, a2a.StateCompleted)
		s.want(account("team", "modest"), 0, 3)
		s.want("other", 0, 8)
	})
	t.Run("conversations of many accounts of a namespace evict none of others", func(t *testing.T) {
		s := tasksOfOwners{open(t, 10), t}
		s.remember("modest", 0, 3)
		for n := range 20 {
			s.remember(account("crowded", fmt.Sprint(n)), 0, 1)
		}
		s.remembers("modest", 0, 3)
		s.remembers(account("crowded", "0"), 1, 1)
		s.remembers(account("crowded", "19"), 0, 1)
	})
}
