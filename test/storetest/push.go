// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// RunPushes runs the suite of push stores. open returns an empty store, which accepts
// 16 configurations of a task.
func RunPushes(t *testing.T, open func(t *testing.T) store.PushStore) {
	t.Helper()
	tests := map[string]func(*testing.T, *pushes){
		"put and get":                  pushPutAndGet,
		"put replaces":                 pushPutReplaces,
		"add replaces nothing":         pushAddReplacesNothing,
		"key holds the owner":          pushKeyHoldsOwner,
		"list in the order of setting": pushListInOrder,
		"tasks are bounded":            pushTasksAreBounded,
		"advance":                      pushAdvance,
		"advance needs the generation": pushAdvanceNeedsGeneration,
		"delete":                       pushDelete,
		"unfinished":                   pushUnfinished,
		"all at once":                  pushAllAtOnce,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, &pushes{PushStore: open(t), t: t}) })
	}
}

// RunSharedPushes runs the suite of push stores that replicas share. It includes
// RunPushes.
func RunSharedPushes(t *testing.T, open func(t *testing.T) store.SharedPushStore) {
	t.Helper()
	RunPushes(t, func(t *testing.T) store.PushStore { return open(t) })
	t.Run("adopt", func(t *testing.T) { pushAdopt(t, open(t)) })
}

func pushAdopt(t *testing.T, shared store.SharedPushStore) {
	s := &pushes{PushStore: shared, t: t}
	task := store.Key{Owner: "o", TaskID: "t"}
	p := config(task, "a")
	p.Replica = "a/1"
	p = s.put(p)
	other := config(task, "b")
	other.Replica = "b/1"
	other = s.put(other)
	of := func(r store.Replica) (ids string) {
		err := shared.Unfinished(t.Context(), func(p store.Push) bool {
			if p.Replica == r {
				ids += p.Config.ID
			}
			return true
		})
		if err != nil {
			t.Errorf("Unfinished() error = %v", err)
		}
		return ids
	}
	adopt := func(p store.Push, by store.Replica, want error) {
		t.Helper()
		if err := shared.Adopt(t.Context(), p, by); !errors.Is(err, want) {
			t.Errorf("Adopt() error = %v, want %v", err, want)
		}
	}
	if a, b := of("a/1"), of("b/1"); a != "a" || b != "b" {
		t.Errorf("unfinished: %q and %q", a, b)
	}
	p.Through = 7
	if err := shared.Advance(t.Context(), p); err != nil {
		t.Errorf("Advance() error = %v", err)
	}
	adopt(p, "b/1", nil)
	if got, err := shared.Get(t.Context(), task, "a"); err != nil || got.Through != 7 || got.Replica != "b/1" {
		t.Errorf("Get() = %+v, %v", got, err)
	}
	adopt(p, "c/1", store.ErrNotFound)
	if a, b := of("a/1"), of("b/1"); a != "" || b != "ab" {
		t.Errorf("unfinished: %q and %q", a, b)
	}
	// A replica that lost the configuration stores nothing.
	p.Acked = 9
	if err := shared.Advance(t.Context(), p); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Advance() error = %v, want ErrNotFound", err)
	}
	p.Replica = "b/1"
	if err := shared.Advance(t.Context(), p); err != nil {
		t.Errorf("Advance() error = %v", err)
	}
	if got, err := shared.Get(t.Context(), task, "a"); err != nil || got.Acked != 9 || got.Replica != "b/1" {
		t.Errorf("Get() = %+v, %v", got, err)
	}
	other.Expires = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := shared.Advance(t.Context(), other); err != nil {
		t.Errorf("Advance() error = %v", err)
	}
	if b := of("b/1"); b != "a" {
		t.Errorf("unfinished: %q", b)
	}
	stale := p
	stale.Generation--
	adopt(stale, "c/1", store.ErrNotFound)
	adopt(config(task, "none"), "c/1", store.ErrNotFound)
}

// pushes is a push store whose errors fail the test.
type pushes struct {
	store.PushStore
	t *testing.T
}

func config(task store.Key, id string) store.Push {
	return store.Push{Task: task, Acked: 3, Config: a2a.PushConfig{
		Dialect: a2a.DialectV10, ID: id, TaskID: task.TaskID, URL: "https://hooks.example.com/" + id, Token: "t",
		Scheme: "Bearer", Credentials: "c", Extensions: []string{"urn:x"}, Trace: a2a.TraceContext{Parent: "00-1-2-01", State: "v=1"},
	}}
}

func (s *pushes) put(p store.Push) store.Push {
	s.t.Helper()
	generation, err := s.Put(s.t.Context(), p)
	if err != nil {
		s.t.Fatalf("Put(%q) error = %v", p.Config.ID, err)
	}
	p.Generation = generation
	return p
}

func (s *pushes) want(want store.Push) {
	s.t.Helper()
	got, err := s.Get(s.t.Context(), want.Task, want.Config.ID)
	if err != nil {
		s.t.Fatalf("Get(%q) error = %v", want.Config.ID, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("Get(%q) (-want +got):\n%s", want.Config.ID, diff)
	}
}

func (s *pushes) list(task store.Key) []store.Push {
	s.t.Helper()
	all, err := s.List(s.t.Context(), task)
	if err != nil {
		s.t.Fatalf("List() error = %v", err)
	}
	return all
}

func (s *pushes) missing(task store.Key, id string) {
	s.t.Helper()
	if p, err := s.Get(s.t.Context(), task, id); !errors.Is(err, store.ErrNotFound) {
		s.t.Errorf("Get(%q) = %v, %v, want ErrNotFound", id, p.Config, err)
	}
}

func pushPutAndGet(_ *testing.T, s *pushes) {
	s.missing(key, "a")
	s.want(s.put(config(key, "a")))
	s.missing(key, "b")
}

func pushPutReplaces(t *testing.T, s *pushes) {
	s.put(config(key, "a"))
	b := s.put(config(key, "b"))
	again := config(key, "a")
	again.Config.URL, again.Acked = "https://hooks.example.com/other", 7
	again = s.put(again)
	s.want(again)
	if diff := cmp.Diff([]store.Push{b, again}, s.list(key)); diff != "" {
		t.Errorf("List() (-want +got):\n%s", diff)
	}
	if again.Generation <= b.Generation {
		t.Errorf("generation = %d after %d", again.Generation, b.Generation)
	}
}

func pushAddReplacesNothing(t *testing.T, s *pushes) {
	add := func(p store.Push, want error) store.Push {
		t.Helper()
		generation, err := s.Add(t.Context(), p)
		if !errors.Is(err, want) || err == nil && generation == 0 {
			t.Fatalf("Add(%q) = %d, %v, want %v", p.Config.ID, generation, err, want)
		}
		p.Generation = generation
		return p
	}
	a := add(config(key, "a"), nil)
	again := config(key, "a")
	again.Config.URL, again.Acked = "https://hooks.example.com/other", 0
	add(again, store.ErrExists)
	s.want(a)
	a.Acked, a.Expires = 4, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := s.Advance(t.Context(), a); err != nil {
		t.Fatalf("Advance() error = %v", err)
	}
	add(again, store.ErrExists)
	s.want(a)
	if err := s.Delete(t.Context(), key, "a"); err != nil {
		t.Fatalf("Delete() error = %v", err)
	}
	s.want(add(again, nil))
	for i := range 15 {
		add(config(key, strconv.Itoa(i)), nil)
	}
	add(config(key, "one too many"), store.ErrFull)
	add(config(key, "a"), store.ErrExists)
}

func pushKeyHoldsOwner(t *testing.T, s *pushes) {
	foreign := store.Key{Owner: "bob", TaskID: key.TaskID}
	p := s.put(config(key, "a"))
	s.missing(foreign, "a")
	if all := s.list(foreign); len(all) != 0 {
		t.Errorf("a stranger lists %v", all)
	}
	if err := s.Delete(t.Context(), foreign, "a"); err != nil {
		t.Errorf("Delete() error = %v", err)
	}
	s.want(p)
}

func pushListInOrder(t *testing.T, s *pushes) {
	var want []store.Push
	for _, id := range []string{"b", "c", "a"} {
		want = append(want, s.put(config(key, id)))
		s.put(config(store.Key{Owner: key.Owner, TaskID: "t2"}, id))
	}
	if diff := cmp.Diff(want, s.list(key)); diff != "" {
		t.Errorf("List() (-want +got):\n%s", diff)
	}
}

func pushTasksAreBounded(t *testing.T, s *pushes) {
	for i := range 16 {
		s.put(config(key, strconv.Itoa(i)))
	}
	if _, err := s.Put(t.Context(), config(key, "one too many")); !errors.Is(err, store.ErrFull) {
		t.Errorf("Put() error = %v, want ErrFull", err)
	}
	s.put(config(key, "3"))
	s.put(config(store.Key{Owner: key.Owner, TaskID: "t2"}, "a"))
}

func pushAdvance(t *testing.T, s *pushes) {
	p := s.put(config(key, "a"))
	p.Acked = 9
	if err := s.Advance(t.Context(), p); err != nil {
		t.Fatalf("Advance() error = %v", err)
	}
	s.want(p)
	p.Through = 11
	if err := s.Advance(t.Context(), p); err != nil {
		t.Fatalf("Advance() error = %v", err)
	}
	s.want(p)
	p.Through = 0
	p.Acked, p.Expires = 12, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := s.Advance(t.Context(), p); err != nil {
		t.Fatalf("Advance() error = %v", err)
	}
	s.want(p)
}

func pushAdvanceNeedsGeneration(t *testing.T, s *pushes) {
	former := s.put(config(key, "a"))
	now := s.put(config(key, "a"))
	former.Acked = 99
	if err := s.Advance(t.Context(), former); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Advance() of a former generation: error = %v, want ErrNotFound", err)
	}
	s.want(now)
	if err := s.Advance(t.Context(), store.Push{Task: key, Config: a2a.PushConfig{ID: "b"}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Advance() of nothing: error = %v, want ErrNotFound", err)
	}
}

func pushDelete(t *testing.T, s *pushes) {
	p := s.put(config(key, "a"))
	b := s.put(config(key, "b"))
	for range 2 {
		if err := s.Delete(t.Context(), key, "a"); err != nil {
			t.Fatalf("Delete() error = %v", err)
		}
	}
	s.missing(key, "a")
	s.want(b)
	if err := s.Advance(t.Context(), p); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Advance() error = %v, want ErrNotFound", err)
	}
}

func pushUnfinished(t *testing.T, s *pushes) {
	ended := s.put(config(key, "ended"))
	ended.Expires = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := s.Advance(t.Context(), ended); err != nil {
		t.Fatalf("Advance() error = %v", err)
	}
	want := map[string]store.Push{}
	for i := range 5 {
		p := s.put(config(store.Key{Owner: "o", TaskID: strconv.Itoa(i)}, "a"))
		want[p.Task.TaskID] = p
	}
	got := map[string]store.Push{}
	err := s.Unfinished(t.Context(), func(p store.Push) bool {
		got[p.Task.TaskID] = p
		// yield may call the store.
		_, err := s.Get(t.Context(), p.Task, p.Config.ID)
		return err == nil
	})
	if err != nil {
		t.Fatalf("Unfinished() error = %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unfinished() (-want +got):\n%s", diff)
	}
	calls := 0
	if err := s.Unfinished(t.Context(), func(store.Push) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("Unfinished() that is stopped: %d calls, error = %v", calls, err)
	}
}

func pushAllAtOnce(t *testing.T, s *pushes) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			task := store.Key{Owner: "o", TaskID: strconv.Itoa(i % 2)}
			for j := range 50 {
				p := config(task, strconv.Itoa(j%4))
				generation, err := s.Put(t.Context(), p)
				if err != nil {
					t.Errorf("Put() error = %v", err)
					return
				}
				p.Generation = generation
				if err := s.Advance(t.Context(), p); err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Advance() error = %v", err)
				}
				if j%10 == 9 {
					if err := s.Delete(t.Context(), task, p.Config.ID); err != nil {
						t.Errorf("Delete() error = %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	seen := map[uint64]bool{}
	for _, p := range append(s.list(store.Key{Owner: "o", TaskID: "0"}), s.list(store.Key{Owner: "o", TaskID: "1"})...) {
		if seen[p.Generation] {
			t.Errorf("generation %d was given twice", p.Generation)
		}
		seen[p.Generation] = true
	}
}
