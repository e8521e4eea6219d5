// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import "github.com/prometheus/client_golang/prometheus"

// Counters count the recorded spans of a program that a collector accepted, and the lost ones.
// They outlive a Provider, and are a prometheus.Collector.
type Counters struct {
	*prometheus.CounterVec
	exported, lost prometheus.Counter
}

// NewCounters returns counters at zero.
func NewCounters() *Counters {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_trace_spans_total",
		Help: "Recorded spans by result: exported, or lost, because the queue was full, the collector did not accept them, or the export stopped before their end; the log has the cause.",
	}, []string{"result"})
	return &Counters{CounterVec: spans, exported: spans.WithLabelValues("exported"), lost: spans.WithLabelValues("lost")}
}
