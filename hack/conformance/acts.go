// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// acts are the results of ACTS, which test/acts writes.
type acts struct {
	Tests   int         `json:"tests"`
	Rows    []actsRow   `json:"rows"`
	Skipped []actsGroup `json:"skipped"`
	Failed  []actsGroup `json:"failed"`
}

// actsRow counts the tests of a binding in a pass.
type actsRow struct {
	Pass    string `json:"pass"`
	Binding string `json:"binding"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
}

// actsGroup are tests of a pass with the same reason.
type actsGroup struct {
	Pass   string   `json:"pass"`
	Reason string   `json:"reason"`
	Tests  []string `json:"tests"`
}

func readACTS(path string) (*acts, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results of ACTS: %w", err)
	}
	a := &acts{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("read results of ACTS: %w", err)
	}
	return a, nil
}

const actsHead = `
## The conformance suite of the A2A project

ACTS (A2A Conformance Test Suite) is a draft suite of the A2A project in the form of data. ` + "`test/acts`" + ` runs its %d tests against a sidecar
over each binding of a test, in three passes. The client of ` + "`kubectl a2a`" + ` reads the responses of the tests for clients, once.

- all capabilities: a standalone sidecar with push notifications and an extended card. It also admits callers without a credential.
- reduced capabilities: a sidecar without push notifications, extended card and credentials.
- authentication enforced: the sidecar of a pod, which admits only callers with a token of its namespace.

The test fails if a test of level MUST fails, or if the results differ from this section. This repository does not contain the suite. The
environment variable ` + "`ACTS`" + ` names its directory; without the suite, the test skips and prints that.

| pass | binding | passed | failed | skipped |
|---|---|---|---|---|
`

func (a *acts) render(out *bytes.Buffer) {
	fmt.Fprintf(out, actsHead, a.Tests)
	for _, r := range a.Rows {
		fmt.Fprintf(out, "| %s | %s | %d | %d | %d |\n", r.Pass, r.Binding, r.Passed, r.Failed, r.Skipped)
	}
	list(out, "No test of level MUST fails. These tests of level SHOULD or MAY fail:", a.Failed)
	list(out, "These tests are skipped over each of their bindings:", a.Skipped)
}

// list writes a table of groups, and nothing if there is none. Passes with the same group share a row.
func list(out *bytes.Buffer, title string, groups []actsGroup) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n\n| pass | tests | reason |\n|---|---|---|\n", title)
	for i, g := range groups {
		same := func(other actsGroup) bool { return other.Reason == g.Reason && slices.Equal(other.Tests, g.Tests) }
		if slices.ContainsFunc(groups[:i], same) {
			continue
		}
		var passes []string
		for _, other := range groups[i:] {
			if same(other) {
				passes = append(passes, other.Pass)
			}
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", strings.Join(passes, ", "), strings.Join(g.Tests, ", "), g.Reason)
	}
}
