// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

// What an address may ask of the API server: each token that is not remembered
// costs a TokenReview.
var reviewRate = limit.Rate{PerSecond: 10, Burst: 100}

const (
	// limitedAddresses bounds the addresses that are counted; further ones share.
	limitedAddresses = 4096
	// waitingReviews bounds the questions that wait for their turn, of each kind.
	waitingReviews = 512
)

// limited counts what was refused, by the limit: token_reviews of one address,
// reviews of all, or health_reports of one pod.
var limited = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "a2a_registry_limited_total",
	Help: "Requests to the registry that were refused because a limit was reached, by the limit; docs/limits.md lists them.",
}, []string{"limit"})

// register adds the metrics, which all registries of a process share.
func register(r prometheus.Registerer) error {
	err := r.Register(limited)
	if _, again := errors.AsType[prometheus.AlreadyRegisteredError](err); again {
		return nil
	}
	return err
}

// errTooManyReviews is why a question was not asked.
var errTooManyReviews = errors.New("too many questions wait for the API server")

// tooMany answers a request that a limit refuses, and says when to come again.
func tooMany(w http.ResponseWriter, name string, refusal limit.Refusal, message string) {
	limited.WithLabelValues(name).Inc()
	seconds := int((max(refusal.Wait, 1) + time.Second - 1) / time.Second)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	fail(w, &problem{
		status: http.StatusTooManyRequests, Code: "TooManyRequests",
		Message: message,
	})
}
