// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import "github.com/prometheus/client_golang/prometheus"

// The listeners with a certificate: the registry, and the page for people.
const (
	ListenerRegistry = "registry"
	ListenerUI       = "ui"
)

var (
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_expiry_timestamp_seconds",
		Help: "Unix time at which the certificate that the listener serves expires; 0 without TLS.",
	}, []string{"listener"})
	refused = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "a2a_registry_tls_certificate_refused",
		Help: "Whether the mounted certificate of the listener is refused (1), so that a former one or none is served, or not (0).",
	}, []string{"listener"})
	reloads = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_registry_tls_certificate_reloads_total",
		Help: "Loads of a changed certificate of the listener, by the result: success or error.",
	}, []string{"listener", "result"})
)

// Collectors returns the metrics, which all Certificates of a process share. The gauges are 0 for a listener without
// TLS.
func Collectors() []prometheus.Collector {
	for _, listener := range []string{ListenerRegistry, ListenerUI} {
		expiry.WithLabelValues(listener)
		refused.WithLabelValues(listener)
	}
	return []prometheus.Collector{expiry, refused, reloads}
}
