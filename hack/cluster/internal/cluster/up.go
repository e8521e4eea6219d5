// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/kubeapi"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/network"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/pki"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/process"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// Up creates or repairs the cluster, and returns when its node is ready and its DNS answers.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.config.Builder.Build(ctx, nil); err != nil {
		return err
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
	settings, err := c.settings()
	if err != nil {
		return err
	}
	if err := c.prepareMachine(ctx, ledger); err != nil {
		if ledger.Record().Boot == "" {
			// Nothing was changed so far: the directory holds only the lock.
			_ = os.RemoveAll(string(c.config.State))
		}
		return err
	}
	if err := c.prepareFiles(settings); err != nil {
		return err
	}
	api, err := kubeapi.New(c.config.State, settings.Server())
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.startControlPlane(groupCtx, ledger, settings, api) })
	group.Go(func() error { return c.startRuntime(groupCtx, ledger, settings) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.startNode(ctx, ledger, settings, api); err != nil {
		return err
	}
	return c.startDNS(ctx, ledger, settings, api)
}

// prepareMachine records the changes of the machine, and then makes them.
func (c *Cluster) prepareMachine(ctx context.Context, ledger *state.Ledger) error {
	boot, err := process.Boot()
	if err != nil {
		return err
	}
	record := ledger.Record()
	if record.Boot == "" {
		if err := c.checkMachine(); err != nil {
			return err
		}
	}
	if record.Boot != "" && !c.hasRecordedNames(record) {
		return fmt.Errorf("use addresses %s and %s and domain %s: the cluster has %s and %s and %s; bring it down first",
			c.config.Network.PodRanges(), c.config.Network.ServiceRanges(), c.config.Domain, record.Pods, record.Services, record.Domain)
	}
	if record.Boot != boot {
		// The run directory holds mounts and sockets of an earlier boot.
		if err := os.RemoveAll(c.config.State.Path("run")); err != nil {
			return fmt.Errorf("remove run directory: %w", err)
		}
	}
	if err := network.EnsureBridgeFilter(ctx); err != nil {
		return err
	}
	settings, err := network.Settings()
	if err != nil {
		return err
	}
	err = ledger.Update(func(r *state.Record) {
		if r.Boot != boot {
			r.Sysctls = settings
		}
		if r.Boot == "" {
			r.Absent = absentPaths()
		}
		r.Boot, r.Bridge = boot, network.Bridge
		r.Pods = c.config.Network.PodRanges()
		r.Services = c.config.Network.ServiceRanges()
		r.Domain = c.config.Domain
	})
	if err != nil {
		return err
	}
	if err := network.ApplySettings(c.config.Network); err != nil {
		return err
	}
	if err := network.EnsureBridge(ctx, c.config.Network); err != nil {
		return err
	}
	return network.EnsureRules(ctx, c.config.Network)
}

// hasRecordedNames reports whether the cluster has the wanted address ranges and the wanted domain.
func (c *Cluster) hasRecordedNames(record state.Record) bool {
	return record.Pods == c.config.Network.PodRanges() && record.Services == c.config.Network.ServiceRanges() && record.Domain == c.config.Domain
}

// checkMachine returns an error for a machine with another cluster or kubelet.
func (c *Cluster) checkMachine() error {
	if network.HasBridge() {
		return fmt.Errorf("create interface %s: it exists and belongs to another cluster: bring that one down, with its --state-dir", network.Bridge)
	}
	kubelets, err := process.Named("kubelet")
	if err != nil {
		return err
	}
	if len(kubelets) > 0 {
		return fmt.Errorf("start a node: a kubelet already runs on this machine (process %d), and two kubelets cannot share iptables and control groups", kubelets[0].PID)
	}
	return c.config.Network.CheckFree()
}

// prepareFiles creates the certificates and kubeconfigs.
func (c *Cluster) prepareFiles(settings component.Settings) error {
	names := pki.Names{
		Node: component.NodeName, NodeIP: c.config.Network.NodeIP(), ServiceIP: c.config.Network.APIServiceIP(), Domain: c.config.Domain,
	}
	if err := pki.Ensure(c.config.State, names, time.Now()); err != nil {
		return err
	}
	for _, owner := range []string{pki.Node, pki.ControllerManager, pki.Scheduler, pki.KubeProxy} {
		if err := pki.WriteKubeconfig(c.config.State, settings.Kubeconfig(owner), settings.Server(), owner); err != nil {
			return err
		}
	}
	return pki.WriteKubeconfig(c.config.State, c.config.State.Kubeconfig(), settings.Server(), pki.Admin)
}

func (c *Cluster) startControlPlane(ctx context.Context, ledger *state.Ledger, settings component.Settings, api *kubeapi.Client) error {
	etcd, err := kubeapi.NewEtcd(c.config.State, settings.EtcdServer())
	if err != nil {
		return err
	}
	err = c.ensure(ctx, ledger, component.NewEtcd(settings), func(ctx context.Context) error { return etcd.Healthy(ctx, "/health") })
	if err != nil {
		return err
	}
	err = c.ensure(ctx, ledger, component.NewAPIServer(settings), func(ctx context.Context) error { return api.Healthy(ctx, "/readyz") })
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return c.ensure(groupCtx, ledger, component.NewControllerManager(settings), listens(c.config.Network.NodeAddress("10257")))
	})
	group.Go(func() error {
		return c.ensure(groupCtx, ledger, component.NewScheduler(settings), listens(c.config.Network.NodeAddress("10259")))
	})
	return group.Wait()
}

func (c *Cluster) startRuntime(ctx context.Context, ledger *state.Ledger, settings component.Settings) error {
	runtime, err := component.NewContainerd(settings)
	if err != nil {
		return err
	}
	if err := c.ensure(ctx, ledger, runtime, c.containerd.Ping); err != nil {
		return err
	}
	return c.loadOwnImages(ctx)
}

func (c *Cluster) startNode(ctx context.Context, ledger *state.Ledger, settings component.Settings, api *kubeapi.Client) error {
	kubelet, err := component.NewKubelet(settings)
	if err != nil {
		return err
	}
	proxy, err := component.NewKubeProxy(settings)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return c.ensure(groupCtx, ledger, kubelet, listens(c.config.Network.NodeAddress("10250")))
	})
	group.Go(func() error {
		return c.ensure(groupCtx, ledger, proxy, listens(c.config.Network.NodeAddress("10249")))
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return c.waitFor(ctx, "node", func(ctx context.Context) error { return api.NodeReady(ctx, component.NodeName) })
}

// waitFor waits until ready returns nil. Unless ready succeeds at once, it prints a step with the duration of the
// wait.
func (c *Cluster) waitFor(ctx context.Context, what string, ready probe) error {
	if ready(ctx) == nil {
		return nil
	}
	return c.config.Reporter.Step(ctx, what, func(ctx context.Context) error {
		if err := poll(ctx, startLimit, ready); err != nil {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		return nil
	})
}
