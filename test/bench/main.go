// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the sidecar and its peers: the reverse proxy of the standard library, and the official Go server
// of A2A. Each measurement starts a new process of the server. It measures CPU time, because the load comes from the same
// machine. Each round measures all peers one after another, and figures are compared by round.
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

	"github.com/a2a-operator/a2a-operator/test/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

type options struct {
	short               bool
	rounds              int
	rows, form          string
	profiles, published string
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.short, "short", false, "fewer and shorter rounds; the figures are not for publication")
	flags.IntVar(&o.rounds, "rounds", 0, "number of `rounds` (default 5, short 3)")
	flags.StringVar(&o.rows, "row", "", "the `rows` to measure, such as S1,S2b (default all)")
	flags.StringVar(&o.form, "o", "table", "`form` of the output: table or json")
	flags.StringVar(&o.profiles, "profile", "", "`directory` for CPU profiles of the sidecar; profiling costs some CPU time")
	flags.StringVar(&o.published, "write", "", "`page` to write the figures to")
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
	r, err := o.measure(ctx, chosen, stderr)
	if err != nil && r != nil {
		return errors.Join(r.Write(stdout, o.form), err) // the rows before the limit of time
	}
	if err != nil {
		return err
	}
	if o.published != "" {
		if err := r.Publish(o.published, "bench"); err != nil {
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

func (o *options) measure(ctx context.Context, chosen []row, progress io.Writer) (*report.Report, error) {
	dir, err := os.MkdirTemp("", "a2a-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	servers, err := build(ctx, dir)
	if err != nil {
		return nil, err
	}
	if servers.profiles = o.profiles; o.profiles != "" {
		if err := os.MkdirAll(o.profiles, 0o755); err != nil {
			return nil, err
		}
	}
	b := &bench{plan: long, servers: servers, progress: progress}
	if o.short {
		b.plan = short
	}
	if o.rounds > 0 {
		b.rounds = o.rounds
	}
	ids := make([]string, len(chosen))
	for i := range chosen {
		ids[i] = chosen[i].id
	}
	r := &report.Report{Subject: "sidecar", Rounds: b.rounds, Window: b.window.String()}
	err = r.Measure(ctx, ids, func(i int) ([]report.Result, error) {
		b.row = ids[i]
		results, err := chosen[i].run(ctx, b)
		if err != nil {
			_, _ = fmt.Fprintf(progress, "%s: %v\n", b.row, err)
		}
		return results, err
	})
	return r, err
}
