// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Limits of a span, so that a queue of 2048 spans uses at most about 16 MiB.
const (
	maxAttributes = 32
	maxLinks      = 4
)

const (
	// shutdownTimeout bounds the last export, at the shutdown of a Provider.
	shutdownTimeout = 2 * time.Second
	// openTimeout bounds how long a replaced Provider waits for the end of its open spans. Spans
	// that end during this time are exported.
	openTimeout = 5 * time.Minute
)

// Options are the values and functions of the program that a Provider uses.
type Options struct {
	// ServiceName and Attributes describe the program. Those of the Config take precedence.
	ServiceName string
	Attributes  map[string]string
	// DialTLS connects to a collector over https. If it is nil, the certificate authorities of the
	// system verify the collector.
	DialTLS func(ctx context.Context, network, address string) (net.Conn, error)
	// Dial opens the connection for TLS to a collector if DialTLS is nil, or if Config.TLS is not. Nil means a direct connection.
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Counters *Counters
	Log      *slog.Logger
}

// Provider records spans and exports them.
type Provider struct {
	sdk    *sdktrace.TracerProvider
	client *client
	queue  *queue
}

// New starts a Provider. It returns nil if the configuration has no endpoint. The Provider connects
// to the collector when it exports the first spans.
func New(c Config, o Options) *Provider {
	if c.Endpoint == "" {
		return nil
	}
	c.setDefaults()
	uploads := newClient(&c, o)
	otlp := otlptrace.NewUnstarted(uploads)
	_ = otlp.Start(context.Background()) // calls client.Start, which cannot fail
	bounded := &queue{max: int64(c.Batch.MaxQueue), counters: o.Counters, log: o.Log, quiet: make(chan struct{}, 1)}
	bounded.SpanProcessor = sdktrace.NewBatchSpanProcessor(
		&exporter{SpanExporter: otlp, client: uploads, queue: bounded, log: o.Log},
		sdktrace.WithMaxQueueSize(c.Batch.MaxQueue), sdktrace.WithMaxExportBatchSize(min(c.Batch.MaxExport, c.Batch.MaxQueue)),
		sdktrace.WithBatchTimeout(c.Batch.Delay), sdktrace.WithExportTimeout(c.Batch.ExportTimeout),
	)
	return &Provider{
		sdk: sdktrace.NewTracerProvider(
			sdktrace.WithSpanProcessor(bounded),
			sdktrace.WithSampler(newSampler(c.Sampler)),
			sdktrace.WithResource(newResource(&c, &o)),
			sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{
				AttributeValueLengthLimit: MaxValue, AttributeCountLimit: maxAttributes,
				LinkCountLimit: maxLinks, AttributePerLinkCountLimit: maxLinks,
			}),
		),
		client: uploads,
		queue:  bounded,
	}
}

// newResource returns the attributes that describe the program in each export.
func newResource(c *Config, o *Options) *resource.Resource {
	all := map[string]string{"telemetry.sdk.language": "go", "telemetry.sdk.name": "opentelemetry"}
	maps.Copy(all, o.Attributes)
	maps.Copy(all, c.Attributes)
	all["service.name"] = cmp.Or(c.ServiceName, o.ServiceName)
	var attributes []attribute.KeyValue
	for _, key := range slices.Sorted(maps.Keys(all)) {
		attributes = append(attributes, attribute.String(key, all[key]))
	}
	return resource.NewSchemaless(attributes...)
}

// Tracer returns a tracer for a package. name is the import path of the package.
func (p *Provider) Tracer(name string) trace.Tracer { return p.sdk.Tracer(name) }

// Retire shuts down a Provider that another one has replaced. It first waits until all spans of the
// Provider have ended, at most 5 min or until ctx ends. If p is nil, it does nothing.
func (p *Provider) Retire(ctx context.Context) {
	if p == nil {
		return
	}
	open, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	p.queue.awaitEnds(open)
	p.Shutdown(context.WithoutCancel(ctx))
}

// Shutdown exports the spans in the queue, within 2 s. It counts spans that are still open as lost.
// If p is nil, it does nothing.
func (p *Provider) Shutdown(ctx context.Context) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	defer p.client.stop() // ends an export that takes longer than shutdownTimeout
	_ = p.sdk.Shutdown(ctx)
}

// newSampler returns the sampler of a configuration.
func newSampler(s Sampler) sdktrace.Sampler {
	root := sdktrace.TraceIDRatioBased(s.Ratio)
	if s.IgnoreParent {
		return root
	}
	return linkedSampler{sdktrace.ParentBased(root)}
}

// linkedSampler decides about a span that has links but no parent. It records the span if the span
// of the first link was recorded: the spans of push notifications and calls are then recorded if
// the turn that they link to is. Otherwise, it drops the span.
type linkedSampler struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (s linkedSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if len(p.Links) == 0 || trace.SpanContextFromContext(p.ParentContext).IsValid() {
		return s.Sampler.ShouldSample(p)
	}
	decision := sdktrace.Drop
	if p.Links[0].SpanContext.IsSampled() {
		decision = sdktrace.RecordAndSample
	}
	return sdktrace.SamplingResult{Decision: decision}
}

// Description implements sdktrace.Sampler.
func (s linkedSampler) Description() string { return "Linked{" + s.Sampler.Description() + "}" }
