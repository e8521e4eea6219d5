// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/test/stream/client"
	"github.com/a2a-operator/a2a-operator/test/stream/history"
)

// counts are of everything that was done and seen.
type counts struct {
	mu sync.Mutex
	tally
}

// tally is what a report tells.
type tally struct {
	Tasks int `json:"tasks"`
	// Ends are tasks by how they ended; "forgotten" are those that died with
	// what their sidecar knew.
	Ends map[string]int `json:"ends"`
	// Events are those in the logs of the tasks, and Seen those that readers
	// got.
	Events int `json:"events"`
	Seen   int `json:"seen"`
	// Streams are those that were read, by dialect, and Openings by how they
	// began.
	Streams  map[string]int `json:"streams"`
	Openings map[string]int `json:"openings"`
	// Disconnects are connections that readers broke, by how.
	Disconnects map[string]int `json:"disconnects"`
	// Rests are readers that did not read for a while.
	Rests int `json:"rests"`
	// Cuts are streams that faults of servers cut off or refused.
	Cuts int `json:"cuts"`
	// SidecarKills and AgentKills were SIGKILL.
	SidecarKills int `json:"sidecarKills"`
	AgentKills   int `json:"agentKills"`
	// Slowest is how long the slowest task took, with all who read it.
	Slowest time.Duration `json:"slowest"`
	// Kept are tasks that were read once more at the end of the run.
	Kept int `json:"kept"`
}

func newCounts() *counts {
	return &counts{tally: tally{Ends: map[string]int{}, Streams: map[string]int{}, Openings: map[string]int{}, Disconnects: map[string]int{}}}
}

func (c *counts) leg(l *history.Leg, m *mishap) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Streams[l.Dialect]++
	c.Openings[string(l.Opening)]++
	c.Seen += len(l.Events)
	switch {
	case m == nil || len(l.Events) < m.after:
	case m.breaks == "":
		c.Rests++
	case l.Broken:
		c.Disconnects[string(m.breaks)]++
	}
	if !l.Broken && (l.Outcome == history.Cut || l.Outcome == history.Unavailable) {
		c.Cuts++
	}
}

// task counts one that is over.
func (c *counts) task(t *history.Task) {
	end, events := "forgotten", 0
	for i := range t.Legs {
		l := &t.Legs[i]
		for j := range l.Events {
			if l.Events[j].Terminal() {
				end = l.Events[j].State
			}
		}
		if l.Client == history.Audit {
			events = max(events, len(l.Events))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Tasks++
	c.Ends[end]++
	c.Events += events
}

func (c *counts) took(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Slowest = max(c.Slowest, d)
}

func (c *counts) add(to *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*to++
}

// now returns what was counted up to now.
func (c *counts) now() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally
	t.Ends, t.Streams = maps.Clone(t.Ends), maps.Clone(t.Streams)
	t.Openings, t.Disconnects = maps.Clone(t.Openings), maps.Clone(t.Disconnects)
	return t
}

func (t *tally) disconnects() int {
	n := 0
	for _, how := range client.Breakages {
		n += t.Disconnects[string(how)]
	}
	return n
}
