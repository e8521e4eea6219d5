// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/fairslots"
	"github.com/a2a-operator/a2a-operator/internal/kit/sourceaddress"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

const (
	// reviewSlots is how many TokenReviews of one queue run at a time, and reviewSlotsPerTenant how many
	// of them for one tenant. reviewsWaiting bounds those that wait.
	reviewSlots          = 4
	reviewSlotsPerTenant = 3
	reviewsWaiting       = 256
	// unknownReviewPace is how long the review of a token of an unknown issuer uses its slot at least, so
	// that such tokens cause at most 40 reviews in a second.
	unknownReviewPace = 100 * time.Millisecond
	// reviewTimeout bounds the wait for a slot. Prometheus waits for 10 s by default.
	reviewTimeout = 5 * time.Second
	// maxAccepted bounds what a reviewLimit remembers. It forgets all at the maximum.
	maxAccepted = 256
)

// reviewLimit limits the TokenReviews that requests for metrics cause, so that a flood of wrong tokens stops
// no scraper, also not one with a new token. Forged tokens are refused without a review. Tokens that the API
// server has signed wait for a review by the namespaces of their ServiceAccounts, and others by the addresses
// of their senders. A token that was accepted does not wait. It is safe for concurrent use.
type reviewLimit struct {
	signatures      *access.Signatures
	signed, unknown *fairslots.Slots[string]

	mu       sync.Mutex
	accepted map[[sha256.Size]byte]struct{}
}

func newReviewLimit(signatures *access.Signatures) *reviewLimit {
	newSlots := func(pace time.Duration) *fairslots.Slots[string] {
		return fairslots.New[string](fairslots.Options{Slots: reviewSlots, PerTenant: reviewSlotsPerTenant, Waiting: reviewsWaiting, Pace: pace})
	}
	return &reviewLimit{
		signatures: signatures, signed: newSlots(0), unknown: newSlots(unknownReviewPace),
		accepted: map[[sha256.Size]byte]struct{}{},
	}
}

// limit returns a handler that lets a request with an unknown token wait, and then calls next.
func (l *reviewLimit) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		if token == "" || l.isAccepted(token) {
			next.ServeHTTP(w, r)
			return
		}
		_, text, _ := strings.Cut(token, " ")
		from, plausible := l.signatures.Sender(strings.TrimSpace(text), sourceOf(r.RemoteAddr))
		if !plausible {
			http.Error(w, "the token is not signed by a key of this cluster", http.StatusUnauthorized)
			return
		}
		slots := l.signed
		if from.IsUnknown {
			slots = l.unknown
		}
		ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
		defer cancel()
		release, err := slots.Acquire(ctx, from.Tenant)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests with unknown tokens", http.StatusTooManyRequests)
			return
		}
		waiting := &review{token: token, release: sync.OnceFunc(release)}
		defer waiting.release()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), reviewKey{}, waiting)))
	})
}

// sourceOf returns the address as which limits count the sender of a request.
func sourceOf(address string) string {
	from, _ := netip.ParseAddrPort(address) // without an address, the zero value
	return sourceaddress.Of(from.Addr()).String()
}

// review is the review of the token of a request. The authenticator deletes the header of a token that it
// accepts, so the review keeps the token.
type review struct {
	token   string
	release func()
}

// reviewKey is the key of a review in the context of a request.
type reviewKey struct{}

// accept returns a handler for authorized requests, which remembers their tokens.
func (l *reviewLimit) accept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reviewed, ok := r.Context().Value(reviewKey{}).(*review); ok {
			reviewed.release()
			l.remember(reviewed.token)
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

func (l *reviewLimit) isAccepted(token string) bool {
	key := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.accepted[key]
	return ok
}
