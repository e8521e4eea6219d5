// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/a2a-operator/a2a-operator/internal/operator/informercache"
	"github.com/a2a-operator/a2a-operator/internal/operator/leaderfence"
	"github.com/a2a-operator/a2a-operator/internal/operator/operatorclaim"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const (
	// After the leader's last renewal, another manager takes over within leaseDuration plus
	// retryPeriod. A leader that cannot renew the Lease stops after renewDeadline, and package
	// leaderfence blocks its writes before the Lease ends.
	leaseDuration = 10 * time.Second
	renewDeadline = 7 * time.Second
	retryPeriod   = time.Second
	// syncCheckTimeout is how long a readiness probe waits for the caches.
	syncCheckTimeout = 100 * time.Millisecond
	// cacheSyncTimeout is how long the caches may take to sync. A cache of objects that the
	// manager may not read never syncs.
	cacheSyncTimeout = 5 * time.Minute
	// shutdownTimeout is how long the runnables have to stop (graceful shutdown).
	shutdownTimeout = 20 * time.Second
)

// Run runs a manager until the context ends. It returns an error if the configuration is invalid,
// a part of the manager fails, or a missing namespace can be read now and the process must
// restart (missingNamespaces).
func Run(ctx context.Context, cluster *rest.Config, config Config, log logr.Logger) error {
	if err := config.Validate(); err != nil {
		return err
	}
	config, err := config.withClusterDomain(resolverFile)
	if err != nil {
		return err
	}
	missing, config, err := withoutMissing(ctx, cluster, config, log)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the context ended during the check, which failed because of that
	}
	if err != nil {
		return err
	}
	proxy, err := config.egressProxy()
	if err != nil {
		return err
	}
	tracer, cluster, addExport, err := addTraces(cluster, proxy, log) // the manager ends the exporter
	if err != nil {
		return err
	}
	mgr, err := newManager(cluster, config, log)
	if err != nil {
		return err
	}
	if err := addExport(mgr); err != nil {
		return err
	}
	ready := map[string]healthz.Checker{"cache": readyWhenSynced(mgr)}
	if err := mgr.Add(missing); err != nil {
		return fmt.Errorf("add missing namespaces: %w", err)
	}
	keys, err := addIssuer(mgr)
	if err != nil {
		return err
	}
	signatures := access.NewSignatures(func() ([]string, json.RawMessage) {
		issuer := keys.Current()
		if issuer == nil {
			return nil, nil
		}
		return append([]string{issuer.URL}, issuer.Others...), issuer.Keys
	})
	signatures.Accepted = keys.Accepted
	if err := addRunnables(ctx, mgr, config, agentSources{keys: keys, signatures: signatures, tracer: tracer}, ready); err != nil {
		return err
	}
	if err := addServers(ctx, mgr, config, signatures, ready); err != nil {
		return err
	}
	if err := startAndWait(ctx, mgr); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// startAndWait starts a manager and waits until it has stopped. While its caches sync, a
// manager ignores its context. startAndWait then does not wait for the manager: it returns when
// the context ends, or with an error after cacheSyncTimeout. In both cases, no reconcile has
// begun, and the caller must end the process.
func startAndWait(ctx context.Context, mgr manager.Manager) error {
	synced := make(cachesSynced)
	if err := mgr.Add(synced); err != nil {
		return fmt.Errorf("add signal of synced caches: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-synced:
		return <-stopped
	case <-ctx.Done():
		return nil
	case <-time.After(cacheSyncTimeout):
		return fmt.Errorf("the caches did not sync within %v: check that the manager's role allows to list and watch all kinds", cacheSyncTimeout)
	}
}

// cachesSynced is a channel that is closed when the caches have synced. It is a runnable,
// because a manager starts its runnables after its caches have synced.
type cachesSynced chan struct{}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (cachesSynced) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (c cachesSynced) Start(context.Context) error {
	close(c)
	return nil
}

func newManager(cluster *rest.Config, config Config, log logr.Logger) (ctrl.Manager, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	cacheOptions, err := informercache.Options(config.WatchNamespaces, access.Strip)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(withTransports(cluster, config.LeaderElect), ctrl.Options{
		Scheme: scheme,
		Logger: log,
		Cache:  cacheOptions,
		// addServers adds servers with limits instead.
		Metrics:                       metricsserver.Options{BindAddress: off},
		HealthProbeBindAddress:        off,
		PprofBindAddress:              off,
		LeaderElection:                config.LeaderElect,
		LeaderElectionID:              operatorclaim.LeaseName(config.Name),
		LeaderElectionNamespace:       config.Namespace,
		LeaderElectionLabels:          operatorclaim.LeaseLabels(config.WatchNamespaces),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(shutdownTimeout),
		// Controller names must be unique in a process, and a process may run several managers
		// one after the other. A controller waits as long as the caches.
		Controller: controllerconfig.Controller{SkipNameValidation: new(true), CacheSyncTimeout: cacheSyncTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("build manager: %w", err)
	}
	return mgr, nil
}

// withTransports returns a copy of cluster with the transports of a manager.
func withTransports(cluster *rest.Config, leaderElect bool) *rest.Config {
	cluster = rest.CopyConfig(cluster)
	cluster.Wrap(func(next http.RoundTripper) http.RoundTripper { return escapedApply{next} })
	cluster.Wrap(pagedlist.Bound)
	if leaderElect {
		cluster.Wrap(leaderfence.New(clock.RealClock{}, leaseDuration).Wrap)
		cluster.Wrap(func(next http.RoundTripper) http.RoundTripper { return leaseRetry{next} })
	}
	return cluster
}

// readyWhenSynced returns the readiness check of the caches. Caches that have synced stay in use.
func readyWhenSynced(mgr manager.Manager) healthz.Checker {
	var synced atomic.Bool
	return func(r *http.Request) error {
		if synced.Load() {
			return nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), syncCheckTimeout)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches have not synced yet")
		}
		synced.Store(true)
		return nil
	}
}
