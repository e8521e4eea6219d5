// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenkeys

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "a2a_token_key_changes_total",
		Help: "Changes of the token keys that this manager wrote, by change: created, replaced (the Secret was not usable), rotated (the next key signs) or renewed (the former key is withdrawn and a next one published).",
	}, []string{"change"})
	failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "a2a_token_key_failures_total",
		Help: "Failed reads and writes of the Secret with the token keys, including reads of content that is not usable.",
	})
	signingCreated = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "a2a_token_key_created_timestamp_seconds",
		Help: "Time at which the key that signs tokens was created, in Unix seconds; 0 while the manager has no keys. Each key is published for 30 days before it signs.",
	})
)

// Register registers the metrics, which all Sources of a process share.
func Register(r prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{changes, failures, signingCreated} {
		if err := r.Register(c); err != nil {
			if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); !again {
				return err
			}
		}
	}
	return nil
}
