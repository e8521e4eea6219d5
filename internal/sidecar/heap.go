// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"math"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"sync/atomic"
	"time"
)

// A sidecar rests most of its life and shares its machine with many others: at
// rest it holds what it needs and no garbage. While it works, a heap of a few
// megabytes that may only double is collected more often than it is worth, so
// garbage may take garbageRoom then.
const (
	garbageRoom = 12 << 20
	// Percentages of garbage to what is in use. A large heap may double, as is
	// usual.
	leastGarbage, mostGarbage = 100, 400
	// restAfter is how long a sidecar must be quiet to be at rest, which is when
	// it allocates less than quiet.
	restAfter = time.Second
	quiet     = 256 << 10
	// worthwhile is the garbage for which a resting sidecar collects.
	worthwhile = 1 << 20
)

// OwnHeap has the sidecar set the pace of the garbage collector, which is the
// process's: a program that is a sidecar and nothing else calls it, before
// Serve. Who sets GOGC is obeyed, and GOMEMLIMIT is heeded all the same.
func (s *Sidecar) OwnHeap() {
	if os.Getenv("GOGC") != "" {
		return
	}
	p := &pacer{percent: mostGarbage}
	debug.SetGCPercent(p.percent)
	runtime.SetFinalizer(&cycle{p}, (*cycle).ended)
	s.heap.start(heapUse, debug.FreeOSMemory)
}

// cycle is garbage whenever it is looked at, so that the end of each collection
// is noticed.
type cycle struct{ *pacer }

func (c *cycle) ended() {
	_, used := heapUse()
	if percent := c.next(used); percent != 0 {
		debug.SetGCPercent(percent)
	}
	runtime.SetFinalizer(c, (*cycle).ended)
}

type pacer struct{ percent int }

// next returns the percentage for a heap of which so much is in use, 0 to leave
// it: a change stops the program for a moment.
func (p *pacer) next(used uint64) int {
	percent := int(min(max(100*garbageRoom/max(used, 1), leastGarbage), mostGarbage))
	if 5*percent > 4*p.percent && 4*percent < 5*p.percent {
		return 0
	}
	p.percent = percent
	return percent
}

// heapUse returns all bytes that were ever allocated, and those that the last
// collection found in use.
func heapUse() (allocated, used uint64) {
	samples := [2]runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(samples[:])
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// heap gives memory back when the sidecar rests. Nothing wakes up while it does.
type heap struct {
	use   func() (allocated, used uint64)
	free  func()
	timer *time.Timer
	// watched is true while the timer runs, which looks at the two below.
	watched            atomic.Bool
	seen, atCollection uint64
}

// start looks for rest from here on; what the start took is garbage as well.
func (h *heap) start(use func() (allocated, used uint64), free func()) {
	h.use, h.free = use, free
	h.watched.Store(true)
	h.timer = time.AfterFunc(math.MaxInt64, h.look)
	h.timer.Reset(restAfter) // not before the field is set
}

// working is told of all that makes garbage.
func (h *heap) working() {
	if h.timer != nil && !h.watched.Load() && h.watched.CompareAndSwap(false, true) {
		h.timer.Reset(restAfter)
	}
}

func (h *heap) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.working()
		next.ServeHTTP(w, r)
	})
}

func (h *heap) look() {
	allocated, used := h.use()
	recent := allocated - h.seen
	h.seen = allocated
	if recent > quiet {
		h.timer.Reset(restAfter)
		return
	}
	if allocated-h.atCollection > max(worthwhile, used/4) {
		h.free()
		h.seen, _ = h.use()
		h.atCollection = h.seen
	}
	h.watched.Store(false)
}

func (h *heap) stop() {
	if h.timer != nil {
		h.timer.Stop()
	}
}
