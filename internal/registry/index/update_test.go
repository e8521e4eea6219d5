// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// startFeed runs a feed whose state the test sets. It must be called in a bubble of synctest.
func startFeed(t *testing.T) (feed *Feed, set func(version uint64, e *Entry), remove func(version uint64, key Key)) {
	t.Helper()
	state := make(map[Key]*Entry)
	f := NewFeed(func(_ context.Context, key Key, _ *Entry, _ Revision) (*Entry, error) { return state[key], nil }, clock.RealClock{}, logr.Discard())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	settle := func() { time.Sleep(2 * batchInterval); synctest.Wait() }
	return f, func(version uint64, e *Entry) {
			e.Revision = Revision{Agents: version, ConfigMaps: version}
			state[e.Key] = e
			f.Touch(e.Revision, e.Key)
			settle()
		}, func(version uint64, key Key) {
			delete(state, key)
			f.Withdrawn(Revision{Agents: version}, access.VisibilityCluster, key)
			settle()
		}
}

func TestSinceReturnsChangesAndRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, set, remove := startFeed(t)
		time.Sleep(2 * missedQuiet)
		set(1, makeEntry(t, Key{"ns", "a"}, true))
		set(2, makeEntry(t, Key{"ns", "b"}, true))
		at := f.Latest().Revision()
		set(3, makeEntry(t, Key{"ns", "c"}, true))
		remove(4, Key{"ns", "a"})
		changed, removed, ok := f.Latest().Since(at)
		if got := fmt.Sprint(keysOf(changed), removed, ok); got != "[ns/c] [{{ns a} 0 4-3}] true" {
			t.Errorf("Since(%s) = %s, want c, the removal of a", at, got)
		}
		if _, _, ok := f.Latest().Since(Revision{Agents: 9}); ok {
			t.Error("Since() of a revision that the replica has not reached")
		}
		if _, _, ok := f.Latest().Since(Revision{}); ok {
			t.Error("Since() of a revision before the replica started")
		}
	})
}

// After the informer has lost its watch, the revision of a missed removal is unknown. Readers
// cannot resume until the revision advances more than missedQuiet later.
func TestSinceIsUnknownAfterMissedRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, set, _ := startFeed(t)
		time.Sleep(2 * missedQuiet)
		set(5, makeEntry(t, Key{"ns", "a"}, true))
		set(6, makeEntry(t, Key{"ns", "b"}, true))
		known := func(version uint64) bool {
			_, _, ok := f.Latest().Since(Revision{Agents: version, ConfigMaps: version})
			return ok
		}
		if !known(6) {
			t.Fatal("a reader cannot resume before a removal was missed")
		}
		f.Missed(Key{"ns", "a"})
		set(7, makeEntry(t, Key{"ns", "c"}, true)) // may be older than the removal
		if known(6) || known(7) {
			t.Error("a reader resumes right after a removal was missed")
		}
		time.Sleep(2 * missedQuiet)
		set(8, makeEntry(t, Key{"ns", "d"}, true))
		if known(7) || !known(8) {
			t.Errorf("after the revision advanced: resumes at 7: %t, at 8: %t; want only 8", known(7), known(8))
		}
	})
}

func TestSinceDropsOldRemovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, set, remove := startFeed(t)
		time.Sleep(2 * missedQuiet)
		set(1, makeEntry(t, Key{"ns", "a"}, true))
		for i := range uint64(maxRemovals + 1) {
			f.Withdrawn(Revision{Agents: 2 + i}, access.VisibilityCluster, Key{"ns", fmt.Sprint(i)})
		}
		remove(maxRemovals+5, Key{"ns", "a"})
		if n := len(f.Latest().removals); n > maxRemovals {
			t.Errorf("%d removals in memory, want at most %d", n, maxRemovals)
		}
		if _, _, ok := f.Latest().Since(Revision{Agents: 1, ConfigMaps: 1}); ok {
			t.Error("a reader resumes at a revision whose removals are forgotten")
		}
	})
}

func TestAwaitRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, set, _ := startFeed(t)
		go func() { time.Sleep(time.Second); set(7, makeEntry(t, Key{"ns", "a"}, true)) }()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if s, ok := f.AwaitRevision(ctx, Revision{Agents: 7}); !ok || s.Get(Key{"ns", "a"}) == nil {
			t.Error("AwaitRevision() did not return the snapshot of the revision")
		}
		if _, ok := f.AwaitRevision(ctx, Revision{Agents: 8}); ok {
			t.Error("AwaitRevision() of a revision that is not reached: true")
		}
	})
}
