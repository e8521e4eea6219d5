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

// counts collects the figures of a run. It is safe for concurrent use.
type counts struct {
	mu sync.Mutex
	tally
}

// tally contains the counts of a report.
type tally struct {
	Tasks int `json:"tasks"`
	// Ends counts tasks by their final state. "forgotten" counts the tasks that were lost with the memory of a sidecar.
	Ends map[string]int `json:"ends"`
	// Events is the number of events in the logs of the tasks, and Seen the number that readers received.
	Events int `json:"events"`
	Seen   int `json:"seen"`
	// Streams counts the streams by dialect, and Openings by the kind of their request.
	Streams  map[string]int `json:"streams"`
	Openings map[string]int `json:"openings"`
	// Disconnects counts the connections that readers broke, by the kind of the breakage.
	Disconnects map[string]int `json:"disconnects"`
	// Pauses counts the readers that stopped reading for a while.
	Pauses int `json:"pauses"`
	// Cuts counts the streams that a fault of a server broke or refused.
	Cuts int `json:"cuts"`
	// SidecarKills and AgentKills count the processes that were ended by SIGKILL.
	SidecarKills int `json:"sidecarKills"`
	AgentKills   int `json:"agentKills"`
	// LostWithStore counts the tasks that ended after a backup of the store, and are not found or have failed after its
	// restore.
	LostWithStore int `json:"lostWithStore,omitempty"`
	// Slowest is the longest duration of a task, with all its readers.
	Slowest time.Duration `json:"slowest"`
	// Rechecked counts the tasks that were read again at the end of the run.
	Rechecked int `json:"rechecked"`
}

func newCounts() *counts {
	return &counts{tally: tally{Ends: map[string]int{}, Streams: map[string]int{}, Openings: map[string]int{}, Disconnects: map[string]int{}}}
}

func (c *counts) addStream(l *history.Stream, m *clientFault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Streams[l.Dialect]++
	c.Openings[string(l.Opening)]++
	c.Seen += len(l.Events)
	switch {
	case m == nil || len(l.Events) < m.after:
	case m.breakage == "":
		c.Pauses++
	case l.Broken:
		c.Disconnects[string(m.breakage)]++
	}
	if !l.Broken && (l.Outcome == history.Cut || l.Outcome == history.Unavailable) {
		c.Cuts++
	}
}

// addTask counts a task that has ended.
func (c *counts) addTask(t *history.Task) {
	end, events := "forgotten", 0
	for i := range t.Streams {
		l := &t.Streams[i]
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

func (c *counts) addDuration(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Slowest = max(c.Slowest, d)
}

func (c *counts) increment(to *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*to++
}

// snapshot returns a copy of the figures.
func (c *counts) snapshot() tally {
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
