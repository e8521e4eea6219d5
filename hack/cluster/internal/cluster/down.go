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

// Down stops all processes of the cluster and undoes all its changes of the machine. It can be repeated after an
// interruption.
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
	// If there is neither a record nor a process, the cluster changed nothing outside the state
	// directory.
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

// undo removes the parts of the cluster in the reverse order of their creation.
func (c *Cluster) undo(ctx context.Context, record state.Record) error {
	step := c.config.Reporter.Step
	// The kubelet ends first, because it would restart the containers.
	for _, name := range []string{component.Kubelet, component.KubeProxy} {
		if err := c.stop(ctx, record, name); err != nil {
			return err
		}
	}
	// containerd ends most shims. stopMarked stops the remaining shims.
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

// restoreMachine undoes the changes of prepareMachine and of the components outside the state directory.
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
	// Do not restore settings that were recorded before a reboot, because the reboot has reset them.
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

// stopMarked stops processes without a record: shims, and a daemon whose starter died before it recorded the id.
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
