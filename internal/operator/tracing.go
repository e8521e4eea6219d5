// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/kit/traceexport"
	"github.com/a2a-operator/a2a-operator/internal/kit/version"
	"github.com/a2a-operator/a2a-operator/internal/operator/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// tracingErrors returns an error for every flag of the tracing of sidecars that has an invalid value.
func tracingErrors(t sidecarconfig.Tracing) []error {
	var errs []error
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			errs = append(errs, fmt.Errorf("--tracing-endpoint is %q, must be an absolute http or https URL without a user, a query and a fragment, such as http://collector.observability:4318", t.Endpoint))
		}
	}
	if t.SamplingPercent < 0 || t.SamplingPercent > 100 {
		errs = append(errs, fmt.Errorf("--tracing-sampling-percent is %d, must be from 0 to 100", t.SamplingPercent))
	}
	return errs
}

// traceCounters counts the spans of all managers of the process.
var traceCounters = traceexport.NewCounters()

// addTraces returns the tracer of reconciles, a copy of cluster with which the tracer records
// the writes, and a function that adds the export of traces to a manager. If the OTEL_*
// variables name no collector, the tracer is nil, the second result is cluster itself, and the
// function does nothing.
func addTraces(cluster *rest.Config, proxy func() *egress.Proxy, log logr.Logger) (*reconciletrace.Tracer, *rest.Config, func(manager.Manager) error, error) {
	config, err := traceexport.ConfigOf(traceexport.Config{Sampler: traceexport.Sampler{Ratio: 1}}, os.Getenv)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("configure tracing: %w", err)
	}
	attributes := map[string]string{"service.version": version.Get().Version}
	if pod, err := os.Hostname(); err == nil {
		attributes["service.instance.id"] = pod
	}
	provider := traceexport.New(config, traceexport.Options{
		ServiceName: "a2a-operator-manager", Attributes: attributes,
		Dial:     egress.DialThrough(proxy, (&net.Dialer{Timeout: dialTimeout}).DialContext),
		Counters: traceCounters, Log: slog.New(logr.ToSlogHandler(log.WithName("traces"))),
	})
	if provider == nil {
		return nil, cluster, func(manager.Manager) error { return nil }, nil
	}
	tracer := reconciletrace.New(provider.Tracer(reconciletrace.Name))
	cluster = rest.CopyConfig(cluster)
	cluster.Wrap(tracer.Wrap)
	return tracer, cluster, func(mgr manager.Manager) error {
		if err := metrics.Registry.Register(traceCounters); err != nil {
			return fmt.Errorf("register metrics of traces: %w", err)
		}
		if err := mgr.Add(traceExport{provider}); err != nil {
			return fmt.Errorf("add export of traces: %w", err)
		}
		return nil
	}, nil
}

// traceExport is a runnable that exports the last spans when the manager stops.
type traceExport struct{ *traceexport.Provider }

// NeedLeaderElection implements manager.LeaderElectionRunnable. Every replica exports spans.
func (traceExport) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (e traceExport) Start(ctx context.Context) error {
	<-ctx.Done()
	e.Shutdown(context.WithoutCancel(ctx))
	return nil
}
