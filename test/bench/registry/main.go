// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command registry measures the registry of the manager: a real manager process, beside an API server in memory
// that holds many Agents, and real HTTP from this process. CPU time counts, because the load comes from the same
// machine. Peers are lower bounds: a static HTTP server, a raw fan-out, a bare list, and the manager without the
// registry.
//
// docs/reference/benchmarks.md describes the rows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench-registry: %v\n", err)
		os.Exit(1)
	}
}

// plan holds the sizes and durations of a run.
type plan struct {
	rounds int
	// many and few are numbers of Agents.
	many, few int
	// watchers is the number of watches that are open at one replica at the same time.
	watchers int
	// window is the duration of one measurement.
	window time.Duration
	// steady is the duration for which reviews are counted.
	steady time.Duration
}

var (
	long  = plan{rounds: 5, many: 100_000, few: 10_000, watchers: 9000, window: 3 * time.Second, steady: time.Minute}
	short = plan{rounds: 1, many: 2000, few: 1000, watchers: 50, window: 300 * time.Millisecond, steady: time.Second}
)

type row struct {
	id  string
	run func(context.Context, *bench) ([]report.Result, error)
}

var rows = []row{
	{"R1", searches}, {"R2", latencies}, {"R3", watches}, {"R4", heap}, {"R5", updates}, {"R6", coldStarts}, {"R8", accessReviews}, {"R9", rankedSearches},
}

// commands are the programs that the benchmark runs, as paths in the module.
var commands = []string{"cmd/manager", "test/bench/registry/static", "test/bench/registry/barelist", "test/bench/registry/rawwatch"}

const module = "github.com/a2a-operator/a2a-operator"

// build builds the programs into a directory, and returns a function that returns the file of a program.
func build(ctx context.Context, dir string) (program func(name string) string, err error) {
	arguments := []string{"build", "-trimpath", "-o", dir + string(filepath.Separator)}
	for _, command := range commands {
		arguments = append(arguments, path.Join(module, command))
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // like the images
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("build the programs: %w", err)
	}
	return func(name string) string { return filepath.Join(dir, name) }, nil
}

type options struct {
	short                 bool
	rounds, many          int
	rows, form, published string
	profiles              string
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench-registry", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "fewer Agents and shorter rounds; the figures are not for publication")
	flags.IntVar(&o.rounds, "rounds", 0, "number of `rounds` (default 5, short 1)")
	flags.IntVar(&o.many, "agents", 0, "largest number of `agents` (default 100000, short 2000)")
	flags.StringVar(&o.rows, "row", "", "the `rows` to measure, such as R1,R6 (default all)")
	flags.StringVar(&o.form, "o", "table", "`form` of the output: table or json")
	flags.StringVar(&o.published, "write", "", "`page` to write the figures to")
	flags.StringVar(&o.profiles, "profile", "", "`directory` for CPU profiles of the manager in R1, R3, R6 and R9; the figures are then not for publication")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if o.form != "table" && o.form != "json" {
		return fmt.Errorf("-o is %q, must be table or json", o.form)
	}
	chosen, err := choose(o.rows)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "a2a-bench-registry")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := build(ctx, dir)
	if err != nil {
		return err
	}
	b := &bench{plan: long, dir: dir, program: program, progress: stderr}
	if o.short {
		b.plan = short
	}
	if o.rounds > 0 {
		b.rounds = o.rounds
	}
	if o.many > 0 {
		b.many = o.many
	}
	if b.profiles = o.profiles; o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return err
		}
	}
	r, err := b.measure(ctx, chosen)
	if err != nil && r != nil {
		return errors.Join(r.Write(stdout, o.form), err) // the rows before the limit of time
	}
	if err != nil {
		return err
	}
	if o.published != "" {
		if err := r.Publish(o.published, "bench-registry"); err != nil {
			return err
		}
	}
	return errors.Join(r.Write(stdout, o.form), r.Failed())
}

// choose returns the rows with the given ids, in the order of the table.
func choose(ids string) ([]row, error) {
	if ids == "" {
		return rows, nil
	}
	wanted := strings.Split(ids, ",")
	for _, id := range wanted {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.id == id }) {
			return nil, fmt.Errorf("-row is %q: unknown row %q", ids, id)
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !slices.Contains(wanted, r.id) }), nil
}
