// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// limitedCallers bounds the callers with limits of their own. Further callers share limits.
const limitedCallers = 4096

// limited counts requests that a limit rejected. The limits are token_reviews of one
// address, reviews of all callers, health_reports of one pod, searches, responses or
// watches of one caller, and concurrent_searches, response_memory and total_watches of
// a replica.
var limited = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_limited_total",
	Help: "Requests to the registry that a limit rejected, by the limit; https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/limits.md lists them.",
}, []string{"limit"})

// countLimited counts a request that a limit rejects, and sets Retry-After.
func countLimited(w http.ResponseWriter, name string, refusal limit.Refusal) {
	limited.WithLabelValues(name).Inc()
	w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter(refusal)/time.Second)))
}

// retryAfter returns the time after which a rejected request may be sent again, in whole
// seconds and at least one.
func retryAfter(refusal limit.Refusal) time.Duration {
	return (max(refusal.Wait, 1) + time.Second - 1).Truncate(time.Second)
}

// principalOf returns the accounting principal of a caller. All pods of a ServiceAccount
// have the same principal, and so share its limits.
func principalOf(c *access.Caller) a2a.AccountingPrincipal {
	return a2a.AccountingPrincipal{Principal: c.Username}
}
