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

// register adds the metrics. Registries of one process share them.
func register(r prometheus.Registerer) error {
	for _, collector := range slices.Concat(index.Collectors(), access.Collectors(), embedding.Collectors(), servingcert.Collectors(), federation.Collectors(), []prometheus.Collector{requestsTotal, requestDurations, limited, watchesGauge, watchesEnded, searchDuration}) {
		err := r.Register(collector)
		if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !again {
			return err
		}
	}
	return nil
}
