// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command install creates the virtual environments of requirements files, before the
// tests that use them. If the machine cannot create an environment or download its
// packages, the command prints one line and succeeds, and the tests are skipped. With
// -required, it fails instead. With PYTHON_PACKAGES=latest, it installs the newest versions
// of the packages in the .in files beside them.
//
//	go run ./test/pyenv/install examples/*/requirements.txt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/a2a-operator/a2a-operator/test/pyenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	required := flag.Bool("required", false, "fail if an environment cannot be created")
	flag.Parse()
	reported := map[string]bool{}
	for _, requirements := range flag.Args() {
		start := time.Now()
		switch err := pyenv.Install(ctx, requirements, os.Stderr); {
		case errors.Is(err, pyenv.ErrUnavailable) && !*required:
			if line := err.Error(); !reported[line] {
				reported[line] = true
				_, _ = fmt.Fprintf(os.Stdout, "SKIPPED: the tests that run Python with %s: %s\n", requirements, line)
			}
		case errors.Is(err, pyenv.ErrNotInstalled) && ctx.Err() == nil && !*required:
			_, _ = fmt.Fprintf(os.Stdout, "SKIPPED: the tests that run Python with %v\n", err)
		case err != nil:
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		case time.Since(start) > time.Second: // else it was installed before
			_, _ = fmt.Fprintf(os.Stdout, "%s: installed in %s\n", requirements, time.Since(start).Round(time.Second/10))
		}
	}
}
