// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// searchRate bounds the searches of one caller.
var searchRate = limit.Rate{PerSecond: 50, Burst: 200}

// searchTimeout is how long a search waits for a slot.
const searchTimeout = time.Second

var searchDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
	Name:    "a2a_registry_search_duration_seconds",
	Help:    "Time from the start of a search to its result, without the wait for a slot and without sending it.",
	Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, 1},
})

// searches bounds the searches, which run in the process of the controllers: their
// rate by caller, and how many run at a time by the CPUs.
type searches struct {
	callers *limit.Table
	slots   chan struct{}
	clock   clock.PassiveClock
}

func newSearches(c clock.PassiveClock) *searches {
	return &searches{
		callers: limit.NewTable(limitedCallers, searchRate), clock: c,
		slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// admit charges a search to its caller, or responds 429.
func (s *searches) admit(w http.ResponseWriter, c *access.Caller) bool {
	now := s.clock.Now()
	bucket := s.callers.Bucket(principalOf(c), now)
	if bucket.Take(now) {
		return true
	}
	tooMany(w, "searches", bucket.Refusal(now), "this caller searches too often; keep the results, or use watch=true")
	return false
}

// run calls search in a slot. It returns a problem if no slot is free in time.
func (s *searches) run(ctx context.Context, w http.ResponseWriter, search func()) error {
	timer := time.NewTimer(searchTimeout)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		limited.WithLabelValues("concurrent_searches").Inc()
		w.Header().Set("Retry-After", "1")
		return &problem{status: http.StatusServiceUnavailable, Code: "Unavailable", Message: "too many searches run at a time; try again"}
	}
	defer func() { <-s.slots }()
	start := s.clock.Now()
	search()
	searchDuration.Observe(s.clock.Since(start).Seconds())
	return nil
}
