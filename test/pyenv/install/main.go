// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command install makes the virtual environments of requirements files, before
// the tests that use them. A machine that cannot make any gets one line and no
// error: the tests skip.
//
//	go run ./test/pyenv/install examples/*/requirements.txt
package main

import (
	"context"
	"errors"
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
	for _, requirements := range os.Args[1:] {
		start := time.Now()
		switch err := pyenv.Install(ctx, requirements, os.Stderr); {
		case errors.Is(err, pyenv.ErrUnavailable):
			_, _ = fmt.Fprintf(os.Stdout, "SKIPPED: %v\n", err)
			return
		case err != nil:
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:gocritic // nothing is left to be undone
		default:
			_, _ = fmt.Fprintf(os.Stdout, "%s: installed in %s\n", requirements, time.Since(start).Round(time.Second/10))
		}
	}
}
