// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/component"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/kubeapi"
	"github.com/a2a-operator/a2a-operator/hack/cluster/internal/state"
)

// startDNS applies the DNS objects if they changed and waits until a name of the cluster resolves.
func (c *Cluster) startDNS(ctx context.Context, ledger *state.Ledger, settings component.Settings, api *kubeapi.Client) error {
	manifest, err := component.DNSManifest(settings)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(manifest)
	digest := hex.EncodeToString(sum[:])
	if ledger.Record().DNS != digest {
		err := c.config.Reporter.Step(ctx, "DNS objects", func(ctx context.Context) error {
			// Retry: a new API server creates its roles and namespaces only after it answers.
			return poll(ctx, startLimit, func(ctx context.Context) error { return c.apply(ctx, manifest) })
		})
		if err != nil {
			return err
		}
		if err := ledger.Update(func(r *state.Record) { r.DNS = digest }); err != nil {
			return err
		}
	}
	return c.waitFor(ctx, "DNS", func(ctx context.Context) error {
		if err := api.DeploymentAvailable(ctx, "kube-system", "coredns"); err != nil {
			return err
		}
		return c.resolve(ctx)
	})
}

// apply applies objects with kubectl.
func (c *Cluster) apply(ctx context.Context, manifest []byte) error {
	command := exec.CommandContext(ctx, c.config.Builder.Path("kubectl"), "apply", "--server-side", "--force-conflicts", "--filename=-",
		"--kubeconfig="+c.config.State.Kubeconfig(), "--cache-dir="+c.config.State.Path("run", "kubectl"))
	command.Stdin = bytes.NewReader(manifest)
	printed, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apply DNS objects: %w: %s", err, strings.TrimSpace(string(printed)))
	}
	return nil
}

// resolve looks up the name of the API server through the DNS Service. iptables handles the request like a request of a
// pod.
func (c *Cluster) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, net.JoinHostPort(c.config.Network.DNSServiceIP(), "53"))
	}}
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc."+c.config.Domain+".")
	if err != nil {
		return fmt.Errorf("resolve API server: %w", err)
	}
	if len(addresses) != 1 || addresses[0] != c.config.Network.APIServiceIP() {
		return fmt.Errorf("resolve API server: got %v", addresses)
	}
	return nil
}
