// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

var exchanges = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_token_exchanges_total",
	Help: "Requests for a token for calls to an agent, by result: issued, or the OAuth error code of the response.",
}, []string{"result"})

// Register registers the metrics, which all Exchanges of a process share.
func Register(r prometheus.Registerer) error {
	err := r.Register(exchanges)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}
