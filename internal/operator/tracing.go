// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/a2a-operator/a2a-operator/internal/reconciletrace"
	"github.com/a2a-operator/a2a-operator/internal/traceexport"
	"github.com/a2a-operator/a2a-operator/internal/version"
)

// Tracing configures the traces of the sidecars. Those of the manager are configured by the
// OTEL_* variables.
type Tracing struct {
	// Endpoint is the base URL of a collector for OTLP over HTTP; empty exports no traces.
	Endpoint string
	// SamplingPercent is the percentage of the traces that begin at a sidecar and are recorded.
	SamplingPercent int
	// DraftAttributes adds the attributes of the draft of OpenTelemetry's conventions for A2A.
	DraftAttributes bool
}

func (t Tracing) errors() []error {
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

// traceCounters count the spans of all managers of the process.
var traceCounters = traceexport.NewCounters()

// addTraces returns the tracer of reconciles, and a copy of cluster whose writes it records;
// nil and cluster itself while the OTEL_* variables name no collector. The second function
// adds the export to a manager.
func addTraces(cluster *rest.Config, log logr.Logger) (*reconciletrace.Tracer, *rest.Config, func(manager.Manager) error, error) {
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

// traceExport exports the last spans when the manager stops.
type traceExport struct{ *traceexport.Provider }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (traceExport) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (e traceExport) Start(ctx context.Context) error {
	<-ctx.Done()
	e.Shutdown(context.WithoutCancel(ctx))
	return nil
}
