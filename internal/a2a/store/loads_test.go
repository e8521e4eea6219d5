// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// Readers that keep what they read leave memory to others, also with one task that needs all of it.
func TestReadersThatKeepTasksLeaveMemoryToOthers(t *testing.T) {
	const kib = 1 << 10
	for _, size := range []int64{300 * kib, 5000 * kib} {
		t.Run(fmt.Sprint(size/kib, " KiB"), inBubble(func(t *testing.T) {
			loads := store.NewLoads(800 * kib)
			first := loads.Reader("alice")
			if err := store.ReserveLoad(first.InWhole(t.Context()), size); err != nil {
				t.Fatal(err)
			}
			if err := store.ReserveLoad(loads.Reader("bob").In(t.Context()), 300*kib); err != nil {
				t.Errorf("%d KiB are kept, and another reader gets %v", size/kib, err)
			}
			second := loads.Reader("carol")
			refusal, ok := errors.AsType[*a2a.Error](store.ReserveLoad(second.InWhole(t.Context()), size))
			if !ok || refusal.RetryAfter == 0 {
				t.Errorf("another reader that keeps tasks gets %v, want a refusal for now", refusal)
			}
			first.Release()
			second.Release()
			if err := store.ReserveLoad(second.InWhole(t.Context()), size); err != nil {
				t.Errorf("after the release: %v", err)
			}
			refusal, ok = errors.AsType[*a2a.Error](store.ReserveLoad(second.InWhole(t.Context()), kib))
			if !ok || !strings.Contains(refusal.Message, "refer to fewer tasks") || refusal.RetryAfter != 0 {
				t.Errorf("a second task: %v, want a final refusal", refusal)
			}
		}))
	}
}

// A refused read counts for nothing when it is tried again.
func TestRefusedReadIsNotCounted(t *testing.T) {
	inBubble(func(t *testing.T) {
		const kib = 1 << 10
		loads := store.NewLoads(800 * kib)
		reserve := func(r *store.Reader, size int64) error { return store.ReserveLoad(r.In(t.Context()), size) }
		first, second, third := loads.Reader("alice"), loads.Reader("bob"), loads.Reader("carol")
		if err := errors.Join(reserve(first, 300*kib), reserve(second, 200*kib)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := reserve(third, 200*kib); err == nil {
				t.Fatal("a third reader gets more than there is")
			}
		}
		second.Release()
		if err := reserve(third, 200*kib); err != nil {
			t.Errorf("with enough memory: %v", err)
		}
	})(t)
}

func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}
