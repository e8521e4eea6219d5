// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// block recognizes a part of a log that shows a failure.
type block struct {
	begins  func(line string) bool
	belongs func(line string) bool
	// most is the maximal number of lines to print.
	most int
}

var blocks = []block{
	{ // a failed test of go test, whose output follows with an indent
		begins:  func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "--- FAIL: ") },
		belongs: func(line string) bool { return strings.HasPrefix(line, " ") && !strings.Contains(line, "--- ") },
		most:    15,
	},
	{
		begins:  func(line string) bool { return strings.HasPrefix(line, "panic: ") },
		belongs: func(line string) bool { return !strings.HasPrefix(line, "FAIL") },
		most:    15,
	},
	{
		begins:  func(line string) bool { return strings.HasPrefix(line, "WARNING: DATA RACE") },
		belongs: func(line string) bool { return !strings.HasPrefix(line, "====") },
		most:    20,
	},
	{ // a package that does not compile
		begins:  func(line string) bool { return strings.HasPrefix(line, "# github.com/") },
		belongs: func(line string) bool { return strings.Contains(line, ".go:") || strings.HasPrefix(line, "\t") },
		most:    10,
	},
	{ // a failed test of Ginkgo in the log of go test
		begins:  func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "[FAILED] ") },
		belongs: func(line string) bool { return line != "" && !strings.HasPrefix(line, "----") },
		most:    12,
	},
	{
		begins:  func(line string) bool { return strings.HasPrefix(line, "FAIL\t") },
		belongs: func(string) bool { return false },
		most:    1,
	},
}

// fromLog returns the lines of a log of `go test` that show failures.
func fromLog(lines []string) []string {
	var out []string
	for i := 0; i < len(lines); i++ {
		for _, b := range blocks {
			if !b.begins(lines[i]) {
				continue
			}
			out = append(out, lines[i])
			shown := 1
			for i+1 < len(lines) && b.belongs(lines[i+1]) {
				i++
				if shown++; shown <= b.most {
					out = append(out, lines[i])
				}
			}
			break
		}
	}
	return out
}
