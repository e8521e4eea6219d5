// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// Unknown tokens: each costs the API server a TokenReview. The limits are for one
	// address, and for all.
	reviewsBySource, reviewBurstBySource = rate.Limit(1), 5
	reviewsInAll, reviewBurstInAll       = rate.Limit(20), 40
	// maxReviewSources and maxAccepted bound what a reviewLimit remembers. It forgets all at the maximum.
	maxReviewSources = 4_096
	maxAccepted      = 256
)

// reviewLimit limits the TokenReviews that requests for metrics cause. A token that was accepted is
// not limited, so that an attack with other tokens does not stop scrapes. It is safe for concurrent use.
type reviewLimit struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	all      *rate.Limiter
	sources  map[string]*rate.Limiter
	accepted map[[sha256.Size]byte]struct{}
}

func newReviewLimit(c clock.PassiveClock) *reviewLimit {
	return &reviewLimit{
		clock: c, all: rate.NewLimiter(reviewsInAll, reviewBurstInAll),
		sources: map[string]*rate.Limiter{}, accepted: map[[sha256.Size]byte]struct{}{},
	}
}

// limit returns a handler that refuses requests with too many unknown tokens, and otherwise calls next.
func (l *reviewLimit) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		if token != "" && !l.allows(token, r.RemoteAddr) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests with unknown tokens", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenKey{}, token)))
	})
}

// tokenKey is the key of the token in the context of a request, because the authenticator deletes the
// header of a token that it accepts.
type tokenKey struct{}

// accept returns a handler for authorized requests, which remembers their tokens.
func (l *reviewLimit) accept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token, ok := r.Context().Value(tokenKey{}).(string); ok {
			l.remember(token)
		}
		next.ServeHTTP(w, r)
	})
}

func (l *reviewLimit) remember(token string) {
	key := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.accepted) >= maxAccepted {
		clear(l.accepted)
	}
	l.accepted[key] = struct{}{}
}

func (l *reviewLimit) allows(token, address string) bool {
	key := sha256.Sum256([]byte(token))
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.accepted[key]; ok {
		return true
	}
	source := l.sources[host]
	if source == nil {
		if len(l.sources) >= maxReviewSources {
			clear(l.sources)
		}
		source = rate.NewLimiter(reviewsBySource, reviewBurstBySource)
		l.sources[host] = source
	}
	return source.AllowN(now, 1) && l.all.AllowN(now, 1)
}
