// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package collectors registers the metrics of packages.
package collectors

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers the metrics of a subject, which the error names. All managers of a process share the metrics of a package, so
// a collector that is registered already is no error.
func Register(r prometheus.Registerer, subject string, all ...prometheus.Collector) error {
	for _, collector := range all {
		err := r.Register(collector)
		if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !again {
			return fmt.Errorf("register metrics of %s: %w", subject, err)
		}
	}
	return nil
}
