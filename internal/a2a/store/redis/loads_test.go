// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redis_test

import (
	"errors"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
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
