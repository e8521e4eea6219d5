// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ranking

import (
	"math/rand/v2"
	"testing"
)

// The first thing is the one with the largest number, while things are added, changed and removed at random.
func TestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := New(func(a, b *int) bool { return *a > *b })
	places := map[*int]*Place[*int]{}
	for range 10_000 {
		var some *int
		for some = range places {
			break
		}
		switch kind := random.IntN(3); {
		case kind == 0 || some == nil:
			added := new(int)
			*added = random.IntN(100)
			places[added] = r.Add(added)
		case kind == 1:
			*some = random.IntN(100)
			r.Moved(places[some])
		default:
			r.Remove(places[some])
			delete(places, some)
		}
		largest := -1
		for value := range places {
			largest = max(largest, *value)
		}
		if largest >= 0 && *r.First() != largest {
			t.Fatalf("the first one is %d, want %d", *r.First(), largest)
		}
	}
}
