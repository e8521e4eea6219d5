// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/registry/servingcert"
)

// limitedCallers bounds the callers with limits of their own; others share.
const limitedCallers = 4096

// limited counts requests that a limit rejected: token_reviews of one address,
// reviews of all callers, health_reports of one pod, searches or watches of one
// caller, concurrent_searches, response_memory or total_watches.
var limited = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_limited_total",
	Help: "Requests to the registry that a limit rejected, by the limit; docs/limits.md lists them.",
}, []string{"limit"})

// register adds the metrics. Registries of one process share them.
func register(r prometheus.Registerer) error {
	for _, collector := range slices.Concat(index.Collectors(), access.Collectors(), embedding.Collectors(), servingcert.Collectors(), federation.Collectors(), []prometheus.Collector{limited, watchesGauge, watchesEnded, searchDuration}) {
		err := r.Register(collector)
		if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !again {
			return err
		}
	}
	return nil
}

// tooMany responds to a request that a limit rejects, with Retry-After.
func tooMany(w http.ResponseWriter, name string, refusal limit.Refusal, message string) {
	countLimited(w, name, refusal)
	fail(w, &problem{
		status: http.StatusTooManyRequests, Code: "TooManyRequests",
		Message: message,
	})
}

// countLimited counts a request that a limit rejects, and sets Retry-After.
func countLimited(w http.ResponseWriter, name string, refusal limit.Refusal) {
	limited.WithLabelValues(name).Inc()
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter(refusal)/time.Second)))
}

// retryAfter returns when a rejected request may be sent again, in whole seconds.
func retryAfter(refusal limit.Refusal) time.Duration {
	return (max(refusal.Wait, 1) + time.Second - 1).Truncate(time.Second)
}
