// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps checks the steps of an agent without code while its sidecars are killed by SIGKILL at every kind of moment, and while the model
// and the MCP server lose all connections and sessions. The model, the
// tools and the called agent know what has happened, so the checker compares what they have seen with what the client learns.
//
// docs/explanation/reliability.md has the guarantees.
package steps

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/redistest"
)

func TestMain(m *testing.M) { os.Exit(programs.Built(m, "cmd/sidecar").Run()) }

// plan is the size of a run.
type plan struct {
	// replicas is the number of sidecars with a shared store; 0 is one sidecar with tasks in memory.
	replicas    int
	tasks       int
	concurrency int
	// every is the number of tasks that end between two kills, or complete if a kill ends tasks, and kills the largest number of kills.
	every int
	kills int
	// moments are the kinds of kills.
	moments []moment
	// renames is true if some sidecars restart under a new name, so that the lease of the former one ends in its time.
	renames bool
	seed    uint64
}

// TestKills runs tasks of 1 to 20 steps while sidecars are killed. STEPS=10000 is the number of tasks for each store, and SEED another
// plan.
func TestKills(t *testing.T) {
	plans := map[string]*plan{
		"memory": {tasks: 120, concurrency: 8, every: 3, kills: len(moments), moments: moments},
		"redis":  {tasks: 80, concurrency: 24, every: 3, replicas: 2, kills: len(moments), moments: moments},
		// The last of the attempts at a turn ends while the model answers.
		"model": {tasks: 30, concurrency: 12, every: 1, replicas: 2, kills: 60, moments: []moment{modelInAnswer, modelAway}},
	}
	if n, err := strconv.Atoi(os.Getenv("STEPS")); err == nil {
		plans = map[string]*plan{
			"memory": {tasks: n, concurrency: 8, every: 12, kills: 1 << 20, moments: moments},
			"redis":  {tasks: n, concurrency: 64, every: 20, replicas: 4, kills: 1 << 20, moments: moments, renames: true},
		}
	}
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	for store, p := range plans {
		t.Run(store, func(t *testing.T) {
			if os.Getenv("STEPS") == "" {
				t.Parallel()
			}
			if _, err := redistest.Program(); err != nil && p.replicas > 0 {
				t.Fatal(err)
			}
			p.seed = seed
			run(t, p)
		})
	}
}

func run(t *testing.T, p *plan) {
	begin := time.Now()
	w := newWorld(t, p)
	var mu sync.Mutex
	ends := map[end]int{}
	var number, tasks atomic.Int64
	var group sync.WaitGroup
	for range p.concurrency {
		group.Go(func() {
			for int(tasks.Load()) < p.tasks && t.Context().Err() == nil {
				conversation := ""
				for _, s := range newScripts(p.seed, int(number.Add(1))) {
					tasks.Add(1)
					d := newDriver(w, s)
					if conversation != "" {
						d.context = conversation
					}
					how := d.drive(t.Context())
					mu.Lock()
					ends[how]++
					mu.Unlock()
					w.ended(how)
					conversation = d.context
					if how != completed {
						break
					}
				}
			}
		})
	}
	group.Wait()
	outcomes := map[string]int{}
	w.mu.Lock()
	for _, outcome := range w.seen {
		outcomes[outcome]++
	}
	calls := len(w.runs)
	w.mu.Unlock()
	t.Logf("%d tasks in %v: %v; %d calls of tools, outcomes in the model %v; %d conversations compacted; %d kills", tasks.Load(), time.Since(begin).Round(time.Second), ends, calls, outcomes, len(w.summarized), w.total())
	for _, m := range moments {
		t.Log(fmt.Sprintf("%6d kills ", w.kills[m]), m)
	}
	if w.verdict.n > 0 {
		t.Errorf("%d violations", w.verdict.n)
	}
	if ends[completed] == 0 {
		t.Error("no task completed")
	}
}
