// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Nearly all that a manager has in use are its caches, which live as long as it
// does, and most of the time it has little to do. So it collects as soon as there
// is half as much garbage, or garbageRoom beside small caches; and at rest it
// gives back what it needed while it worked, which the runtime would keep.
const (
	garbageRoom               = 24 << 20
	leastGarbage, mostGarbage = 50, 200
	// A manager is at rest when it allocates less than quiet from one look to
	// the next: renewals of its lease, a page of metrics.
	lookEvery = time.Second
	quiet     = 1 << 20
	// worthwhile is what there must be to give back, or an eighth of what is in
	// use, which is what a collection costs time for.
	worthwhile = 4 << 20
)

// heap sets the pace of the garbage collector, which is the process's.
type heap struct {
	use     func() heapUse
	percent func(int) int
	free    func()
}

var (
	_ manager.Runnable               = (*heap)(nil)
	_ manager.LeaderElectionRunnable = (*heap)(nil)
)

func newHeap() *heap {
	return &heap{use: readHeapUse, percent: debug.SetGCPercent, free: debug.FreeOSMemory}
}

// heapUse are numbers of bytes.
type heapUse struct {
	// allocated is all that ever was.
	allocated uint64
	// live is what the last collection found in use.
	live uint64
	// held is what is in use, or could be: live, garbage, and room for more.
	held uint64
}

func readHeapUse() heapUse {
	samples := [4]runtimemetrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	runtimemetrics.Read(samples[:])
	return heapUse{
		allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(),
		held: samples[2].Value.Uint64() + samples[3].Value.Uint64(),
	}
}

// NeedLeaderElection has those that wait to lead do the same.
func (h *heap) NeedLeaderElection() bool { return false }

// Start looks after the heap until the context ends.
func (h *heap) Start(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	last, percent := h.use(), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := h.use()
		if next := garbageFor(now.live); next != percent {
			h.percent(next)
			percent = next
		}
		if now.allocated-last.allocated < quiet && now.held > now.live+max(worthwhile, now.live/8) {
			h.free()
			now = h.use()
		}
		last = now
	}
}

// garbageFor is how much garbage there may be beside so much in use, in percent
// of it and in steps: each change stops the program for a moment.
func garbageFor(live uint64) int {
	const step = 25
	percent := int(min(100*garbageRoom/max(live, 1), mostGarbage))
	return max(percent/step*step, leastGarbage)
}
