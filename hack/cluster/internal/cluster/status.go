// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/containerd"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/kubeapi"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Status prints the state of the components, and returns an error unless the whole cluster is ready.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	ledger, err := state.OpenLedger(c.config.State)
	if err != nil {
		return err
	}
	record := ledger.Record()
	if record.Boot == "" {
		return fmt.Errorf("inspect cluster: there is none in %s", c.config.State)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tLOG")
	for _, name := range component.Names {
		recorded := record.Processes[name]
		condition := "stopped"
		if recorded.Alive() {
			condition = "running"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", name, condition, recorded.PID, c.config.State.Log(name))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	_, _ = fmt.Fprintf(out, "kubeconfig: %s\n", c.config.State.Kubeconfig())
	api, err := kubeapi.New(c.config.State, component.Settings{Network: c.config.Network}.Server())
	if err != nil {
		return err
	}
	if err := api.NodeReady(ctx, component.NodeName); err != nil {
		return fmt.Errorf("inspect node: %w", err)
	}
	if err := c.resolve(ctx); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "node ready, DNS answers")
	return nil
}

// KillContainer kills a container with SIGKILL and returns its id.
func (c *Cluster) KillContainer(ctx context.Context, container containerd.Container) (string, error) {
	return c.containerd.Kill(ctx, container)
}
