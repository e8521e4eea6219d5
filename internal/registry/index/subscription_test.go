// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// changingFeed is a feed whose agents a test changes.
type changingFeed struct {
	*Feed
	mu     sync.Mutex // for the reads, which may go on after publish
	agents map[Key]*Entry
}

func newChangingFeed(t *testing.T, entries ...*Entry) *changingFeed {
	t.Helper()
	f := &changingFeed{agents: map[Key]*Entry{}}
	f.Feed = NewFeed(func(_ context.Context, key Key, _ *Entry, _ Revision) (*Entry, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.agents[key], nil
	}, clock.RealClock{}, logr.Discard())
	for _, e := range entries {
		f.agents[e.Key] = e
		f.Touch(Revision{}, e.Key)
	}
	f.publish(t.Context())
	return f
}

// change replaces the entry of an agent, or removes it if next is nil, and publishes one update.
func (f *changingFeed) change(t *testing.T, key Key, next *Entry) {
	t.Helper()
	f.mu.Lock()
	f.agents[key] = next
	f.mu.Unlock()
	f.Touch(Revision{}, key)
	f.publish(t.Context())
}

func withVisibility(e *Entry, v access.Visibility) *Entry {
	next := *e
	next.Visibility = v
	return &next
}

func interestIn(t *testing.T, query string, set *access.Set) Interest {
	t.Helper()
	q, err := ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return Interest{Query: q, Set: set}
}

// isWoken reports whether a subscription is ready, and calls Take if it is.
func isWoken(s *Subscription) bool {
	select {
	case <-s.Ready():
		s.Take()
		return true
	default:
		return false
	}
}

func TestAnUpdateWakesTheReadersThatItConcerns(t *testing.T) {
	echo, writer := makeEntry(t, Key{"a", "echo"}, true, "echo"), makeEntry(t, Key{"b", "writer"}, false, "write")
	everything := access.NewSet(access.VisibilityCluster)
	var many []string
	for i := range maxIndexedTerms + 1 {
		many = append(many, fmt.Sprintf("n%d", i))
	}
	for name, test := range map[string]struct {
		interest Interest
		// echo and writer are true if a change of the agent with this name wakes the reader. public and hidden are
		// true if the reader wakes when the agent writer becomes public, and when it is hidden again.
		echo, writer, public, hidden bool
	}{
		"all agents":                        {interestIn(t, "watch=true", everything), true, true, true, true},
		"one namespace":                     {interestIn(t, "watch=true&namespace=a", everything), true, false, false, false},
		"a skill":                           {interestIn(t, "watch=true&skill=write", everything), false, true, false, false},
		"a skill and a tag of no agent":     {interestIn(t, "watch=true&skill=write&tag=none", everything), false, false, false, false},
		"a caller of one namespace":         {interestIn(t, "watch=true", access.NewSet(access.VisibilityPublic, "a")), true, false, true, true},
		"a caller of no namespace":          {interestIn(t, "watch=true", access.NewSet(access.VisibilityPublic)), false, false, true, true},
		"a caller of many namespaces":       {interestIn(t, "watch=true", access.NewSet(access.VisibilityPublic, append(many, "b")...)), false, true, false, false},
		"another namespace than the caller": {interestIn(t, "watch=true&namespace=b", access.NewSet(access.VisibilityPublic, "a")), false, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newChangingFeed(t, echo, writer)
			s := f.Subscribe(test.interest, nil)
			defer s.Close()
			for _, step := range []struct {
				what string
				next *Entry
				want bool
			}{
				{"a change of echo", makeEntry(t, echo.Key, false, "echo"), test.echo},
				{"a change of writer", makeEntry(t, writer.Key, true, "write"), test.writer},
				{"public writer", withVisibility(makeEntry(t, writer.Key, true, "write"), access.VisibilityPublic), test.public},
				{"hidden writer", withVisibility(makeEntry(t, writer.Key, true, "write"), access.VisibilityCluster), test.hidden},
			} {
				f.change(t, step.next.Key, step.next)
				if got := isWoken(s); got != step.want {
					t.Errorf("%s wakes the reader: %t, want %t", step.what, got, step.want)
				}
			}
			f.change(t, writer.Key, nil)
			if got := isWoken(s); got != test.writer {
				t.Errorf("the removal of writer wakes the reader: %t, want %t", got, test.writer)
			}
		})
	}
}

// Readers take updates at random times. Their interests are random and change. Afterwards, each
// reader has exactly the agents of the last snapshot that its interest selects.
func TestReadersThatReadRarelyMissNoChange(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	queries := []string{"watch=true", "watch=true&namespace=n1", "watch=true&skill=s1", "watch=true&skill=s2&ready=true", "watch=true&tag=none"}
	interest := func() Interest {
		least := []access.Visibility{access.VisibilityCluster, access.VisibilityFederated, access.VisibilityPublic}[random.IntN(3)]
		return interestIn(t, queries[random.IntN(len(queries))], access.NewSet(least, fmt.Sprintf("n%d", random.IntN(4))))
	}
	f := newChangingFeed(t, makeEntry(t, Key{"n0", "a"}, true, "s0"))
	type reader struct {
		*Subscription
		interest Interest
		agents   map[Key]*Entry
	}
	all := func(r *reader, u *Update) {
		r.agents = map[Key]*Entry{}
		for e := range u.Snapshot.All {
			if r.interest.Selects(e) {
				r.agents[e.Key] = e
			}
		}
	}
	var readers []*reader
	for range 20 {
		r := &reader{interest: interest()}
		r.Subscription = f.Subscribe(r.interest, nil)
		at, _ := r.Take()
		all(r, at)
		readers = append(readers, r)
	}
	follow := func(r *reader, at, until *Update) {
		for at != until {
			at = at.Next()
			for i := range at.Changes {
				switch c := &at.Changes[i]; r.interest.EffectOf(c) {
				case Upserts:
					r.agents[c.Key] = c.After
				case Removes:
					delete(r.agents, c.Key)
				case NoEffect:
				}
			}
		}
	}
	for round := range 5000 {
		key := Key{fmt.Sprintf("n%d", random.IntN(4)), fmt.Sprintf("a%d", random.IntN(5))}
		next := withVisibility(makeEntry(t, key, random.IntN(2) == 0, fmt.Sprintf("s%d", random.IntN(3))), access.Visibility(random.IntN(int(access.VisibilityPublic)+1)))
		if random.IntN(4) == 0 {
			next = nil
		}
		f.change(t, key, next)
		for _, r := range readers {
			switch random.IntN(20) {
			case 0:
				has, latest := r.Take() // without waiting for Ready, as a watch does for a bookmark
				follow(r, has, latest)
			case 1:
				r.interest = interest()
				_, latest := r.Change(r.interest)
				all(r, latest)
			default:
				if random.IntN(2) == 0 {
					continue
				}
				select {
				case <-r.Ready():
					has, latest := r.Take()
					follow(r, has, latest)
				default:
				}
			}
		}
		if round%100 != 99 {
			continue
		}
		for i, r := range readers {
			select {
			case <-r.Ready():
				has, latest := r.Take()
				follow(r, has, latest)
			default:
			}
			got := r.agents
			all(r, f.Latest())
			if len(got) != len(r.agents) {
				t.Fatalf("round %d, reader %d has %d agents, want %d", round, i, len(got), len(r.agents))
			}
			for key, e := range r.agents {
				if got[key] == nil || got[key].digest != e.digest {
					t.Fatalf("round %d, reader %d has another %v", round, i, key)
				}
			}
		}
	}
	for _, r := range readers {
		r.Close()
	}
	if n := len(f.subscriptions.byTerm) + len(f.subscriptions.unindexed); n > 0 {
		t.Errorf("%d places of closed subscriptions are left", n)
	}
	for v, left := range f.subscriptions.byVisibility {
		if len(left) > 0 {
			t.Errorf("%d closed subscriptions of visibility %d are left", len(left), v)
		}
	}
}
