// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/binaries"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/cluster"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

func newBuildCommand(options *clusterOptions) *cobra.Command {
	var only []string
	var apiServer string
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the Kubernetes binaries that are not up to date",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			builder, err := options.builder(command.OutOrStdout())
			if err != nil {
				return err
			}
			builder.APIServer = apiServer
			return builder.Build(command.Context(), only)
		},
	}
	command.Flags().StringVar(&apiServer, "apiserver", "", "minor version of the kube-apiserver, a directory of hack/cluster/apiserver (default: the version of the cluster)")
	command.Flags().StringSliceVar(&only, "only", nil, "build these alone, of "+strings.Join(binaries.Names(), ", "))
	return command
}

func newUpCommand(options *clusterOptions) *cobra.Command {
	var pods, services, domain string
	var audit, install bool
	command := &cobra.Command{
		Use:   "up",
		Short: "Create or repair the cluster",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			started := time.Now()
			out := command.OutOrStdout()
			config, err := options.config(out, pods, services, domain)
			if err != nil {
				return err
			}
			if err := packages.Node.Ensure(command.Context(), install, out); err != nil {
				return err
			}
			config.Audit = audit
			if err := cluster.New(config).Up(command.Context()); err != nil {
				return err
			}
			_, _ = fmt.Fprintf(out, "the cluster is ready after %.1fs\n\n  export KUBECONFIG=%s\n  export PATH=%s:$PATH\n",
				time.Since(started).Seconds(), config.State.Kubeconfig(), config.Builder.Out)
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&pods, "pod-cidr", "", "addresses of pods and of the node: a range, or one of IPv4 and one of IPv6, like fd31::/112 (default "+defaultPods+")")
	flags.StringVar(&services, "service-cidr", "", "addresses of Services, of the same address families (default "+defaultServices+")")
	flags.StringVar(&domain, "domain", "", "DNS domain of the cluster (default "+defaultDomain+")")
	flags.BoolVar(&audit, "audit", false, "log every request to the API server, see: cluster logs audit")
	flags.BoolVar(&install, "install-packages", false, "install missing Debian packages with apt-get")
	return command
}

func newDownCommand(options *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything that it made",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := options.open(command.OutOrStdout())
			if err != nil {
				return err
			}
			return c.Down(command.Context())
		},
	}
}

func newStatusCommand(options *clusterOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs; fails unless the cluster is ready",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			c, err := options.open(command.OutOrStdout())
			if err != nil {
				return err
			}
			return c.Status(command.Context(), command.OutOrStdout())
		},
	}
}

func newLogsCommand(options *clusterOptions) *cobra.Command {
	var lines int
	var follow bool
	known := append(slices.Clone(component.Names), "audit")
	command := &cobra.Command{
		Use:       "logs COMPONENT",
		Short:     "Show the log of a component",
		Long:      "Show the log of a component: " + strings.Join(known, ", ") + ".",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: known,
		RunE: func(command *cobra.Command, arguments []string) error {
			dir, err := state.NewDir(options.stateDir)
			if err != nil {
				return err
			}
			log := dir.Log(arguments[0])
			if _, err := os.Stat(log); err != nil {
				return fmt.Errorf("open log of %s: %w", arguments[0], err)
			}
			tail := exec.CommandContext(command.Context(), "tail", "--lines="+strconv.Itoa(lines))
			if follow {
				tail.Args = append(tail.Args, "--follow")
			}
			tail.Args = append(tail.Args, "--", log)
			tail.Stdout, tail.Stderr = command.OutOrStdout(), command.ErrOrStderr()
			if err := tail.Run(); err != nil && command.Context().Err() == nil {
				return fmt.Errorf("show log of %s: %w", arguments[0], err)
			}
			return nil
		},
	}
	command.Flags().IntVar(&lines, "lines", 100, "how many of the last lines to show")
	command.Flags().BoolVarP(&follow, "follow", "f", false, "show new lines as they are written")
	return command
}
