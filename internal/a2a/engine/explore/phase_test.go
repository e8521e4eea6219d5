// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"slices"
	"sync"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/engine"
	"github.com/a2a-operator/a2a-operator/internal/a2a/store"
)

// transitions is the engine's table of transitions, with the number of moves for each row.
type transitions struct {
	mu    sync.Mutex
	taken map[engine.Transition]int
}

func newTransitions() *transitions {
	t := &transitions{taken: map[engine.Transition]int{}}
	for _, row := range engine.Transitions() {
		row.Effect = ""
		t.taken[row] = 0
	}
	return t
}

// take counts a move of a task, and returns false if the table does not have it.
func (table *transitions) take(m engine.Transition) bool {
	table.mu.Lock()
	defer table.mu.Unlock()
	_, ok := table.taken[m]
	if ok {
		table.taken[m]++
	}
	return ok
}

// beyondScenarios contains the moves for which the scenarios have no request, agent or third
// replica. The tests of the engine make most of them.
var beyondScenarios = []string{
	"accept input, resuming", "retry, running", // answers of the agent
	"begin, ended", "next, ended", "read, ended", "find holder, ended", "find orphan, ended", // restarts
	"next, running",                                                    // a wait in memory
	"read, elsewhere", "read end, elsewhere", "find orphan, elsewhere", // a second request at the same time
	"begin, unread", "end, unread", "refuse, running", // more than one fault
}

// checkTaken checks that the executions took every other row.
func (table *transitions) checkTaken(t *testing.T) {
	t.Helper()
	table.mu.Lock()
	defer table.mu.Unlock()
	for row, n := range table.taken {
		if n == 0 && !slices.Contains(beyondScenarios, row.Event+", "+row.From) {
			t.Errorf("no execution took the transition %q from %q to %q", row.Event, row.From, row.To)
		}
	}
}

// moved records a move of a task at a replica. The move must be in the table, and must begin in
// the phase in which the former move ended, or in unread if the replica has begun to use the task again.
func (o *observations) moved(table *transitions, replica int, k store.Key, m engine.Transition) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !table.take(m) {
		o.problemf("replica %d: the table of transitions does not have %q from %q to %q", replica, m.Event, m.From, m.To)
	}
	phases := o.phases[replica]
	if was := phases[k]; m.From != was && m.From != "unread" {
		o.problemf("replica %d: %q moves task %s from %q, and its phase was %q", replica, m.Event, k.TaskID, m.From, was)
	}
	phases[k] = m.To
}
