// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

const (
	// leaderElectionID is the name of the Lease. The right to it, and to events
	// beside it, is a Role in the manager's namespace, which the installation
	// knows.
	leaderElectionID = "manager.a2a-operator.dev"
	// A manager takes over at the latest this long, and once more what it takes
	// to try, after the leader was last heard of. A leader that cannot say in
	// time that it still is gives up before that, and in any case writes
	// nothing more (fence).
	leaseDuration = 10 * time.Second
	renewDeadline = 7 * time.Second
	retryPeriod   = time.Second
	// syncCheckTimeout bounds what a readiness probe waits for the cache.
	syncCheckTimeout = 100 * time.Millisecond
	// fillTimeout is how long the cache may take to be filled. One that may not be
	// read never is.
	fillTimeout = 5 * time.Minute
	// shutdownTimeout is how long the parts have to stop.
	shutdownTimeout = 20 * time.Second
)

// Run runs the manager until the context ends.
func Run(ctx context.Context, cluster *rest.Config, settings Config, log logr.Logger) error {
	if err := settings.Validate(); err != nil {
		return err
	}
	absent, settings, err := newAbsent(ctx, cluster, settings, log)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was told to end while it asked
	}
	if err != nil {
		return err
	}
	mgr, err := newManager(cluster, settings, log)
	if err != nil {
		return err
	}
	if err := addHealth(mgr); err != nil {
		return err
	}
	if err := mgr.Add(absent); err != nil {
		return fmt.Errorf("add absent namespaces: %w", err)
	}
	if err := addRunnables(ctx, mgr, settings); err != nil {
		return err
	}
	if err := untilStopped(ctx, mgr); err != nil {
		return fmt.Errorf("run manager: %w", err)
	}
	return nil
}

// untilStopped starts a manager and returns when it has stopped, or when it is to
// stop, or time is up, before its cache is filled: it waits for that and heeds
// nothing else, and nothing has begun that could be cut off. The process is to
// end then.
func untilStopped(ctx context.Context, mgr manager.Manager) error {
	filled := make(filling)
	if err := mgr.Add(filled); err != nil {
		return fmt.Errorf("add filling: %w", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-filled:
		return <-stopped
	case <-ctx.Done():
		return nil
	case <-time.After(fillTimeout):
		return fmt.Errorf("the cache was not filled within %v: may the manager list and watch all that it needs?", fillTimeout)
	}
}

// filling is closed when the cache is filled.
type filling chan struct{}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (filling) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (f filling) Start(context.Context) error {
	close(f)
	return nil
}

// NewScheme registers every kind that the manager reads or writes.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		return nil, fmt.Errorf("build scheme: %w", err)
	}
	return scheme, nil
}

func newManager(cluster *rest.Config, settings Config, log logr.Logger) (ctrl.Manager, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	cacheOptions, err := cacheOptions(settings)
	if err != nil {
		return nil, err
	}
	if settings.LeaderElect {
		cluster = rest.CopyConfig(cluster)
		cluster.Wrap((&fence{clock: clock.RealClock{}}).around)
	}
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Cache:                         cacheOptions,
		Metrics:                       metricsOptions(settings),
		HealthProbeBindAddress:        settings.HealthProbeBindAddress,
		LeaderElection:                settings.LeaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       settings.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(shutdownTimeout),
		// The check is for the process, which may run one manager after another.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("build manager: %w", err)
	}
	return mgr, nil
}

// metricsOptions serve metrics over TLS to those whom the cluster allows to
// read them.
func metricsOptions(settings Config) metricsserver.Options {
	options := metricsserver.Options{BindAddress: settings.MetricsBindAddress}
	if settings.MetricsInsecure {
		return options
	}
	options.SecureServing = true
	options.CertDir = settings.MetricsCertDir
	options.FilterProvider = filters.WithAuthenticationAndAuthorization
	// HTTP/2 is off: a scraper does not need it, and its stream resets have
	// been used to exhaust servers.
	options.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	return options
}

// addHealth answers the kubelet.
func addHealth(mgr manager.Manager) error {
	synced := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), syncCheckTimeout)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the cache is not filled yet")
		}
		return nil
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("cache", synced)); err != nil {
		return fmt.Errorf("add health checks: %w", err)
	}
	return nil
}
