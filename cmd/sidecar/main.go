// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sidecar is the data plane: it serves the A2A protocol for the agent in its pod.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/serving"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
)

// flushTimeout bounds the time for which the process waits for the reader of its log before it ends.
const flushTimeout = time.Second

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 1 && args[0] == "drain" {
		return drain()
	}
	var options settings.Options
	flags := pflag.NewFlagSet("sidecar", pflag.ContinueOnError)
	flags.SortFlags = false
	options.Flags(flags)
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, `Serves the A2A protocol for an agent.

  sidecar --config FILE
  sidecar --backend-url http://127.0.0.1:9000 --backend-protocol Events \
          --listen 127.0.0.1:8080 --card card.yaml --anonymous
  sidecar drain      preStop hook: drains the sidecar of this pod

%s`, flags.FlagUsages())
	}
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sidecar: %v\nTry sidecar --help.\n", err)
		return 2
	}
	if options.Version {
		fmt.Println("sidecar", version.Get())
		return 0
	}
	options.Level = &slog.LevelVar{}
	options.Level.Set(options.LogLevel)
	lines := logging.Stderr()
	defer lines.Flush(flushTimeout)
	log := newLog(lines, options.Level)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options.MemoryLimit = sidecar.LimitHeap(memlimit.FromCgroup, os.Getenv)
	// After the first signal, restore the default handling, so that a second signal ends
	// the process immediately.
	context.AfterFunc(ctx, stop)
	if options.HookDir != "" {
		if err := sidecar.CopyHook(options.HookDir); err != nil {
			log.Error("copying the program for preStop hooks failed; a container that ends does not wait for its turns", "error", err)
		}
	}
	s, err := sidecar.Open(ctx, &options, log, time.Now)
	if err == nil {
		s.OwnHeap()
		err = s.Serve(ctx)
	}
	if err != nil {
		_, _ = fmt.Fprintf(lines, "sidecar: %v\n", err)
		if options.ConfigFile != "" {
			sidecar.WriteTerminationMessage(err)
		}
		return sidecar.ExitCode(err)
	}
	return 0
}

// newLog returns a logger of JSON lines and installs it as the default of the process. The lines that libraries write
// to the standard loggers are then JSON, too. For example, the HTTP client of net/http uses a standard logger to log a
// response that belongs to no request.
func newLog(to io.Writer, level slog.Leveler) *slog.Logger {
	log := logging.New(to, level)
	slog.SetDefault(log)
	return log
}

// drain implements the preStop hook. It returns the exit code of the process when the drain
// (graceful shutdown) has ended. The kubelet kills the hook when the grace period ends.
func drain() int {
	if err := serving.RequestDrain(context.Background(), serving.HealthAddress); err != nil {
		fmt.Fprintf(os.Stderr, "sidecar: %v\n", err)
		return 1
	}
	return 0
}
