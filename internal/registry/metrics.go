// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/servingcert"
)

// register registers the metrics of the registry and its packages. All registries of a
// process share them, so a metric that is already registered is no error.
func register(r prometheus.Registerer) error {
	for _, collector := range slices.Concat(index.Collectors(), access.Collectors(), embedding.Collectors(), servingcert.Collectors(), federation.Collectors(), []prometheus.Collector{requestsTotal, requestDurations, limited, watchesGauge, watchesEnded, searchDuration}) {
		err := r.Register(collector)
		if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !again {
			return err
		}
	}
	return nil
}
