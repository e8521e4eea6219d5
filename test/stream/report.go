// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of a run.
type report struct {
	Scenario string    `json:"scenario"`
	Store    string    `json:"store"`
	Seed     uint64    `json:"seed"`
	Date     time.Time `json:"date"`
	Cores    int       `json:"cores"`
	Took     float64   `json:"seconds"`
	// Tally has the counts of the run, and Findings its measurements.
	Tally    tally     `json:"tally"`
	Findings []finding `json:"findings,omitempty"`
	// Failed holds the tasks that violate a rule.
	Failed []failedTask `json:"failed,omitempty"`
}

// finding is a measurement with its limit.
type finding struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// wrong returns a text for each finding that exceeds its limit and for each violation.
func (r *report) wrong() []string {
	var all []string
	for _, f := range r.Findings {
		if !f.OK {
			all = append(all, fmt.Sprintf("%s: %s, want %s", f.What, f.Got, f.Want))
		}
	}
	for _, each := range r.Failed {
		for _, v := range each.Violations {
			all = append(all, fmt.Sprintf("task %s: %v", each.Task.ID, v))
		}
	}
	return all
}

// write writes the report as text or JSON.
func (r *report) write(w io.Writer, form string) error {
	if form == "json" {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what, value string) { _, _ = fmt.Fprintf(t, "%s\t%s\n", what, value) }
	row("run", fmt.Sprintf("%s, store %s, seed %d, %s, %d cores, %.0f s", r.Scenario, r.Store, r.Seed, r.Date.Format(time.DateOnly), r.Cores, r.Took))
	n := &r.Tally
	if n.Tasks > 0 {
		row("tasks", fmt.Sprintf("%d: %s; the slowest took %v", n.Tasks, joinCounts(n.Ends), n.Slowest.Round(100*time.Millisecond)))
		row("events in logs", fmt.Sprintf("%d, counted where the log was read after the end", n.Events))
	}
	row("events that readers saw", fmt.Sprint(n.Seen))
	row("streams", fmt.Sprintf("%s; %s", joinCounts(n.Openings), joinCounts(n.Streams)))
	if n.disconnects()+n.Pauses > 0 {
		row("disconnects", fmt.Sprintf("%d: %s; %d readers that paused", n.disconnects(), joinCounts(n.Disconnects), n.Pauses))
	}
	if n.SidecarKills+n.AgentKills > 0 {
		row("SIGKILL", fmt.Sprintf("%d of a sidecar, %d of the agent; %d streams cut or refused because of them", n.SidecarKills, n.AgentKills, n.Cuts))
	}
	if n.Rechecked > 0 {
		row("tasks read again at the end", fmt.Sprint(n.Rechecked))
	}
	for _, f := range r.Findings {
		verdict := "kept"
		if !f.OK {
			verdict = "EXCEEDED"
		}
		row(f.What, fmt.Sprintf("%s (want %s): %s", f.Got, f.Want, verdict))
	}
	rules := map[string]int{}
	for _, each := range r.Failed {
		for _, v := range each.Violations {
			rules[string(v.Rule)]++
		}
	}
	if len(rules) == 0 {
		row("violations", "0: none lost, repeated or reordered, one end each, one order for all")
	} else {
		row("violations", fmt.Sprintf("of %d tasks: %s", len(r.Failed), joinCounts(rules)))
	}
	return t.Flush()
}

// joinCounts lists counts.
func joinCounts(counts map[string]int) string {
	all := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%d %s", counts[name], name))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func newReport(scenario, store string, seed uint64, begin time.Time) *report {
	return &report{Scenario: scenario, Store: store, Seed: seed, Date: begin.UTC(), Cores: runtime.NumCPU()}
}

func (r *report) addFinding(what string, ok bool, want, got string) {
	r.Findings = append(r.Findings, finding{what, want, got, ok})
}
