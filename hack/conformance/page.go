// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// clients is the matrix that the interop suite writes.
type clients struct {
	Operations []string `json:"operations"`
	Rows       []struct {
		Client   string            `json:"client"`
		Protocol string            `json:"protocol"`
		Binding  string            `json:"binding"`
		Cells    map[string]string `json:"cells"`
	} `json:"rows"`
	Failures []struct {
		Client    string `json:"client"`
		Operation string `json:"operation"`
		Reason    string `json:"reason"`
	} `json:"failures"`
}

func readMatrix(path string) (*clients, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read matrix: %w", err)
	}
	c := &clients{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("read matrix: %w", err)
	}
	return c, nil
}

const head = `# Conformance

This page lists the requirements on the wire protocol, the tests that check them, the operations that the official clients can do, and the
results of the conformance suite of the A2A project. ` + "`make conformance`" + ` runs the tests and writes the page. ` + "`make verify`" + ` fails if
the page lists a test that does not exist, or does not list an existing test.

`

const matrixHead = `
## Operations of the official clients

The official clients call a sidecar in front of a small agent. Each client starts from the agent card.

- ok: the client completed the operation with the expected result.
- none: the client does not have the operation.
- [n]: the client fails; the list below the table has the reason.

The suite fails if a result differs from this table. Without node and npm, or without Python 3.11, it skips the JavaScript or the
Python clients and reports that. The Python clients send a credential that the card requires, in each row a bearer token and an API key.

`

func render(tests map[int][]test, results map[test]string, c *clients, a *acts) []byte {
	var out bytes.Buffer
	out.WriteString(head)
	out.WriteString("| line | requirement | tests | result |\n|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&out, "| [%d](#line-%d) | %s | %d | %s |\n", l.number, l.number, l.requirement, len(tests[l.number]), outcome(tests[l.number], results))
	}
	c.render(&out)
	a.render(&out)
	out.WriteString("\n## The tests of each line\n")
	for _, l := range lines {
		fmt.Fprintf(&out, "\n### Line %d\n\n%s\n", l.number, l.requirement)
		if l.notRun != "" {
			fmt.Fprintf(&out, "\nNot run: %s\n", l.notRun)
		}
		if len(tests[l.number]) == 0 {
			out.WriteString("\nNo test.\n")
			continue
		}
		out.WriteString("\n")
		for _, t := range tests[l.number] {
			fmt.Fprintf(&out, "- %s: `%s` in `%s`\n", resultOf(t, results), t.name, t.folder)
		}
	}
	return out.Bytes()
}

func resultOf(t test, results map[test]string) string {
	if r := results[t]; r != "" {
		return r
	}
	return "not run"
}

// outcome returns the worst result of the tests, or "no test".
func outcome(tests []test, results map[test]string) string {
	if len(tests) == 0 {
		return "no test"
	}
	worst := "pass"
	rank := map[string]int{"pass": 0, "skip": 1, "not run": 2, "fail": 3}
	for _, t := range tests {
		if r := resultOf(t, results); rank[r] > rank[worst] {
			worst = r
		}
	}
	return worst
}

func (c *clients) render(out *bytes.Buffer) {
	out.WriteString(matrixHead)
	out.WriteString("| client | protocol | binding |")
	for _, o := range c.Operations {
		fmt.Fprintf(out, " %s |", o)
	}
	out.WriteString("\n|---|---|---|" + string(bytes.Repeat([]byte("---|"), len(c.Operations))) + "\n")
	for _, row := range c.Rows {
		fmt.Fprintf(out, "| %s | %s | %s |", row.Client, row.Protocol, row.Binding)
		for _, o := range c.Operations {
			cell := row.Cells[o]
			if n := c.failure(row.Client+", "+row.Protocol+", "+row.Binding, o); n > 0 {
				cell = fmt.Sprintf("[%d]", n)
			}
			fmt.Fprintf(out, " %s |", cell)
		}
		out.WriteString("\n")
	}
	if len(c.Failures) == 0 {
		return
	}
	out.WriteString("\n")
	for i, f := range c.Failures {
		fmt.Fprintf(out, "%d. %s, %s: %s\n", i+1, f.Client, f.Operation, f.Reason)
	}
}

func (c *clients) failure(client, operation string) int {
	for i, f := range c.Failures {
		if f.Client == client && f.Operation == operation {
			return i + 1
		}
	}
	return 0
}
