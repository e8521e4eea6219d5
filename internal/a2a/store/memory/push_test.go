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

func TestPushConformance(t *testing.T) {
	storetest.RunSharedPushes(t, func(*testing.T) store.SharedPushStore { return memory.NewPushes(memory.PushOptions{}) })
}

func TestSharesOfPushes(t *testing.T) {
	storetest.RunPushShares(t, func(_ *testing.T, configurations int) store.PushStore {
		return memory.NewPushes(memory.PushOptions{Max: configurations})
	})
}

func pushOf(task, id string) store.Push {
	return store.Push{Task: store.Key{Owner: "o", TaskID: task}, Config: a2a.PushConfig{ID: id}}
}

func TestPushesExpire(t *testing.T) {
	c := &clock{now: time.Unix(1000, 0)}
	s := memory.NewPushes(memory.PushOptions{Now: c.Now})
	for i, ttl := range []time.Duration{time.Minute, 3 * time.Minute, 2 * time.Minute} {
		p := pushOf("t", strconv.Itoa(i))
		p.Expires = c.now.Add(ttl)
		if _, err := s.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), pushOf("t", "living")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 1 2 living", "1 2 living", "1 living", "living", "living"} {
		all, err := s.List(t.Context(), store.Key{Owner: "o", TaskID: "t"})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, p := range all {
			ids = append(ids, p.Config.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("after %s: %q, want %q", c.now.Sub(time.Unix(1000, 0)), got, want)
		}
		c.now = c.now.Add(time.Minute)
	}
}

func TestPushesAreBounded(t *testing.T) {
	s := memory.NewPushes(memory.PushOptions{Max: 3, MaxBytes: 6 << 10})
	for _, id := range []string{"a", "b"} {
		if _, err := s.Put(t.Context(), pushOf(id, id)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), pushOf("c", "c")); !errors.Is(err, store.ErrFull) {
		t.Errorf("third of its two: error = %v, want ErrFull", err)
	}
	if err := s.Delete(t.Context(), store.Key{Owner: "o", TaskID: "a"}, "a"); err != nil {
		t.Fatal(err)
	}
	large := pushOf("c", "c")
	large.Config.URL = strings.Repeat("x", 6<<10)
	if _, err := s.Put(t.Context(), large); !errors.Is(err, store.ErrFull) {
		t.Errorf("too large: error = %v, want ErrFull", err)
	}
	if _, err := s.Put(t.Context(), pushOf("c", "c")); err != nil {
		t.Errorf("after a delete: error = %v", err)
	}
	if s.Len() != 2 {
		t.Errorf("Len() = %d, want 2", s.Len())
	}
}

// A configuration that has ended and can only be read takes no room from new
// configurations.
func TestEndedPushesAreEvictedFirst(t *testing.T) {
	for name, options := range map[string]memory.PushOptions{
		"count": {Max: 3},
		"bytes": {MaxBytes: 1800},
	} {
		t.Run(name, func(t *testing.T) {
			options.Now = (&clock{now: time.Unix(1000, 0)}).Now
			s := memory.NewPushes(options)
			put := func(id string, ended bool) error {
				p := pushOf(id, id)
				if ended {
					p.Expires = time.Unix(2000, 0)
				}
				_, err := s.Put(t.Context(), p)
				return err
			}
			for _, id := range []string{"a", "b", "c"} {
				if err := put(id, true); err != nil {
					t.Errorf("put %s: %v", id, err)
				}
			}
			if _, err := s.Get(t.Context(), store.Key{Owner: "o", TaskID: "a"}, "a"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the oldest: error = %v, want ErrNotFound", err)
			}
			for _, id := range []string{"d", "e", "d"} {
				if err := put(id, false); err != nil {
					t.Errorf("put %s: %v", id, err)
				}
			}
			if err := put("f", true); !errors.Is(err, store.ErrFull) {
				t.Errorf("put f: error = %v, want ErrFull", err)
			}
			if s.Len() != 2 {
				t.Errorf("Len() = %d, want 2", s.Len())
			}
		})
	}
}

// TestPushesAreShared checks that one owner, or two or three owners together, cannot
// use all room.
func TestPushesAreShared(t *testing.T) {
	for name, options := range map[string]memory.PushOptions{
		"count": {Max: 900},
		"bytes": {MaxBytes: 900 * 600},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.NewPushes(options)
			fill := func(owner a2a.Owner) (n int) {
				for ; ; n++ {
					p := pushOf(strconv.Itoa(n), strconv.Itoa(n))
					p.Task.Owner = owner.In(strconv.Itoa(n % 3))
					switch _, err := s.Put(t.Context(), p); {
					case errors.Is(err, store.ErrFull):
						return n
					case err != nil:
						t.Fatal(err)
					}
				}
			}
			want := []int{600, 200, 66, 22}
			for i, most := range want {
				owner := a2a.Owner("owner" + strconv.Itoa(i))
				if got := fill(owner); got < most*9/10 || got > most*14/10 {
					t.Errorf("owner number %d has room for %d, want some %d", i+1, got, most)
				}
			}
		})
	}
}
