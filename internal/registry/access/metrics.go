// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import "github.com/prometheus/client_golang/prometheus"

var (
	// reviewsSent counts the requests of Reviewers.
	reviewsSent = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_reviews_total",
		Help: "Reviews that the registry sent to the API server, by kind: token (TokenReview) or access (SubjectAccessReview).",
	}, []string{"kind"})
	// keyFetches counts the attempts to fetch the keys of the issuer.
	keyFetches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_issuer_key_fetches_total",
		Help: "Fetches of the keys of the registry's OpenID Connect issuer, by result: fetched or failed.",
	}, []string{"result"})
)

// Collectors returns the metrics, which all registries of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{reviewsSent, keyFetches} }
