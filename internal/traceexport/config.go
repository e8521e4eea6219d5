// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traceexport exports the spans of a program to a collector by OTLP over HTTP, with
// the standard OTEL_* variables. The manager and the sidecar use it; it imports neither.
//
// A collector never delays a program: spans wait in a bounded queue, and a full queue drops
// them. The exporters of OpenTelemetry link gRPC; this package does not.
package traceexport

import (
	"crypto/tls"
	"time"
)

// MaxValue bounds a text attribute of a span, in bytes. Longer ones are cut.
const MaxValue = 256

// Config configures a Provider. The zero value exports nothing.
type Config struct {
	// Endpoint is the URL to which spans are posted, such as
	// http://collector:4318/v1/traces; "" exports nothing.
	Endpoint string
	// Headers are sent with each request. They may hold a credential.
	Headers map[string]string
	// Timeout bounds one request to the collector, 10 s by default.
	Timeout time.Duration
	// Gzip compresses requests.
	Gzip bool
	// TLS returns the settings of one connection, in place of those of Options.DialTLS; nil
	// for those. It reads its files each time, because certificates are renewed.
	TLS func() (*tls.Config, error)
	// Sampler decides which traces are recorded.
	Sampler Sampler
	// ServiceName and Attributes describe the program. They override those of Options.
	ServiceName string
	Attributes  map[string]string
	Batch       Batch
	// DraftAttributes adds the attributes of the draft of OpenTelemetry's conventions for
	// A2A.
	DraftAttributes bool
}

// Batch bounds the queue of spans. Zero means the default.
type Batch struct {
	// MaxQueue bounds the ended spans in memory, 2048 by default.
	MaxQueue int
	// MaxExport bounds the spans of one request, 512 by default.
	MaxExport int
	// Delay is the time between two requests, 5 s by default.
	Delay time.Duration
	// ExportTimeout bounds one export with its retries, 30 s by default.
	ExportTimeout time.Duration
}

// Sampler decides which traces are recorded.
type Sampler struct {
	// Ratio is the part of the traces that begin in this program to record, from 0 to 1.
	Ratio float64
	// IgnoreParent applies Ratio to all traces. By default, a trace that began in another
	// program is recorded if that program records it.
	IgnoreParent bool
}

// The defaults and the limits of a Config.
const (
	defaultTimeout       = 10 * time.Second
	defaultQueue         = 2048
	defaultExport        = 512
	defaultDelay         = 5 * time.Second
	defaultExportTimeout = 30 * time.Second
	maxQueue             = 1 << 16
	maxDuration          = 10 * time.Minute
)

// TracesPath is added to the URL of a collector that names no path for traces.
const TracesPath = "/v1/traces"

func (c *Config) setDefaults() {
	setDefault(&c.Timeout, defaultTimeout)
	setDefault(&c.Batch.MaxQueue, defaultQueue)
	setDefault(&c.Batch.MaxExport, min(defaultExport, c.Batch.MaxQueue))
	setDefault(&c.Batch.Delay, defaultDelay)
	setDefault(&c.Batch.ExportTimeout, defaultExportTimeout)
}

func setDefault[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}
