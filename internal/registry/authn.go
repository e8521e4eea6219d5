// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
)

const (
	// acceptedLifetime is how long a token that was revoked still opens the
	// registry, refusedLifetime how long a new one may be turned away.
	acceptedLifetime = 30 * time.Second
	refusedLifetime  = 10 * time.Second
	// rememberedTokens bounds either memory.
	rememberedTokens = 4096
	// maxToken bounds a token, in bytes.
	maxToken = 16 << 10
)

// authenticator turns bearer tokens into callers, and asks once for a token,
// however many requests show it at the same moment.
type authenticator struct {
	review func(ctx context.Context, token string) (Caller, bool, error)
	// Two memories, so that a flood of bad tokens cannot drive out good ones.
	accepted *expiring[Caller]
	refused  *expiring[struct{}]
	flights  singleflight.Group
	// asked is what addresses have asked for lately.
	asked *limit.Table
	clock clock.PassiveClock
}

// limitedError is returned for a token that is not looked at, since its address
// has shown too many.
type limitedError struct{ limit.Refusal }

func (limitedError) Error() string { return "too many tokens of this address are new" }

func newAuthenticator(review func(context.Context, string) (Caller, bool, error), c clock.PassiveClock) *authenticator {
	return &authenticator{
		review:   review,
		accepted: newExpiring[Caller](c, acceptedLifetime, rememberedTokens),
		refused:  newExpiring[struct{}](c, refusedLifetime, rememberedTokens),
		asked:    limit.NewTable(limitedAddresses, reviewRate),
		clock:    c,
	}
}

// caller returns who sent the request; false when it proves nobody.
func (a *authenticator) caller(r *http.Request) (Caller, bool, error) {
	token, found := bearerToken(r)
	if !found {
		return Caller{}, false, nil
	}
	// Tokens themselves are not kept in memory.
	sum := sha256.Sum256([]byte(token))
	key := string(sum[:])
	if caller, found := a.accepted.get(key); found {
		return caller, true, nil
	}
	if _, found := a.refused.get(key); found {
		return Caller{}, false, nil
	}
	now := a.clock.Now()
	if bucket := a.asked.Bucket(a2a.AccountingPrincipalAt(r.RemoteAddr), now); !bucket.Take(now) {
		return Caller{}, false, limitedError{bucket.Refusal(now)}
	}
	return a.ask(r.Context(), key, token)
}

func (a *authenticator) ask(ctx context.Context, key, token string) (Caller, bool, error) {
	answer := a.flights.DoChan(key, func() (any, error) {
		// The first request may go away while others wait for the same answer;
		// the review has a time limit of its own.
		caller, valid, err := a.review(context.WithoutCancel(ctx), token)
		switch {
		case err != nil:
			return nil, err
		case valid:
			a.accepted.put(key, caller)
			return &caller, nil
		default:
			a.refused.put(key, struct{}{})
			return (*Caller)(nil), nil
		}
	})
	select {
	case <-ctx.Done():
		return Caller{}, false, ctx.Err()
	case result := <-answer:
		if result.Err != nil {
			return Caller{}, false, result.Err
		}
		if caller := result.Val.(*Caller); caller != nil {
			return *caller, true, nil
		}
		return Caller{}, false, nil
	}
}

// bearerToken returns the credential of RFC 6750, section 2.1.
func bearerToken(r *http.Request) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken
}
