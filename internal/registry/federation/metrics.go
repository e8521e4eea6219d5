// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import "github.com/prometheus/client_golang/prometheus"

var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_peer_requests_total",
		Help: "Searches of the registries of other clusters, by peer and outcome; https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/federation.md lists the outcomes.",
	}, []string{"peer", "outcome"})
	requestDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "a2a_registry_peer_request_duration_seconds",
		Help:    "Time of a search of a registry of another cluster, with the wait for its budget, by peer.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10},
	}, []string{"peer"})
	dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_peer_results_dropped_total",
		Help: "Results of peers that the registry dropped, by peer and reason; https://github.com/a2a-operator/a2a-operator/blob/main/docs/how-to/federation.md lists the reasons.",
	}, []string{"peer", "reason"})
	fileRefused = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_peers_file_refused",
		Help: "Whether the peers file is refused (1), so that the former peers stay in use, or not (0).",
	})
)

// Collectors returns the metrics, which all Federations of a process share.
func Collectors() []prometheus.Collector {
	return []prometheus.Collector{requests, requestDuration, dropped, fileRefused}
}

// deleteMetrics deletes the metrics of a peer that was removed.
func deleteMetrics(name string) {
	labels := prometheus.Labels{"peer": name}
	requests.DeletePartialMatch(labels)
	requestDuration.DeletePartialMatch(labels)
	dropped.DeletePartialMatch(labels)
}
