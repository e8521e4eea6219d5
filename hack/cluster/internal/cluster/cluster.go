// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster creates and removes the one-node cluster. Every step is idempotent, and every change of the
// machine is recorded, so that a later process can undo it.
package cluster

import (
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/binaries"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/containerd"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/packages"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/progress"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Config is the configuration of a cluster.
type Config struct {
	State    state.Dir
	Network  network.Plan
	Domain   string
	Audit    bool
	Builder  binaries.Builder
	Reporter *progress.Reporter
}

// Cluster is the one-node cluster of a state directory.
type Cluster struct {
	config     Config
	containerd containerd.Client
}

// New returns the cluster of a state directory, which may be stopped or not exist yet.
func New(config Config) *Cluster {
	return &Cluster{config: config, containerd: containerd.Client{Socket: config.State.ContainerdSocket()}}
}

// lock waits for the lock of the cluster.
func (c *Cluster) lock() (*state.Lock, error) {
	return state.Acquire(c.config.State, func() {
		c.config.Reporter.Sayf("waiting for another process that brings the cluster up or down")
	})
}

// settings returns the inputs of the components' configuration.
func (c *Cluster) settings() (component.Settings, error) {
	containerdPath, err := packages.Program("containerd")
	if err != nil {
		return component.Settings{}, err
	}
	pluginDir, err := packages.PluginDir()
	if err != nil {
		return component.Settings{}, err
	}
	nameServers, err := network.NameServers(c.config.Network)
	if err != nil {
		return component.Settings{}, err
	}
	snapshotter, err := snapshotter(c.config.State)
	if err != nil {
		return component.Settings{}, err
	}
	return component.Settings{
		State:          c.config.State,
		Binaries:       c.config.Builder.Out,
		Network:        c.config.Network,
		Domain:         c.config.Domain,
		ContainerdPath: containerdPath,
		PluginDir:      pluginDir,
		NameServers:    nameServers,
		Audit:          c.config.Audit,
		Snapshotter:    snapshotter,
	}, nil
}
