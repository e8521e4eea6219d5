// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// longQuietPeriod is how long no write may happen after an undisturbed run of the whole campaign.
const longQuietPeriod = time.Minute

// tally counts the runs of a campaign.
type tally struct {
	ran, met atomic.Int32
}

// runEverywhere runs each workload in parallel, once for each plan, or for every nth plan in the
// short form. disturb reports whether the fault met a request.
func runEverywhere(t *testing.T, nth int, plans func(reference) []string, disturb func(*testing.T, workload, reference, int) bool) {
	t.Helper()
	var count tally
	t.Run("workloads", func(t *testing.T) {
		for n, w := range workloads {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				want := runReference(t, w)
				for i, name := range plans(want) {
					// The workloads of the short form begin at different plans.
					if !full && (i+2*n)%nth != 0 {
						continue
					}
					t.Run(name, func(t *testing.T) {
						count.ran.Add(1)
						if disturb(t, w, want, i) {
							count.met.Add(1)
						}
					})
				}
			})
		}
	})
	t.Logf("%d plans, of which %d met a request", count.ran.Load(), count.met.Load())
	if count.met.Load() == 0 && !t.Failed() {
		t.Error("no plan met a request")
	}
}

// runFaults disturbs every write of each workload or, if reads is true, every request. Each run has one of the faults
// at one request.
func runFaults(t *testing.T, faults []fault, reads bool, nth int) {
	t.Helper()
	runEverywhere(t, nth, func(want reference) []string {
		count := want.writes
		if reads {
			count = want.requests
		}
		var names []string
		for at := range count {
			for _, f := range faults {
				names = append(names, fmt.Sprintf("%s %d", f, at))
			}
		}
		return names
	}, func(t *testing.T, w workload, want reference, i int) bool {
		b := newBench(t, w.namespace())
		b.prepare(w, want.made)
		first := b.transport
		first.arm(plan{fault: faults[i%len(faults)], at: i / len(faults), reads: reads})
		if err := w.act(t.Context(), b.user); err != nil {
			t.Fatal(err)
		}
		b.waitForEnd(want.state)
		b.expectQuiet(want.state, quietPeriod())
		return first.hitBy() != ""
	})
}

// TestCrashAtEveryWrite is the campaign "crash" of docs/explanation/reliability.md.
func TestCrashAtEveryWrite(t *testing.T) {
	runFaults(t, []fault{crashBefore, crashAfter}, false, 13)
}

// TestEveryRequestFails is the campaign "failure" of docs/explanation/reliability.md.
func TestEveryRequestFails(t *testing.T) {
	runFaults(t, []fault{conflict, throttled, broken, lost}, true, 41)
}
