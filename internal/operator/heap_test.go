// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGarbageForWhatIsInUse(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 200, 8 << 20: 200, 16 << 20: 150, 24 << 20: 100, 25 << 20: 75, 48 << 20: 50, 1 << 30: 50,
	} {
		if got := garbageFor(live); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", live>>20, got, want)
		}
	}
}

func TestRestingManagerGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		use := heapUse{live: 16 << 20, held: 16 << 20}
		var freed int
		var percents []int
		h := &heap{
			use:     func() heapUse { mu.Lock(); defer mu.Unlock(); return use },
			percent: func(p int) int { percents = append(percents, p); return 0 },
			free:    func() { mu.Lock(); defer mu.Unlock(); freed++; use.held = use.live },
		}
		done := make(chan error)
		go func() { done <- h.Start(ctx) }()
		// Half a look later than each look.
		time.Sleep(lookEvery / 2)
		for _, step := range []struct {
			what                        string
			allocates, live, held, want uint64
		}{
			{"nothing to give back", 0, 16 << 20, 18 << 20, 0},
			{"at work", quiet, 16 << 20, 64 << 20, 0},
			{"at rest", quiet - 1, 16 << 20, 64 << 20, 1},
			{"still at rest", quiet - 1, 16 << 20, 17 << 20, 1},
			{"too little of a large heap", 0, 256 << 20, 280 << 20, 1},
			{"enough of a large heap", 0, 256 << 20, 300 << 20, 2},
		} {
			mu.Lock()
			use.allocated += step.allocates
			use.live, use.held = step.live, step.held
			mu.Unlock()
			time.Sleep(lookEvery)
			synctest.Wait()
			mu.Lock()
			if freed != int(step.want) {
				t.Errorf("%s: given back %d times, want %d", step.what, freed, step.want)
			}
			mu.Unlock()
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if len(percents) != 2 || percents[0] != 150 || percents[1] != 50 {
			t.Errorf("percents %v, want 150 and 50", percents)
		}
	})
}
