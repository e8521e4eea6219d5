// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command usertext prints the texts that users of the product read, one on a
// line, as "file:line: text", sorted by file and line.
//
//   - From the Go code that is shipped, it prints condition messages, events, errors,
//     logs, and the help of metrics and flags. "…" replaces an operand.
//   - From the API, it prints the comments of types and fields, which kubectl explain
//     shows, the comments of reasons, and the messages of CEL rules.
//   - From the chart, it prints NOTES.txt and the comments of values.yaml.
//
// It parses and does not type-check, because a linter runs it. A string of the Go code
// is a text if it is an argument of an error, log, metric or flag function, or if it
// has two words. Run it at the top of the repository.
package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// text is a text that a user reads.
type text struct {
	file string
	line int
	text string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "usertext:", err)
		os.Exit(1)
	}
}

func run() error {
	var all []text
	for _, read := range []func() ([]text, error){goTexts, apiTexts, chartTexts} {
		found, err := read()
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b text) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line)) })
	var out strings.Builder
	for _, t := range all {
		fmt.Fprintf(&out, "%s:%d: %s\n", t.file, t.line, t.text)
	}
	_, err := os.Stdout.WriteString(out.String())
	return err
}
