// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registryca

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

var refused = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "a2a_registry_ca_refused",
	Help: "Whether the file with the authorities of the registry is refused (1), so that sidecars keep the former ones, or not (0).",
})

// Register registers the metric, which all Sources of a process share.
func Register(r prometheus.Registerer) error {
	err := r.Register(refused)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}
