// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// numbered returns a snapshot of agents without texts, which have the revisions 1 to n.
func numbered(n int) *Snapshot {
	changes := make(map[Key]*Entry, n)
	for i := range n {
		key := Key{fmt.Sprintf("team-%02d", i%50), fmt.Sprintf("agent-%06d", i)}
		changes[key] = &Entry{Key: key, Revision: Revision{Agents: uint64(i + 1), ConfigMaps: uint64(n - i)}}
	}
	return withEntries(&Snapshot{}, changes)
}

func TestEntriesSinceARevisionAreThoseThatItDoesNotInclude(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := numbered(5 * blockCapacity)
	last := uint64(s.size)
	for step := range 200 {
		changes := map[Key]*Entry{}
		for range random.IntN(4) {
			i := random.IntN(s.size + 20)
			key := Key{fmt.Sprintf("team-%02d", i%50), fmt.Sprintf("agent-%06d", i)}
			last++
			if changes[key] = (&Entry{Key: key, Revision: Revision{Agents: last, ConfigMaps: uint64(random.IntN(int(last)))}}); random.IntN(3) == 0 {
				changes[key] = nil
			}
		}
		s = withEntries(s, changes)
		r := Revision{Agents: last - uint64(random.IntN(10)), ConfigMaps: uint64(random.IntN(int(last)))}
		var want, got []string
		for e := range s.All {
			if !r.Includes(e.Revision) {
				want = append(want, e.Key.Namespace+"/"+e.Key.Name)
			}
		}
		for e := range s.since(r) {
			got = append(got, e.Key.Namespace+"/"+e.Key.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d: entries since %s (-want +got):\n%s", step, r, diff)
		}
	}
}

// BenchmarkSince100k measures the read of 20 changes among 100,000 agents by a reader that
// resumes. all/since is the time to compare all agents divided by the time of the read.
func BenchmarkSince100k(b *testing.B) {
	s := numbered(100_000)
	r := Revision{Agents: 100_000, ConfigMaps: 100_000}
	changes := map[Key]*Entry{}
	for i := range 20 {
		key := Key{fmt.Sprintf("team-%02d", i), fmt.Sprintf("agent-%06d", i*4999)}
		changes[key] = &Entry{Key: key, Revision: Revision{Agents: 100_001, ConfigMaps: 1}}
	}
	s = withEntries(s, changes)
	count := func(found int) {
		if found != len(changes) {
			b.Fatalf("%d entries, want %d", found, len(changes))
		}
	}
	compare(b, "since", func() {
		n := 0
		for range s.since(r) {
			n++
		}
		count(n)
	}, "all", func() {
		n := 0
		for e := range s.All {
			if !r.Includes(e.Revision) {
				n++
			}
		}
		count(n)
	})
}
