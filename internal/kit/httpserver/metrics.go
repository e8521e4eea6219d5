// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import "github.com/prometheus/client_golang/prometheus"

var (
	openGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_connections",
		Help: "Open connections, by listener.",
	}, []string{"listener"})
	closedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_connections_shed_total",
		Help: "Connections that a listener closed to keep within its limits, by listener and reason: idle or running (closed to make room for others), full (refused, because the listener may close none of them), or source (refused, because their address uses its share).",
	}, []string{"listener", "reason"})
)

// Collectors returns the metrics of all servers of the process.
func Collectors() []prometheus.Collector { return []prometheus.Collector{openGauge, closedTotal} }

// listenerMetrics are the metrics of one listener.
type listenerMetrics struct {
	open                        prometheus.Gauge
	idle, running, full, source prometheus.Counter
}

func newListenerMetrics(name string) listenerMetrics {
	shed := func(reason string) prometheus.Counter { return closedTotal.WithLabelValues(name, reason) }
	return listenerMetrics{
		open: openGauge.WithLabelValues(name),
		idle: shed("idle"), running: shed("running"), full: shed("full"), source: shed("source"),
	}
}
