// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/binaries"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/cluster"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/progress"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// The default names of a cluster. The address ranges are private ranges that few networks use.
const (
	defaultPods     = "10.231.0.0/22"
	defaultServices = "10.232.0.0/20"
	defaultDomain   = "cluster.local"
)

// errNotRoot is the error of every command that changes the machine.
var errNotRoot = errors.New("this needs root: run it with sudo")

// errNotLinux is the error on systems that cannot run a node.
var errNotLinux = errors.New("a node runs on Linux only; elsewhere this builds the binaries that the tests run")

// clusterOptions are the flags of all subcommands.
type clusterOptions struct {
	root     string
	binaries string
	stateDir string
}

func (o *clusterOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.root, "root", ".", "the repository, where hack/cluster lies")
	flags.StringVar(&o.binaries, "binaries", "", "directory of the Kubernetes binaries (default: bin/k8s of the repository)")
	flags.StringVar(&o.stateDir, "state-dir", state.DefaultDir, "directory that holds everything of the cluster")
}

// builder returns the builder of the repository's binaries.
func (o *clusterOptions) builder(out io.Writer) (binaries.Builder, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return binaries.Builder{}, fmt.Errorf("resolve repository: %w", err)
	}
	if _, err := os.Stat(filepath.Join(root, "hack", "cluster", "go.mod")); err != nil {
		return binaries.Builder{}, fmt.Errorf("find hack/cluster in %s: run this in the repository or name it with --root", root)
	}
	directory := o.binaries
	if directory == "" {
		directory = filepath.Join(root, "bin", "k8s")
	}
	directory, err = filepath.Abs(directory)
	if err != nil {
		return binaries.Builder{}, fmt.Errorf("resolve binaries: %w", err)
	}
	return binaries.Builder{Root: root, Out: directory, Reporter: progress.NewReporter(out)}, nil
}

// config returns the configuration of the cluster. Ranges and the domain default to those of the existing cluster.
func (o *clusterOptions) config(out io.Writer, pods, services, domain string) (cluster.Config, error) {
	if runtime.GOOS != "linux" {
		return cluster.Config{}, errNotLinux
	}
	if os.Geteuid() != 0 {
		return cluster.Config{}, errNotRoot
	}
	builder, err := o.builder(out)
	if err != nil {
		return cluster.Config{}, err
	}
	dir, err := state.NewDir(o.stateDir)
	if err != nil {
		return cluster.Config{}, err
	}
	ledger, err := state.OpenLedger(dir)
	if err != nil {
		return cluster.Config{}, err
	}
	record := ledger.Record()
	plan, err := network.NewPlan(cmp.Or(pods, record.Pods, defaultPods), cmp.Or(services, record.Services, defaultServices))
	if err != nil {
		return cluster.Config{}, err
	}
	return cluster.Config{
		State: dir, Network: plan, Domain: cmp.Or(domain, record.Domain, defaultDomain), Builder: builder, Reporter: builder.Reporter,
	}, nil
}

// open returns the cluster of the state directory with its recorded address ranges. It does not check that the cluster
// exists.
func (o *clusterOptions) open(out io.Writer) (*cluster.Cluster, error) {
	config, err := o.config(out, "", "", "")
	if err != nil {
		return nil, err
	}
	return cluster.New(config), nil
}
