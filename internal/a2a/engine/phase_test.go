// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTransitionsAreUnambiguous(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Transitions() {
		pair := row.Event + ", " + row.From
		if seen[pair] {
			t.Errorf("two rows have the event and the phase %q", pair)
		}
		seen[pair] = true
	}
	for e := range phaseEventCount {
		if e.String() == "" {
			t.Errorf("event %d has no name", e)
		}
	}
	for p := phaseUnread; p < phaseCount; p++ {
		if p.String() == "" {
			t.Errorf("phase %d has no name", p)
		}
	}
}

// TestPageShowsTheTransitions compares the tables of the page with the code.
func TestPageShowsTheTransitions(t *testing.T) {
	const path = "../../../docs/explanation/replicas.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| event | from | to | effect |\n|---|---|---|---|\n")
	for _, row := range transitions {
		var from []string
		for _, p := range row.from {
			from = append(from, p.String())
		}
		fmt.Fprintf(&want, "| %s | %s | %s | %s |\n", row.event, strings.Join(from, ", "), row.to, row.effect)
	}
	if !strings.Contains(string(page), "\n\n"+want.String()+"\n") {
		t.Errorf("%s does not have this table of transitions:\n%s", path, want.String())
	}
	for p := phaseUnread; p < phaseCount; p++ {
		if !strings.Contains(string(page), "\n| **"+p.String()+"** |") {
			t.Errorf("%s does not describe the phase %q", path, p)
		}
	}
}
