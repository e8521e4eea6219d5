// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/prometheus/client_golang/prometheus"

// Metrics of the index. All feeds of a process share them.
var (
	agentsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_agents",
		Help: "Agents in the index of the registry.",
	})
	termsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_terms",
		Help: "Distinct terms in the index of the registry.",
	})
	snapshotTime = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_snapshot_timestamp_seconds",
		Help: "Time of the last snapshot of the index, which follows a change in the cluster.",
	})
	updateDelay = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "a2a_registry_update_delay_seconds",
		Help:    "Time from the first change of a batch to the snapshot that includes it.",
		Buckets: []float64{.025, .05, .1, .25, .5, 1, 2.5, 10},
	})
)

// Collectors returns the metrics of the index.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{agentsGauge, termsGauge, snapshotTime, updateDelay}
}
