// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command stream checks the streams of the sidecar from the view of clients. Clients of every dialect record
// what they receive, while faults hit their connections, the agent and the sidecars. A checker that uses only
// the records (test/stream/history) then reports lost, repeated and reordered events.
//
// docs/explanation/reliability.md has the guarantees, and the scenario that checks each.
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

	"github.com/a2a-operator/a2a-operator/test/stream/client"
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

// settings are the inputs of a scenario.
type settings struct {
	// dir holds the programs.
	dir   string
	store store
	seed  uint64
	// short selects a run of seconds.
	short bool
	limit time.Duration
	// tasks is the number of tasks of a campaign or lifecycle, 0 for the number of the plan.
	tasks int
	// dialects are the dialects of the clients.
	dialects []*client.Dialect
	progress io.Writer
}

// scenario is a kind of run.
type scenario struct {
	name   string
	stores []store
	run    func(context.Context, *settings, *report) error
}

// store is the kind of the task store.
type store string

// memory is one sidecar with tasks in memory, redis two sidecars with a shared store.
const (
	memory store = "memory"
	redis  store = "redis"
)

var stores = []store{memory, redis}

var scenarios = []scenario{
	{"campaign", stores, runCampaign},
	{"drain", stores, runDrain},
	{"slow", []store{memory}, runStalledReaders},
	{"soak", []store{memory}, runSoak},
	{"outage", []store{redis}, runOutages},
	{"restore", []store{redis}, runRestores},
	{"lifecycle", []store{redis}, runLifecycle},
}

var errViolations = errors.New("the run violates the guarantees")

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	s := settings{progress: stderr}
	var name, kept, form, file, spoken string
	flags := flag.NewFlagSet("stream", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&name, "scenario", "campaign", "`name` of the scenario: "+names())
	flags.StringVar(&kept, "store", string(memory), fmt.Sprintf("the task store: %q", stores))
	flags.Uint64Var(&s.seed, "seed", 1, "`number` that determines the plan")
	flags.BoolVar(&s.short, "short", false, "a short run of seconds")
	flags.DurationVar(&s.limit, "limit", 0, "`time` after which no task starts (default 15m)")
	flags.IntVar(&s.tasks, "tasks", 0, "`number` of tasks of campaign and lifecycle (default as planned)")
	flags.StringVar(&spoken, "dialects", "", "`text` that the names of the dialects contain, such as gRPC (default all)")
	flags.StringVar(&form, "o", "text", "`form` of the output: text or json")
	flags.StringVar(&file, "report", "", "`file` for the report as JSON, with the histories that violate a rule")
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
	s.dialects = slices.DeleteFunc(slices.Clone(client.Dialects), func(each *client.Dialect) bool { return !strings.Contains(each.Name, spoken) })
	if len(s.dialects) == 0 {
		return fmt.Errorf("-dialects is %q, and no dialect contains it", spoken)
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
		return errViolations
	}
	return nil
}

// perform builds the programs and runs a scenario.
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
