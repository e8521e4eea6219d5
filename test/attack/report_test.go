// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// row has the figures of one attack.
type row struct {
	program, attack, attempts string
	requests, refused         int
	quiet, p99                time.Duration
	// most and after are the memory during and after the attack, in bytes.
	most, after int64
	kills       int64
	verdict     string
}

var reported struct {
	mu   sync.Mutex
	rows []row
}

func report(t *testing.T, r row) {
	t.Helper()
	reported.mu.Lock()
	defer reported.mu.Unlock()
	reported.rows = append(reported.rows, r)
	t.Logf("%s", r)
}

// String returns the row of a Markdown table.
func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %d, %d refused | %s, quiet %s, %.1f x | %d, %d MiB | %d | %s |",
		r.program, r.attack, r.attempts, r.requests, r.refused, brief(r.p99), brief(r.quiet), float64(r.p99)/float64(max(r.quiet, 1)),
		r.most>>20, r.after>>20, r.kills, strings.ReplaceAll(r.verdict, "|", "/"))
}

func brief(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }

// writeReport writes the rows of a run to the file that ATTACK_REPORT names.
func writeReport() error {
	file := os.Getenv("ATTACK_REPORT")
	if file == "" || len(reported.rows) == 0 {
		return nil
	}
	var text strings.Builder
	text.WriteString("| program | attack | attempts | well-behaved client | p99 | memory during, after | kills | result |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range reported.rows {
		fmt.Fprintln(&text, r)
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}
