// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command failures prints the failed tests of a CI run and their output, from the log of a step and from the
// JUnit report of the end-to-end suite.
//
//	failures [--lines n] log... report.xml...
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	limit := flag.Int("lines", 60, "print at most this many lines")
	flag.Parse()
	if err := run(flag.Args(), *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(files []string, limit int) error {
	var found, tail []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // the step did not run
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if strings.HasSuffix(file, ".xml") {
			report, err := fromReport(text)
			if err != nil {
				return err
			}
			found = append(found, report...)
			continue
		}
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		found = append(found, fromLog(lines)...)
		tail = append(tail, lines...)
	}
	if len(found) == 0 { // a linter, a build or another command failed, and no test
		if len(tail) > limit {
			tail = tail[len(tail)-limit:]
		}
		found = tail
	}
	for _, line := range shorten(found, limit) {
		fmt.Println(line)
	}
	return nil
}

// shorten shortens lines and their number, and reports what it left out.
func shorten(lines []string, limit int) []string {
	const width = 400
	out := make([]string, 0, min(len(lines), limit+1))
	for i, line := range lines {
		if i == limit {
			return append(out, fmt.Sprintf("... and %d more lines; the step's log has them all", len(lines)-limit))
		}
		if len(line) > width {
			line = strings.ToValidUTF8(line[:width], "") + "..."
		}
		out = append(out, line)
	}
	return out
}
