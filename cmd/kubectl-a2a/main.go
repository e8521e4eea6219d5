// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-a2a is the kubectl plugin: it lists, finds, calls and inspects agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // adds the credential plugins of kubeconfigs

	"github.com/a2a-operator/a2a-operator/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, restore the default handling, so that a second signal ends
	// the process immediately.
	context.AfterFunc(ctx, stop)
	status := cli.Run(ctx, os.Args[1:], genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})
	stop()
	os.Exit(status)
}
