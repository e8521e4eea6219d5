// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/cgroup"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Down stops everything that the cluster started and removes everything that it made. It can be repeated after it was
// interrupted.
func (c *Cluster) Down(ctx context.Context) error {
	marked, err := process.Marked(string(c.config.State))
	if err != nil {
		return err
	}
	if _, err := os.Stat(string(c.config.State)); errors.Is(err, fs.ErrNotExist) && len(marked) == 0 {
		c.config.Reporter.Sayf("there is no cluster in %s", c.config.State)
		return nil
	}
	lock, err := c.lock()
	if err != nil {
		return err
	}
	defer lock.Release()
	ledger, err := state.OpenLedger(c.config.State)
	if err != nil {
		return err
	}
	record := ledger.Record()
	// Without a record and without a process nothing outside the directory was ever touched.
	if record.Boot != "" || len(marked) > 0 {
		if err := c.undo(ctx, record); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(string(c.config.State)); err != nil {
		return fmt.Errorf("remove state directory: %w", err)
	}
	return nil
}

// undo takes the cluster apart in the opposite order of its making.
func (c *Cluster) undo(ctx context.Context, record state.Record) error {
	step := c.config.Reporter.Step
	// The kubelet first, or it would restart the containers that are stopped next.
	for _, name := range []string{component.Kubelet, component.KubeProxy} {
		if err := c.stop(ctx, record, name); err != nil {
			return err
		}
	}
	// Their shims stay until containerd asks them to go, or are stopped as marked processes.
	if err := step(ctx, "containers", cgroup.KillPods); err != nil {
		return err
	}
	for _, name := range slices.Backward(component.Names) {
		if err := c.stop(ctx, record, name); err != nil {
			return err
		}
	}
	if err := c.stopMarked(ctx); err != nil {
		return err
	}
	if err := step(ctx, "mounts and control groups", func(ctx context.Context) error {
		if err := unmountBelow(string(c.config.State)); err != nil {
			return err
		}
		return cgroup.RemovePods(ctx)
	}); err != nil {
		return err
	}
	return step(ctx, "network and kernel settings", func(ctx context.Context) error { return c.restoreMachine(ctx, record) })
}

// restoreMachine takes back what prepareMachine and the components changed outside the state directory.
func (c *Cluster) restoreMachine(ctx context.Context, record state.Record) error {
	if err := network.RemoveRules(ctx); err != nil {
		return err
	}
	if err := network.RemoveBridge(ctx); err != nil {
		return err
	}
	boot, err := process.Boot()
	if err != nil {
		return err
	}
	// A boot sets the kernel's settings anew: those of an earlier one are not ours to bring back.
	if boot == record.Boot {
		if err := network.RestoreSettings(record.Sysctls); err != nil {
			return err
		}
	}
	return cleanOutside(c.config.State, record.Absent)
}

func (c *Cluster) stop(ctx context.Context, record state.Record, name string) error {
	recorded := record.Processes[name]
	if !recorded.Alive() {
		return nil
	}
	return c.config.Reporter.Step(ctx, name, func(ctx context.Context) error {
		if err := recorded.Stop(ctx, stopGrace); err != nil {
			return fmt.Errorf("stop %s: %w", name, err)
		}
		return nil
	})
}

// stopMarked stops what is not recorded: shims, and a daemon whose starter died before it could write its id down.
func (c *Cluster) stopMarked(ctx context.Context) error {
	marked, err := process.Marked(string(c.config.State))
	if err != nil {
		return err
	}
	for _, identity := range marked {
		if err := identity.Stop(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}
