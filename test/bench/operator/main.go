// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command operator measures the manager: its requests to the API server, the CPU time of a reconcile, and durations in
// comparison with a client that writes the same objects without reading. The control plane, the manager and the client
// run on one machine. The numbers of requests come from the audit log, so they are exact, and TestRequestsOfTheManager
// checks them.
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
	"os/signal"
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
		fmt.Fprintf(os.Stderr, "bench-operator: %v\n", err)
		os.Exit(1)
	}
}

type row struct {
	id  string
	run func(context.Context, *bench) ([]report.Result, error)
}

var rows = []row{
	{"O1", newAgents}, {"O2", resyncs}, {"O3", edits}, {"O4", floods}, {"O5", reconciles}, {"O6", memory}, {"O7", restarts}, {"O8", takeovers},
}

// bench measures rows with one control plane.
type bench struct {
	*plane
	// agents is the number of Agents in the rows about many Agents. many is the number of Agents in the largest flood.
	agents, many int
	rounds       int
	progress     io.Writer
}

func (b *bench) logf(what string, arguments ...any) {
	_, _ = fmt.Fprintf(b.progress, what+"\n", arguments...)
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	b := &bench{progress: stderr}
	var ids, form, published string
	var limit time.Duration
	flags := flag.NewFlagSet("bench-operator", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&b.agents, "agents", 1000, "number of `agents`")
	flags.IntVar(&b.many, "many", 10_000, "largest number of `agents` that are created at once")
	flags.IntVar(&b.rounds, "rounds", 3, "number of `rounds` of timed rows")
	flags.StringVar(&ids, "row", "", "the `rows` to measure, such as O1,O5 (default all)")
	flags.StringVar(&form, "o", "table", "`form` of the output: table or json")
	flags.StringVar(&published, "write", "", "`page` to write the figures to")
	flags.DurationVar(&limit, "limit", time.Hour, "`time` limit of the run")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if form != "table" && form != "json" {
		return fmt.Errorf("-o is %q, must be table or json", form)
	}
	if b.agents < 1 || b.many < b.agents || b.rounds < 1 {
		return errors.New("-agents and -rounds must be at least 1, and -many at least -agents")
	}
	chosen, err := choose(ids)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "a2a-bench-operator")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := buildManager(ctx, dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := b.measure(ctx, program, chosen)
	if err != nil && r != nil {
		return errors.Join(r.Write(stdout, form), err) // the rows before the limit of time
	}
	if err != nil {
		return err
	}
	if published != "" {
		if err := r.Publish(published, "bench-operator"); err != nil {
			return err
		}
	}
	return errors.Join(r.Write(stdout, form), r.Failed())
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

func (b *bench) measure(ctx context.Context, program string, chosen []row) (r *report.Report, err error) {
	if b.plane, err = startPlane(program); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	ids := make([]string, len(chosen))
	for i := range chosen {
		ids[i] = chosen[i].id
	}
	r = &report.Report{Subject: "operator", Rounds: b.rounds}
	err = r.Measure(ctx, ids, func(i int) ([]report.Result, error) {
		b.logf("%s", ids[i])
		results, err := chosen[i].run(ctx, b)
		if err != nil {
			b.logf("%s: %v", ids[i], err)
		}
		return results, err
	})
	return r, err
}
