// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report describes what a benchmark measured, on which machine, and whether the figures meet their
// goals.
package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
)

// Report is the result of a run.
type Report struct {
	// Subject is the measured program.
	Subject string  `json:"subject"`
	Machine Machine `json:"machine"`
	Rounds  int     `json:"rounds"`
	// Window is the duration of one measurement; "" if the measurement ends by itself.
	Window  string   `json:"window,omitempty"`
	Results []Result `json:"results"`
}

// Machine describes the machine and the time of a run.
type Machine struct {
	CPU    string    `json:"cpu"`
	Cores  int       `json:"cores"`
	Kernel string    `json:"kernel"`
	Go     string    `json:"go"`
	Commit string    `json:"commit"`
	Date   time.Time `json:"date"`
	// Others is the share of the machine that other programs used, from 0 to 1.
	Others float64 `json:"others"`
}

// Describe describes this machine.
func Describe(now time.Time) Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), Go: runtime.Version(), Date: now.UTC().Truncate(time.Second)}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(text))
	}
	return m
}

// quiet is the largest share of other programs at which measured durations are valid.
const quiet = 0.05

// Measure runs rows in their order. It discards the durations of a row if other programs used too much of the machine
// during the row. Programs of a row that still run at its end count as other programs. If a row fails, Measure adds the
// failure to the table and runs the next row. At the end of ctx, it returns the cause, and the table has the rows before.
func (r *Report) Measure(ctx context.Context, rows []string, run func(i int) ([]Result, error)) error {
	begin := time.Now()
	before, err := process.MachineUsage()
	if err != nil {
		return err
	}
	r.Machine = Describe(begin)
	last, then := before, begin
	var ended error
	for i, row := range rows {
		results, err := run(i)
		if ctx.Err() != nil {
			ended = fmt.Errorf("%s: %w", row, errors.Join(context.Cause(ctx), err))
			break
		}
		if err != nil {
			results = []Result{{Failure: err.Error()}}
		}
		usage, err := process.MachineUsage()
		if err != nil {
			return err
		}
		now := time.Now()
		for j := range results {
			results[j].Row = row
			judge(&results[j], r.share(usage.Others(last), now.Sub(then)))
		}
		last, then = usage, now
		r.Results = append(r.Results, results...)
	}
	r.Machine.Others = r.share(last.Others(before), then.Sub(begin))
	return ended
}

// share returns a CPU time as a share of the CPU time that all cores have in a duration.
func (r *Report) share(used, of time.Duration) float64 {
	return used.Seconds() / (max(of, time.Nanosecond).Seconds() * float64(r.Machine.Cores))
}

// judge records the share of the machine that other programs used. On a busy machine, it removes the verdict on a
// duration.
func judge(r *Result, others float64) {
	r.Others = others
	if r.Clock && others > quiet {
		r.Met = nil
	}
}

// Failed returns an error that names the rows that were not measured, or nil.
func (r *Report) Failed() error {
	var rows []string
	for _, each := range r.Results {
		if each.Failure != "" {
			rows = append(rows, each.Row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return fmt.Errorf("not measured: %s", strings.Join(rows, ", "))
}

// Write writes the report as a table or as JSON.
func (r *Report) Write(w io.Writer, form string) error {
	switch form {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	case "table":
		return r.table(w)
	}
	return fmt.Errorf("form is %q, must be table or json", form)
}

func (r *Report) header() []string {
	return []string{"", "what", r.Subject, "peer", "peer's", "ratio", "goal", "met"}
}

func (r Result) cells() []string {
	if r.Failure != "" {
		return []string{r.Row, "not measured: " + inCell(r.Failure), "", "", "", "", "", ""}
	}
	cells := []string{r.Row, r.What, number(r.Ours) + " " + r.Unit, r.Peer, "", "", r.Goal, ""}
	if r.Peer != "" {
		cells[4] = number(r.Theirs)
		cells[5] = fmt.Sprintf("%s (%s to %s)", number(r.Ratio), number(r.Least), number(r.Most))
	}
	switch {
	case r.Met != nil:
		cells[7] = map[bool]string{true: "yes", false: "no"}[*r.Met]
	case r.Goal != "" && r.Clock && r.Others > quiet:
		cells[7] = "too busy to tell"
	case r.Goal != "":
		cells[7] = "cannot tell"
	}
	return cells
}

// inCell escapes and shortens a text for a cell of a table.
func inCell(text string) string {
	const most = 200
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// number formats a number with three significant digits.
func number(f float64) string {
	switch {
	case f >= 100 || f <= -100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10 || f <= -10:
		return fmt.Sprintf("%.1f", f)
	case f >= 0.1 || f <= -0.1 || f == 0:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.2g", f)
}

func (r *Report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, strings.Join(r.header(), "\t"))
	for _, each := range r.Results {
		_, _ = fmt.Fprintln(t, strings.Join(each.cells(), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.circumstances())
	return err
}

func (r *Report) circumstances() string {
	m := r.Machine
	rounds := fmt.Sprintf("%d rounds", r.Rounds)
	if r.Window != "" {
		rounds += " of " + r.Window
	}
	return fmt.Sprintf("%s, commit %s, %s. %s, %d cores, Linux %s, %s. Other programs used %.0f %% of the machine.",
		m.Date.Format("2006-01-02 15:04 UTC"), m.Commit, rounds, m.CPU, m.Cores, m.Kernel, m.Go, m.Others*100)
}

// The figures of a page are between these lines. The first line names the make target that writes them.
const (
	pageBegin = "<!-- figures: make %s -->\n"
	pageEnd   = "<!-- end of figures -->"
)

// Publish replaces the figures of the target on a page.
func (r *Report) Publish(file, target string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	pageBegin := fmt.Sprintf(pageBegin, target)
	before, rest, begins := strings.Cut(string(text), pageBegin)
	_, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		return fmt.Errorf("publish: %s lacks the lines %q and %q", file, strings.TrimSpace(pageBegin), pageEnd)
	}
	var page strings.Builder
	page.WriteString(before + pageBegin + r.circumstances() + "\n\n")
	page.WriteString("|" + strings.Join(r.header(), " | ") + " |\n|" + strings.Repeat("---|", len(r.header())) + "\n")
	for _, each := range r.Results {
		page.WriteString("| " + strings.Join(each.cells(), " | ") + " |\n")
	}
	page.WriteString(pageEnd + after)
	return os.WriteFile(file, []byte(page.String()), 0o644)
}
