// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/a2a-operator/a2a-operator/internal/kit/collectors"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// share is a part of the memory of all connections of the manager, in twentieths.
type share int64

const (
	shareRegistry share = 12
	shareCatalog  share = 2
	sharePage     share = 2
	shareMetrics  share = 2
	shareHealth   share = 1
	sharePprof    share = 1
)

// bytes returns the memory of the connections of a listener.
func (s share) bytes() int64 { return httpserver.Memory() / 20 * int64(s) }

const (
	// probeTimeout bounds a probe, and scrapeTimeout a scrape of the metrics.
	probeTimeout  = 10 * time.Second
	scrapeTimeout = 30 * time.Second
	// profileTimeout bounds a profile, whose duration the caller chooses.
	profileTimeout = 10 * time.Minute
	// maxScrapes is the maximum number of concurrent scrapes.
	maxScrapes = 4
	// serverShutdownTimeout is how long requests may take to end in a shutdown.
	serverShutdownTimeout = 5 * time.Second
)

// addServers adds the servers of probes, metrics and profiles. They run also before the caches have
// synced. They are not those of controller-runtime, which have no limits. ready has the readiness checks.
func addServers(ctx context.Context, mgr manager.Manager, config Config, signatures *access.Signatures, ready map[string]healthz.Checker) error {
	if err := collectors.Register(metrics.Registry, "connections", append(httpserver.Collectors(), logging.Collectors()...)...); err != nil {
		return err
	}
	addAt := func(address string, o httpserver.Options) error {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("listen for %s: %w", o.Name, err)
		}
		server := httpserver.New(o)
		return mgr.Add(&manager.Server{
			Name: o.Name, Server: server.Server, Listener: server.Listener(listener), ShutdownTimeout: new(serverShutdownTimeout),
		})
	}
	if config.HealthProbeBindAddress != off {
		if err := addAt(config.HealthProbeBindAddress, httpserver.Options{
			Name: "health", Handler: probes(ready), Memory: shareHealth.bytes(), Probes: true, ReadTimeout: probeTimeout, WriteTimeout: probeTimeout,
		}); err != nil {
			return err
		}
	}
	if config.PprofBindAddress != off {
		if err := addAt(config.PprofBindAddress, httpserver.Options{
			Name: "pprof", Handler: profiles(), Memory: sharePprof.bytes(), ReadTimeout: probeTimeout, WriteTimeout: profileTimeout,
		}); err != nil {
			return err
		}
	}
	if config.MetricsBindAddress == off {
		return nil
	}
	options, err := metricsServer(mgr, config, signatures)
	if err != nil {
		return err
	}
	return addAt(config.MetricsBindAddress, options)
}

// probes returns the handler of /healthz and /readyz.
func probes(ready map[string]healthz.Checker) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range map[string]http.Handler{
		"/healthz": &healthz.Handler{Checks: map[string]healthz.Checker{"ping": healthz.Ping}},
		"/readyz":  &healthz.Handler{Checks: ready},
	} {
		mux.Handle(path, http.StripPrefix(path, handler))
		mux.Handle(path+"/", http.StripPrefix(path, handler))
	}
	return mux
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// metricsServer returns the options of the metrics server. By default, the server uses TLS and serves
// only callers that the cluster authorizes.
func metricsServer(mgr manager.Manager, config Config, signatures *access.Signatures) (httpserver.Options, error) {
	scrapes := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: maxScrapes})
	o := httpserver.Options{Name: "metrics", Memory: shareMetrics.bytes(), ReadTimeout: probeTimeout, WriteTimeout: scrapeTimeout}
	if !config.MetricsInsecure {
		filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return o, fmt.Errorf("authenticate callers of the metrics: %w", err)
		}
		reviews := newReviewLimit(signatures)
		reviewed, err := filter(mgr.GetLogger().WithName("metrics"), reviews.accept(scrapes))
		if err != nil {
			return o, fmt.Errorf("authenticate callers of the metrics: %w", err)
		}
		scrapes = reviews.limit(reviewed)
		if o.TLS, err = metricsTLS(mgr, config.MetricsCertDir); err != nil {
			return o, err
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", scrapes)
	o.Handler = mux
	return o, nil
}

// metricsTLS returns the TLS configuration of the metrics server: with the certificate of a directory,
// which is reloaded when it changes, or else with a self-signed certificate.
func metricsTLS(mgr manager.Manager, directory string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	certificate := filepath.Join(directory, "tls.crt")
	key := filepath.Join(directory, "tls.key")
	_, err := os.Stat(certificate)
	if directory != "" && !errors.Is(err, fs.ErrNotExist) {
		watcher, err := certwatcher.New(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the metrics: %w", err)
		}
		config.GetCertificate = watcher.GetCertificate
		return config, mgr.Add(watcher)
	}
	certificatePEM, keyPEM, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the metrics: %w", err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
