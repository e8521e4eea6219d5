// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package embedding

import (
	"context"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	// queryBudget is how long a search waits for the vector of its query.
	queryBudget = 300 * time.Millisecond
	// queryPause is how long no request for a query of a caller is sent after a failed one. Meanwhile,
	// only queries in the cache have a vector.
	queryPause = 5 * time.Second
	// rememberedQueries bounds the vectors of queries in memory. concurrentQueries bounds the concurrent requests for
	// vectors of queries.
	rememberedQueries = 1024
	concurrentQueries = 8
	// maxQueryBytes bounds the text of a query in a request. Longer texts are cut.
	maxQueryBytes = 2 << 10
)

// queryKey identifies a query. It contains the caller, so that callers share no cached vectors: otherwise, the
// duration of a search would show a caller what other callers search for.
type queryKey struct{ caller, text string }

// queries requests and caches the vectors of queries. It is safe for concurrent use.
type queries struct {
	embed func(ctx context.Context, texts []string) ([]*Vector, error)
	now   func() time.Time

	flights singleflight.Group
	slots   chan struct{}

	mu sync.Mutex
	// known has the cached vectors. order is a ring buffer of the keys in known, in which the oldest
	// key is at the index next.
	known map[queryKey]*Vector
	order [rememberedQueries]queryKey
	next  int
	// pausedUntil is the time until which no request for a query of a caller is sent. It is kept for each
	// caller, because a caller can choose queries that take long. It has at most rememberedQueries callers.
	pausedUntil map[string]time.Time
}

func newQueries(embed func(context.Context, []string) ([]*Vector, error), now func() time.Time) *queries {
	return &queries{embed: embed, now: now, slots: make(chan struct{}, concurrentQueries), known: map[queryKey]*Vector{}, pausedUntil: map[string]time.Time{}}
}

// vector returns the vector of a caller's query, or nil if there is none within queryBudget.
func (q *queries) vector(ctx context.Context, caller, text string) *Vector {
	key := queryKey{caller, strings.ToValidUTF8(text[:min(len(text), maxQueryBytes)], "")}
	q.mu.Lock()
	known := q.known[key]
	paused := q.now().Before(q.pausedUntil[caller])
	q.mu.Unlock()
	if known != nil {
		return known
	}
	if paused {
		requests.WithLabelValues(kindQuery, resultSkipped).Inc()
		return nil
	}
	// Equal concurrent queries of a caller share one request, which continues when the first of these queries is
	// canceled.
	result := q.flights.DoChan(key.caller+"\x00"+key.text, func() (any, error) { return q.request(context.WithoutCancel(ctx), key), nil })
	select {
	case r := <-result:
		return r.Val.(*Vector)
	case <-time.After(queryBudget):
		q.pause(caller)
		return nil
	case <-ctx.Done():
		return nil
	}
}

// request requests the vector of a query, and stores it in known. It returns nil if the request fails, or if
// concurrentQueries other requests are running.
func (q *queries) request(ctx context.Context, key queryKey) *Vector {
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	default:
		requests.WithLabelValues(kindQuery, resultSkipped).Inc()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryBudget)
	defer cancel()
	vectors, err := q.embed(ctx, []string{key.text})
	if err != nil {
		q.pause(key.caller)
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[key] == nil {
		delete(q.known, q.order[q.next])
		q.order[q.next] = key
		q.next = (q.next + 1) % rememberedQueries
	}
	q.known[key] = vectors[0]
	return vectors[0]
}

func (q *queries) pause(caller string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pausedUntil) >= rememberedQueries {
		clear(q.pausedUntil)
	}
	q.pausedUntil[caller] = q.now().Add(queryPause)
}
