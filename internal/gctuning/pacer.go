// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gctuning

import (
	"runtime"
	"runtime/debug"
)

// pacer sets after each collection how much garbage the next one waits for.
type pacer struct {
	policy  Policy
	working func()
	percent int
}

func (p *pacer) own() {
	p.percent = p.policy.MostPercent
	debug.SetGCPercent(p.percent)
	runtime.SetFinalizer(&cycle{p}, (*cycle).ended)
}

// cycle is garbage whenever it is looked at, so that the end of each collection
// is noticed.
type cycle struct{ *pacer }

func (c *cycle) ended() {
	if percent := c.next(readUse().live); percent != 0 {
		debug.SetGCPercent(percent)
	}
	c.working()
	runtime.SetFinalizer(c, (*cycle).ended)
}

// most is more than any policy allows.
const most = 10_000

// next returns the percentage for a heap of which so much is in use, 0 to leave
// it: a change stops the program for a moment.
func (p *pacer) next(live uint64) int {
	share := int(min(100*p.policy.Room/max(live, 1), most))
	percent := min(max(share, p.policy.LeastPercent), p.policy.MostPercent)
	if 5*percent > 4*p.percent && 4*percent < 5*p.percent {
		return 0
	}
	p.percent = percent
	return percent
}
