// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command profiled is cmd/sidecar with a CPU profile of its whole run, from its start to its end. The profiles at
// /debug/pprof/ of cmd/sidecar miss both ends.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "profiled: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	var options settings.Options
	options.Flags(pflag.CommandLine)
	path := pflag.String("profile", "", "`file` that the profile is written to when the sidecar ends")
	pflag.Parse()
	file, err := os.Create(*path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options.MemoryLimit = sidecar.LimitHeap(memlimit.FromCgroup, os.Getenv)
	s, err := sidecar.Open(ctx, &options, slog.New(slog.NewJSONHandler(os.Stderr, nil)), time.Now)
	if err != nil {
		return err
	}
	s.OwnHeap()
	return s.Serve(ctx)
}
