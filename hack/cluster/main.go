// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster creates a one-node Kubernetes cluster on this machine from Go modules and Debian packages,
// loads images without a container engine, and removes everything again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real one-node Kubernetes from Go modules, for development and tests",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	options := &clusterOptions{}
	options.addFlags(root.PersistentFlags())
	root.AddCommand(
		newBuildCommand(options),
		newUpCommand(options),
		newDownCommand(options),
		newStatusCommand(options),
		newLogsCommand(options),
		newImageCommand(options),
		newLoadCommand(options),
		newImageCheckCommand(options),
		newKillContainerCommand(options),
	)
	return root
}
