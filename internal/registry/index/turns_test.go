// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// slowRead is how long the read of a hostile agent takes in these tests.
const slowRead = 27 * time.Millisecond

// hostileKeys returns the agents of the namespace of hostileNamespace.
func hostileKeys(n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = Key{hostileNamespace, fmt.Sprintf("a%03d", i)}
	}
	return keys
}

const hostileNamespace = "hostile"

// slowFeed runs a feed that reads the agents of hostileNamespace slowly. It must be called in a bubble of synctest.
func slowFeed(t *testing.T) (f *Feed, remove func(Key)) {
	t.Helper()
	var removed sync.Map
	f = NewFeed(func(_ context.Context, key Key, _ *Entry, at Revision) (*Entry, error) {
		if key.Namespace == hostileNamespace {
			time.Sleep(slowRead)
		}
		if _, isRemoved := removed.Load(key); isRemoved {
			return nil, nil
		}
		return &Entry{Key: key, Visibility: access.VisibilityCluster, Revision: at}, nil
	}, clock.RealClock{}, logr.Discard())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return f, func(key Key) { removed.Store(key, true) }
}

// awaitEntry returns the time until the feed has an agent, or has it no more.
func awaitEntry(t *testing.T, f *Feed, key Key, want bool) time.Duration {
	t.Helper()
	began := time.Now()
	for (f.Current().Get(key) != nil) != want {
		if time.Since(began) > time.Minute {
			t.Fatalf("%v is not there after a minute, or not gone", key)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

func TestChangesOfOneNamespaceDelayNoOthers(t *testing.T) {
	const hostile = 200
	synctest.Test(t, func(t *testing.T) {
		f, _ := slowFeed(t)
		good := Key{"team-a", "good"}
		f.Touch(Revision{Agents: 1}, good)
		alone := awaitEntry(t, f, good, true)
		f.Touch(Revision{Agents: 2}, hostileKeys(hostile)...)
		time.Sleep(2 * batchInterval)
		late := Key{"team-z", "good"}
		f.Touch(Revision{Agents: 3}, late)
		if took := awaitEntry(t, f, late, true); took > alone+100*time.Millisecond {
			t.Errorf("beside %d changes that take %s each, another namespace's change is visible after %s; alone after %s", hostile, slowRead, took, alone)
		}
		if s := f.Current(); s.Revision().Agents != 1 || s.RevisionOf(hostileNamespace).Agents != 1 {
			t.Errorf("revision %v, and %v of the namespace, while older changes are not read, want 1", s.Revision(), s.RevisionOf(hostileNamespace))
		}
		began := time.Now()
		s, ok := f.AwaitRevisionOf(t.Context(), late.Namespace, Revision{Agents: 3})
		if took := time.Since(began); !ok || s.Get(late) == nil || took > alone+100*time.Millisecond {
			t.Errorf("another namespace reaches its revision after %s: %t", took, ok)
		}
		if _, ok := f.AwaitRevision(t.Context(), Revision{Agents: 3}); !ok || f.Current().size != hostile+2 {
			t.Errorf("%d of %d agents after all changes", f.Current().size, hostile+2)
		}
		securitypage.Attempts(t, "T-INDEX", hostile)
	})
}

// Reads that do not end delay no other namespace, nor do they begin without a bound.
func TestReadsThatDoNotEndDelayNoOthers(t *testing.T) {
	const hostile = 20
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var begun atomic.Int64
		f := NewFeed(func(_ context.Context, key Key, _ *Entry, at Revision) (*Entry, error) {
			if key.Namespace != "good" {
				begun.Add(1)
				<-release
			}
			return &Entry{Key: key, Visibility: access.VisibilityCluster, Revision: at}, nil
		}, clock.RealClock{}, logr.Discard())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		synctest.Wait()
		var good, bad int
		for _, namespace := range []string{"bad-1", "bad-2"} {
			for i := range hostile {
				bad++
				f.Touch(Revision{Agents: 1}, Key{namespace, fmt.Sprintf("a%03d", i)})
			}
			good++
			key := Key{"good", namespace}
			f.Touch(Revision{Agents: uint64(1 + good)}, key)
			if took := awaitEntry(t, f, key, true); took > 5*batchTime {
				t.Errorf("beside %d reads that do not end, another namespace's change is visible after %s", begun.Load(), took)
			}
		}
		time.Sleep(time.Second)
		if n := begun.Load(); n != 2 {
			t.Errorf("%d reads of two namespaces that do not end have begun", n)
		}
		if r := f.Current().Revision(); r.Agents != 0 {
			t.Errorf("revision %v while the first change is not read, want 0", r)
		}
		close(release)
		last := Revision{Agents: uint64(1 + good)}
		if _, ok := f.AwaitRevision(t.Context(), last); !ok || f.Current().size != good+bad {
			t.Errorf("%d of %d agents after all changes", f.Current().size, good+bad)
		}
		cancel()
		<-done
	})
}

// An agent that is withdrawn while an older state of it is being read is removed, and readers that resume learn of it.
func TestAgentIsWithdrawnWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, remove := slowFeed(t)
		key := hostileKeys(1)[0]
		f.Touch(Revision{Agents: 1, ConfigMaps: 1}, key)
		awaitEntry(t, f, key, true)
		time.Sleep(2 * missedQuiet)
		f.Touch(Revision{Agents: 2, ConfigMaps: 2}, key)
		f.AwaitRevision(t.Context(), Revision{Agents: 2, ConfigMaps: 2})
		seen := f.Current().Revision()
		f.Touch(Revision{Agents: 3, ConfigMaps: 2}, key)
		time.Sleep(batchInterval + slowRead*9/10) // the read has begun, and does not see what follows
		f.Withdrawn(Revision{Agents: 4, ConfigMaps: 2}, access.VisibilityCluster, key)
		time.Sleep(slowRead / 5)
		remove(key)
		f.Withdrawn(Revision{Agents: 5, ConfigMaps: 2}, access.VisibilityCluster, key)
		f.AwaitRevision(t.Context(), Revision{Agents: 5, ConfigMaps: 2})
		_, removed, ok := f.Latest().Since(seen)
		if f.Current().Get(key) != nil || !ok || !slices.ContainsFunc(removed, func(r Removal) bool { return r.Key == key }) {
			t.Errorf("Since(%s) = %v, %t, want the removal of %v", seen, removed, ok, key)
		}
	})
}

// The words of a large entry are found when it is read, and not when it is published.
func TestWordsOfLargeEntriesAreFoundByReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed(func(_ context.Context, key Key, _ *Entry, _ Revision) (*Entry, error) {
			return describedEntry(t, key, madeUp(0, 2000)), nil
		}, clock.RealClock{}, logr.Discard())
		f.publish(t.Context())
		key := Key{"team", "large"}
		f.Touch(Revision{Agents: 1}, key)
		f.enqueue(f.take())
		done := f.readAll(t.Context(), f.Current(), Revision{Agents: 1}, false)
		if len(done.changes) != 1 || len(done.words[key]) < 2000 {
			t.Fatalf("%d changes, %d words", len(done.changes), len(done.words[key]))
		}
		f.vocabulary.after(done.changes, done.words)
		if n := len(f.vocabulary.words); n < maxOwnWords {
			t.Errorf("the vocabulary has %d words", n)
		}
	})
}

// A tenant that changes its agents all the time does not hold back the revision for longer than one round takes.
func TestRevisionFollowsEndlessChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _ := slowFeed(t)
		hostile := hostileKeys(50)
		var version atomic.Uint64
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				f.Touch(Revision{Agents: version.Add(1)}, hostile...)
				time.Sleep(7 * time.Millisecond)
			}
		}()
		for range 5 {
			want := Revision{Agents: version.Load()}
			began := time.Now()
			if _, ok := f.AwaitRevision(ctx, want); !ok || time.Since(began) > 2*time.Duration(len(hostile)+5)*slowRead {
				t.Errorf("revision %v after %s: %t", want, time.Since(began), ok)
			}
		}
		cancel()
		<-ended
	})
}

// A reader that has a later revision from another replica learns of a removal that this replica saw while its revision was held back.
func TestRemovalsBesideUnreadChangesAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, remove := slowFeed(t)
		good := Key{"team-a", "good"}
		other := Key{"team-b", "other"}
		f.Touch(Revision{Agents: 1, ConfigMaps: 1}, good, other)
		awaitEntry(t, f, other, true)
		time.Sleep(2 * missedQuiet)
		f.Touch(Revision{Agents: 2, ConfigMaps: 2}, other)
		time.Sleep(2 * batchInterval)
		f.Touch(Revision{Agents: 10, ConfigMaps: 2}, hostileKeys(100)...)
		time.Sleep(2 * batchInterval)
		elsewhere := Revision{Agents: 20, ConfigMaps: 2}
		f.Touch(elsewhere, other)
		remove(good)
		f.Withdrawn(Revision{Agents: 21}, access.VisibilityCluster, good)
		awaitEntry(t, f, good, false)
		if f.Current().Revision().Includes(elsewhere) {
			t.Fatal("the revision is not held back")
		}
		f.AwaitRevision(t.Context(), Revision{Agents: 21})
		_, removed, ok := f.Latest().Since(elsewhere)
		if !ok || !slices.ContainsFunc(removed, func(r Removal) bool { return r.Key == good }) {
			t.Errorf("Since(%s) = %v, %t, want the removal of %v", elsewhere, removed, ok, good)
		}
	})
}

// Large agents that change at once make several updates, so that a reader that takes each one is never too far behind.
func TestUpdatesOfManyLargeChangesAreBounded(t *testing.T) {
	const agents, size = 60, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed(func(_ context.Context, key Key, _ *Entry, at Revision) (*Entry, error) {
			return &Entry{Key: key, Revision: at, body: make([]byte, size)}, nil
		}, clock.RealClock{}, logr.Discard())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); f.Run(ctx) }()
		synctest.Wait()
		at := f.Latest()
		f.Touch(Revision{Agents: 1, ConfigMaps: 1}, hostileKeys(agents)...)
		if _, ok := f.AwaitRevision(t.Context(), Revision{Agents: 1, ConfigMaps: 1}); !ok {
			t.Error("the revision is not reached")
		}
		changes := 0
		for at != f.Latest() {
			next := at.Next()
			changes += len(next.Changes)
			if held := next.Bytes - at.Bytes; held > MaxHeld/2 {
				t.Errorf("an update of %d agents holds %d MiB", len(next.Changes), held>>20)
			}
			at = next
		}
		if changes != agents {
			t.Errorf("%d changes, want %d", changes, agents)
		}
		securitypage.Attempts(t, "T-INDEX", agents)
		cancel()
		<-done
	})
}
