// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import "github.com/prometheus/client_golang/prometheus"

var (
	expiry = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate that the registry serves expires; 0 without TLS.",
	})
	refused = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_refused",
		Help: "Whether the mounted certificate of the registry is refused (1), so that a former one or none is served, or not (0).",
	})
	reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_tls_certificate_reloads_total",
		Help: "Loads of a changed certificate of the registry, by the result: success or error.",
	}, []string{"result"})
)

// Collectors returns the metrics, which all Certificates of a process share.
func Collectors() []prometheus.Collector { return []prometheus.Collector{expiry, refused, reloads} }
