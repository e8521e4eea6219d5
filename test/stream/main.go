// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command stream checks the streams of the sidecar as its clients see them.
// Clients of every dialect write down what they get, while their connections,
// the agent and the sidecars are broken; then a checker that knows nothing else
// (test/stream/history) says whether any of it was lost, repeated or reordered.
//
// docs/reliability.md says what is promised, and how the scenarios show it.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "stream: %v\n", err)
		os.Exit(1)
	}
}

// settings are what scenarios work with.
type settings struct {
	// dir has the programs.
	dir   string
	store store
	seed  uint64
	// short is a look, of seconds.
	short    bool
	limit    time.Duration
	progress io.Writer
}

// scenario is one way to try the sidecar.
type scenario struct {
	name   string
	stores []store
	run    func(context.Context, *settings, *report) error
}

// store is where tasks are kept.
type store string

// The stores: what a sidecar remembers by itself, and what two of them share.
const (
	memory store = "memory"
	redis  store = "redis"
)

var stores = []store{memory, redis}

var scenarios = []scenario{
	{"campaign", stores, campaigned},
	{"drain", stores, drained},
	{"slow", []store{memory}, stalled},
	{"soak", []store{memory}, soaked},
	{"outage", []store{redis}, outage},
}

var errBroken = errors.New("promises were not kept")

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	s := settings{progress: stderr}
	var name, kept, form, file string
	flags := flag.NewFlagSet("stream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&name, "scenario", "campaign", "what to do, a `name`: "+names())
	flags.StringVar(&kept, "store", string(memory), fmt.Sprintf("where tasks are kept: %q", stores))
	flags.Uint64Var(&s.seed, "seed", 1, "`number` that the plan is made of")
	flags.BoolVar(&s.short, "short", false, "a look, of seconds")
	flags.DurationVar(&s.limit, "limit", 0, "`time` after which no more tasks are begun (default 15m)")
	flags.StringVar(&form, "o", "text", "`form` of the output: text or json")
	flags.StringVar(&file, "report", "", "`file` for the report as JSON, with the histories that were refused")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if form != "text" && form != "json" {
		return fmt.Errorf("-o is %q, must be text or json", form)
	}
	i := slices.IndexFunc(scenarios, func(each scenario) bool { return each.name == name })
	if i < 0 {
		return fmt.Errorf("-scenario is %q, must be one of %s", name, names())
	}
	if s.store = store(kept); !slices.Contains(scenarios[i].stores, s.store) {
		return fmt.Errorf("-store is %q, must be one of %q for %s", kept, scenarios[i].stores, name)
	}
	r, err := perform(ctx, &s, scenarios[i])
	if err != nil {
		return err
	}
	if file != "" {
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := errors.Join(r.write(out, "json"), out.Close()); err != nil {
			return err
		}
	}
	if err := r.write(stdout, form); err != nil {
		return err
	}
	if len(r.wrong()) > 0 {
		return errBroken
	}
	return nil
}

// perform runs a scenario with programs of its own.
func perform(ctx context.Context, s *settings, what scenario) (*report, error) {
	dir, err := os.MkdirTemp("", "a2a-stream")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := build(ctx, dir); err != nil {
		return nil, err
	}
	s.dir = dir
	begin := time.Now()
	_, _ = fmt.Fprintf(s.progress, "%s, store %s, seed %d\n", what.name, s.store, s.seed)
	r := newReport(what.name, string(s.store), s.seed, begin)
	err = what.run(ctx, s, r)
	r.Took = time.Since(begin).Seconds()
	return r, err
}

func names() string {
	var all []string
	for _, s := range scenarios {
		all = append(all, s.name)
	}
	return strings.Join(all, ", ")
}
