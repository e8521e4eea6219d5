// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gctuning keeps a process small: it sets the pace of the garbage collector
// while there is work, and gives back at rest what the work has taken, which the
// runtime would keep. Nothing wakes up while the process rests.
//
// The collector is the process's: only a program calls Own, never a library.
package gctuning

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// Policy is what a process may keep. All sizes are in bytes.
type Policy struct {
	// Room is how much garbage there may be beside a small heap; beside a larger
	// one it is a share between LeastPercent and MostPercent of what is in use.
	Room                      uint64
	LeastPercent, MostPercent int
	// Quiet is what a process at rest may allocate in RestAfter.
	Quiet uint64
	// Worthwhile is what there must be to give back, for a collection takes time,
	// and at least one part in Parts of what is in use.
	Worthwhile, Parts uint64
}

// RestAfter is how long a process must be quiet to be at rest.
const RestAfter = time.Second

// Keeper gives memory back when the process rests.
type Keeper struct {
	policy Policy
	use    func() use
	free   func()
	timer  *time.Timer
	// watched is true while the timer runs, which looks at what is below.
	watched atomic.Bool
	seen    uint64
}

// New returns a Keeper that does nothing until Own.
func New(policy Policy) *Keeper { return &Keeper{policy: policy} }

// Own takes the collector over, and looks for rest from here on. It is called
// once, before the work begins.
func (k *Keeper) Own() {
	k.start(readUse, debug.FreeOSMemory)
	(&pacer{policy: k.policy, working: k.Working}).own()
}

func (k *Keeper) start(use func() use, free func()) {
	k.use, k.free = use, free
	k.watched.Store(true)
	k.timer = time.AfterFunc(math.MaxInt64, k.look)
	k.timer.Reset(RestAfter) // not before the field is set
}

// Working is told of work that makes garbage, since a collection, which is
// noticed, may come long after it. It costs an atomic load while there is work.
func (k *Keeper) Working() {
	if k.timer != nil && !k.watched.Load() && k.watched.CompareAndSwap(false, true) {
		k.timer.Reset(RestAfter)
	}
}

// Stop ends what Own has begun, but for the pace.
func (k *Keeper) Stop() {
	if k.timer != nil {
		k.timer.Stop()
	}
}

func (k *Keeper) look() {
	now := k.use()
	recent := now.allocated - k.seen
	k.seen = now.allocated
	if recent >= k.policy.Quiet {
		k.timer.Reset(RestAfter)
		return
	}
	if now.held > now.live+max(k.policy.Worthwhile, now.live/k.policy.Parts) {
		k.free()
		k.seen = k.use().allocated
	}
	k.watched.Store(false)
}

// use are numbers of bytes.
type use struct {
	// allocated is all that ever was.
	allocated uint64
	// live is what the last collection found in use.
	live uint64
	// held is what is in use, or could be: live, garbage, and room for more.
	held uint64
}

func readUse() use {
	samples := [4]metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples[:])
	return use{
		allocated: samples[0].Value.Uint64(), live: samples[1].Value.Uint64(),
		held: samples[2].Value.Uint64() + samples[3].Value.Uint64(),
	}
}
