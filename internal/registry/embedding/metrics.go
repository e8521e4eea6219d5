// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import "github.com/prometheus/client_golang/prometheus"

// Label values of requests.
const (
	kindAgents    = "agents"
	kindQuery     = "query"
	resultOK      = "ok"
	resultFailed  = "failed"
	resultSkipped = "skipped"
)

// Metrics of embeddings. All embedders of a process share them.
var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_embedding_requests_total",
		Help: "Requests for embeddings of agents or of a query, by the result; skipped ones were not sent, because the endpoint failed or is busy.",
	}, []string{"kind", "result"})
	vectorsGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_embedding_vectors",
		Help: "Vectors of the texts of agents in memory.",
	})
)

// Collectors returns the metrics of embeddings.
func Collectors() []prometheus.Collector { return []prometheus.Collector{requests, vectorsGauge} }
