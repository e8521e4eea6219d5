// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPaceOfTheCollector(t *testing.T) {
	p := &pacer{percent: mostGarbage}
	for _, step := range []struct {
		used uint64
		want int // 0: as it is
	}{
		{0, 0}, {3 << 20, 0}, {6 << 20, 200}, {7 << 20, 0}, {20 << 20, leastGarbage}, {1 << 30, 0}, {2 << 20, 400},
	} {
		if got := p.next(step.used); got != step.want {
			t.Errorf("%d MiB in use: %d %%, want %d", step.used>>20, got, step.want)
		}
	}
}

func TestRestingSidecarGivesMemoryBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated, used, freed, looks atomic.Uint64
		h := &heap{}
		h.working() // before it has a timer
		h.start(func() (uint64, uint64) { looks.Add(1); return allocated.Load(), used.Load() }, func() { freed.Add(1) })
		defer h.stop()
		pass := func(d time.Duration) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
		}
		allocated.Store(4 << 20)
		pass(restAfter)
		if freed.Load() != 0 {
			t.Error("collected while at work")
		}
		pass(restAfter)
		if freed.Load() != 1 {
			t.Errorf("collected %d times after a rest, want once", freed.Load())
		}
		looks.Store(0)
		pass(time.Hour)
		if looks.Load() != 0 {
			t.Errorf("looked %d times at rest", looks.Load())
		}
		// Little garbage is left; a large heap is collected for much only.
		for _, step := range []struct{ allocates, used, want uint64 }{
			{512 << 10, 0, 1}, {768 << 10, 0, 2}, {2 << 20, 64 << 20, 2}, {15 << 20, 64 << 20, 3},
		} {
			allocated.Add(step.allocates)
			used.Store(step.used)
			h.working()
			h.working()
			pass(3 * restAfter)
			if freed.Load() != step.want {
				t.Errorf("%d KiB allocated, %d MiB in use: collected %d times, want %d", step.allocates>>10, step.used>>20, freed.Load(), step.want)
			}
		}
	})
}
