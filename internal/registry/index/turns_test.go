// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"runtime"
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

// hostileFeed runs a feed that calls read before it reads an agent of a namespace other than "good". It must be called in a bubble of synctest.
func hostileFeed(t *testing.T, read func(Key)) *Feed {
	t.Helper()
	f := NewFeed(func(_ context.Context, key Key, _ *Entry, at Revision) (*Entry, error) {
		if key.Namespace != "good" {
			read(key)
		}
		return &Entry{Key: key, Visibility: access.VisibilityCluster, Revision: at}, nil
	}, clock.RealClock{}, logr.Discard())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return f
}

// agentsOf returns agents of hostile namespaces.
func agentsOf(namespaces, agents int) []Key {
	var keys []Key
	for n := range namespaces {
		for i := range agents {
			keys = append(keys, Key{fmt.Sprintf("bad-%02d", n), fmt.Sprintf("a%03d", i)})
		}
	}
	return keys
}

// Reads that do not end delay no other namespace, nor do they begin without a bound, whether the namespaces change at once or one by one.
func TestReadsThatDoNotEndDelayNoOthers(t *testing.T) {
	const namespaces = 6
	for name, test := range map[string]struct {
		agents  int
		atOnce  bool
		maximum int
	}{
		"at once":            {20, true, namespaces},
		"one by one":         {20, false, namespaces},
		"at once, many":      {100, true, namespaces + runtime.GOMAXPROCS(0) - 1},
		"one by one, many":   {2 * parallelReads, false, namespaces + runtime.GOMAXPROCS(0) - 1},
		"one agent for each": {1, true, namespaces},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				release := sync.OnceFunc(func() { close(released) })
				defer release()
				var begun atomic.Int64
				f := hostileFeed(t, func(Key) {
					begun.Add(1)
					<-released
				})
				bad := agentsOf(namespaces, test.agents)
				good := 0
				for changed := range slices.Chunk(bad, test.agents) {
					if test.atOnce {
						changed = bad
					}
					f.Touch(Revision{Agents: 1}, changed...)
					good++
					key := Key{"good", changed[0].Namespace + fmt.Sprint(good)}
					f.Touch(Revision{Agents: uint64(1 + good)}, key)
					if took := awaitEntry(t, f, key, true); took > batchInterval+2*batchTime {
						t.Errorf("beside %d reads that do not end, another namespace's change is visible after %s", begun.Load(), took)
					}
				}
				time.Sleep(time.Second)
				if n := begun.Load(); n < namespaces || n > int64(test.maximum) {
					t.Errorf("%d reads of %d namespaces that do not end have begun, want at most %d", n, namespaces, test.maximum)
				}
				if r := f.Current().Revision(); r.Agents != 0 {
					t.Errorf("revision %v while the first change is not read, want 0", r)
				}
				release()
				if _, ok := f.AwaitRevision(t.Context(), Revision{Agents: uint64(1 + good)}); !ok || f.Current().size != good+len(bad) {
					t.Errorf("%d of %d agents after all changes", f.Current().size, good+len(bad))
				}
			})
		})
	}
}

// Namespaces whose reads are quick between those that take long delay no other namespace.
func TestReadsThatSometimesTakeLongDelayNoOthers(t *testing.T) {
	const namespaces = 6
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		f := hostileFeed(t, func(Key) {
			if reads.Add(1)%5 != 0 {
				time.Sleep(3 * time.Second)
			}
		})
		for i := range 100 {
			f.Touch(Revision{Agents: 1}, agentsOf(namespaces, 50)...)
			time.Sleep(time.Duration(i) * time.Millisecond)
			key := Key{"good", fmt.Sprint(i)}
			f.Touch(Revision{Agents: 1}, key)
			if took := awaitEntry(t, f, key, true); took > 2*(batchInterval+batchTime) {
				t.Errorf("another namespace's change is visible after %s, after %d reads of hostile ones", took, reads.Load())
			}
		}
	})
}

// While no read can begin, the feed makes no snapshots.
func TestNoSnapshotsWhileNoReadCanBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := make(chan struct{})
		release := sync.OnceFunc(func() { close(released) })
		defer release()
		f := hostileFeed(t, func(Key) { <-released })
		bad := agentsOf(100, 1)
		f.Touch(Revision{Agents: 1}, bad...)
		time.Sleep(time.Minute)
		before := f.Current()
		time.Sleep(time.Minute)
		if f.Current() != before {
			t.Error("another snapshot while nothing has changed")
		}
		release()
		if _, ok := f.AwaitRevision(t.Context(), Revision{Agents: 1}); !ok || f.Current().size != len(bad) {
			t.Errorf("%d of %d agents after all changes", f.Current().size, len(bad))
		}
	})
}

// After a read of which the time was over, those of the same namespace fail at once, and those of other ones have their time.
func TestLateReadFailsNoReadOfAnotherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed(func(ctx context.Context, key Key, _ *Entry, at Revision) (*Entry, error) {
			answer := time.Millisecond
			if key.Name == "hangs" {
				answer = time.Hour
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(answer):
				return &Entry{Key: key, Visibility: access.VisibilityCluster, Revision: at}, nil
			}
		}, clock.RealClock{}, logr.Discard())
		f.publish(t.Context())
		publish := func(keys ...Key) *Snapshot {
			f.Touch(Revision{Agents: 1}, keys...)
			f.publish(t.Context())
			return f.Current()
		}
		publish(Key{"bad", "hangs"})
		time.Sleep(readTimeout)
		synctest.Wait()
		f.ended = append(f.ended, <-f.readings)
		s := publish(Key{"bad", "a"}, Key{"good", "b"})
		if s.Get(Key{"bad", "a"}) != nil || s.Get(Key{"good", "b"}) == nil {
			t.Errorf("the agent beside the late one is there: %t, that of another namespace: %t", s.Get(Key{"bad", "a"}) != nil, s.Get(Key{"good", "b"}) != nil)
		}
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
