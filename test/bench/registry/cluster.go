// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/test/bench/process"
	"github.com/a2a-operator/a2a-operator/test/bench/registry/apiserver"
)

// cluster is an API server with Agents, and the managers that serve them.
type cluster struct {
	b      *bench
	name   string
	api    *apiserver.Server
	agents []agent
	// managers are the running managers. The key is withRegistry or withoutRegistry. They run until stopManagers or close.
	managers map[bool]*manager
}

// These are the keys of cluster.managers: withRegistry of the manager that serves the registry, and withoutRegistry of
// the manager whose registry is disabled.
const withRegistry, withoutRegistry = true, false

// clusterOf returns the cluster with a number of Agents. Each call with the same number returns the same cluster.
func (b *bench) clusterOf(size int) (*cluster, error) {
	return b.cluster(fmt.Sprintf("%d", size), func() ([]agent, error) { return newAgents(size) })
}

func (b *bench) cluster(name string, agents func() ([]agent, error)) (*cluster, error) {
	if c := b.clusters[name]; c != nil {
		return c, nil
	}
	b.logf("fills cluster %s", name)
	list, err := agents()
	if err != nil {
		return nil, err
	}
	api, err := apiserver.Start(apiserver.Options{Access: mayList})
	if err != nil {
		return nil, err
	}
	c := &cluster{b: b, name: name, api: api, agents: list, managers: map[bool]*manager{}}
	b.clusters[name] = c
	if err := c.fill(); err != nil {
		return nil, err
	}
	return c, api.WriteKubeconfig(c.kubeconfig())
}

func (c *cluster) kubeconfig() string { return filepath.Join(c.b.dir, c.name+".kubeconfig") }

func (c *cluster) fill() error {
	if err := c.api.Put(accessObjects()...); err != nil {
		return err
	}
	for i := range c.agents {
		agent, config, err := c.agents[i].objects()
		if err != nil {
			return err
		}
		if err := c.api.Put(agent, config); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) close() {
	for _, m := range c.managers {
		m.Stop()
	}
	c.api.Close()
}

// manager returns the manager that the rows of the benchmark share, with or without a registry. If it does not run, manager
// starts it and waits until it is idle.
func (c *cluster) manager(ctx context.Context, registry bool) (*manager, error) {
	if m := c.managers[registry]; m != nil {
		return m, nil
	}
	m, err := c.startManager(ctx, registry)
	if err != nil {
		return nil, err
	}
	c.managers[registry] = m
	_, err = awaitIdle(ctx, m.Process)
	return m, err
}

// stopManagers ends the shared managers, so that their memory and their watches disturb no other measurement.
func (c *cluster) stopManagers() {
	for registry, m := range c.managers {
		m.Stop()
		delete(c.managers, registry)
	}
}

// change changes a random Agent. If card is true, it changes the card and writes the ConfigMap, and otherwise it
// toggles the readiness and writes the Agent, as the operator does.
func (c *cluster) change(card bool) error {
	a := &c.agents[rand.N(len(c.agents))]
	if card {
		a.edition++
	} else {
		a.ready = !a.ready
	}
	agent, config, err := a.objects()
	if err != nil {
		return err
	}
	if card {
		return c.api.Put(config)
	}
	return c.api.Put(agent)
}

// static starts a server of ready-made responses.
func (c *cluster) static(ctx context.Context, m *manager, paths []string) (*process.Process, error) {
	file, err := c.record(ctx, m, paths)
	if err != nil {
		return nil, err
	}
	return process.Start(ctx, c.b.program("static"), "--responses", file)
}

// mayList decides SubjectAccessReviews: users of the group everything see all namespaces, and restricted users only the
// namespaces that namespacesOf returns.
func mayList(user string, groups []string, namespace string) bool {
	if slices.Contains(groups, everything) {
		return true
	}
	return namespace != "" && slices.Contains(namespacesOf(user), namespace)
}

// everything is the group of the users that see all namespaces.
const everything = "everything"

const (
	// restricted begins the names of users that see few namespaces.
	restricted = "restricted-"
	// restrictedUsers is the number of restricted users. Each of them sees boundNamespaces namespaces.
	restrictedUsers = 120
	boundNamespaces = 10
)

// namespacesOf returns the namespaces of a restricted user.
func namespacesOf(user string) []string {
	text, ok := strings.CutPrefix(user, restricted)
	if !ok {
		return nil
	}
	var number int
	if _, err := fmt.Sscan(text, &number); err != nil {
		return nil
	}
	names := make([]string, boundNamespaces)
	for i := range names {
		names[i] = namespaceName((number*boundNamespaces + i) % (namespaces - hiddenNamespaces))
	}
	return names
}
