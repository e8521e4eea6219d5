// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// api serves the HTTP API from snapshots. It writes nothing but the conditions and the card
// signatures that sidecars report; it writes these into the pods of the sidecars.
type api struct {
	feed         *index.Feed
	watches      *watches
	searchLimits *searchLimits
	authn        *access.Authenticator
	authz        *access.Authorizer
	health       *healthReports
	// signatures finds the card signatures that sidecars have reported.
	signatures *cardSignatures
	// embeddings is nil without an endpoint for embeddings.
	embeddings *embeddings
	// exchange issues tokens for calls of agents. It is nil if Options.Signer is nil.
	exchange http.Handler
	// publisher has the domain of the identifiers of ARD and the URL of the registry. If it
	// is nil, the registry serves neither ARD nor A2A.
	publisher *ard.Publisher
	// federation searches the registries of other clusters; nil for none.
	federation *federation.Federation
	denials    *denials
	log        logr.Logger
}

// errNotIndexed is returned until the first snapshot exists.
var errNotIndexed = errors.New("the index is not complete yet")

// endpoint serves a request of the authenticated caller c from the snapshot s.
type endpoint func(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error

// Header values of the responses of every handler that api.authenticated returns. The responses
// share the slices. This is safe, because net/http copies the headers before it sends them.
var (
	privateNoCache       = []string{"private, no-cache"}
	varyCallerAndVersion = []string{"Authorization, A2A-Version"}
)

// authenticated returns a handler that authenticates the caller, calls next, and writes
// the error of either as the response.
func (a *api) authenticated(next endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header["Cache-Control"], header["Vary"] = privateNoCache, varyCallerAndVersion
		caller, known, err := a.authn.Caller(r)
		if refused, ok := errors.AsType[access.LimitedError](err); ok {
			tooMany(w, "token_reviews", refused.Refusal, unknownTokensMessage)
			return
		}
		if err != nil {
			a.unavailable(w, r, err)
			return
		}
		if !known {
			a.denials.unauthenticated(r)
			challenge(w, r)
			return
		}
		a.serve(w, r, caller, next)
	}
}

// serve calls next for a request of a known caller, with the current snapshot, and writes
// the error of next as the response.
func (a *api) serve(w http.ResponseWriter, r *http.Request, caller access.Caller, next endpoint) {
	snapshot := a.feed.Current()
	if snapshot == nil {
		a.unavailable(w, r, errNotIndexed)
		return
	}
	err := next(w, r, caller, snapshot)
	if known, ok := errors.AsType[*problem](err); ok && known.status == http.StatusForbidden {
		a.denials.forbidden(r.Context(), &caller, operationOf(r), "")
	}
	a.finish(w, r, err)
}

func (a *api) finish(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		return
	}
	var ( // only after a failure, because errors.As makes them escape to the heap
		mistake *index.ParameterError
		known   *problem
	)
	switch {
	case errors.As(err, &mistake):
		fail(w, &problem{status: http.StatusBadRequest, Code: "InvalidParameter", Message: mistake.Error(), Field: mistake.Field})
	case errors.As(err, &known):
		fail(w, known)
	default:
		a.unavailable(w, r, err)
	}
}

// Messages that the APIs share.
const (
	unknownTokensMessage = "this address sent too many unknown tokens; use one token for its lifetime"
	challengeMessage     = "send a ServiceAccount token for the audience a2a-operator.dev, or a token of the registry's OpenID Connect issuer, as Authorization: Bearer"
	unavailableMessage   = "the registry cannot answer now; try again"
)

// challenge responds 401 to a request without a valid token.
func challenge(w http.ResponseWriter, r *http.Request) {
	setChallenge(w, r)
	fail(w, &problem{status: http.StatusUnauthorized, Code: "Unauthenticated", Message: challengeMessage})
}

// setChallenge sets the header of a response to a request without a valid token (RFC
// 6750, section 3).
func setChallenge(w http.ResponseWriter, r *http.Request) {
	header := `Bearer realm="a2a-operator.dev"`
	if r.Header.Get("Authorization") != "" {
		header += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", header)
}

// unavailable logs a failure of the system, and responds 503 with Retry-After but without the
// reason. If the client has left, it does neither.
func (a *api) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if a.logFailure(w, r, err) {
		fail(w, &problem{status: http.StatusServiceUnavailable, Code: "Unavailable", Message: unavailableMessage})
	}
}

// logFailure logs a failure of the system and sets Retry-After. It returns false if the
// client has left.
func (a *api) logFailure(w http.ResponseWriter, r *http.Request, err error) bool {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return false
	}
	a.logUnlessFrequent(err, "failed to answer a request", "path", r.URL.Path)
	w.Header().Set("Retry-After", "1")
	return true
}

// logUnlessFrequent logs a failure of the system. It does not log access.ErrTooManyReviews and
// access.ErrNoIssuerKeys, which may be frequent and have metrics.
func (a *api) logUnlessFrequent(err error, event string, keysAndValues ...any) {
	if !errors.Is(err, access.ErrTooManyReviews) && !errors.Is(err, access.ErrNoIssuerKeys) {
		a.log.Error(err, event, keysAndValues...)
	}
}

// errPeer is the response to a peer that calls an API other than ARD. The responses of the other
// APIs contain addresses inside the cluster.
var errPeer = &problem{
	status: http.StatusForbidden, Code: "Forbidden",
	Message: "this caller has the right of a peer, and can search agents at " + ard.BasePath + " only; use POST " + ard.BasePath + "/search",
}

// visibleSet returns the agents that a caller sees in the APIs other than ARD. It returns
// errPeer for a peer.
func (a *api) visibleSet(ctx context.Context, c access.Caller) (*access.Set, error) {
	set, err := a.authz.VisibleSet(ctx, c)
	if err == nil && set.IsPeer() {
		return nil, errPeer
	}
	return set, err
}

// revisionTimeout is how long a search waits for its minRevision (read-your-writes).
const revisionTimeout = 2 * time.Second

// atLeast returns s if s includes the revision r, else it waits for a later snapshot that
// includes r. It returns a problem if there is none within revisionTimeout.
func (a *api) atLeast(ctx context.Context, r index.Revision, s *index.Snapshot) (*index.Snapshot, error) {
	if s.Revision().Includes(r) {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, revisionTimeout)
	defer cancel()
	s, reached := a.feed.AwaitRevision(ctx, r)
	if !reached {
		return nil, &problem{
			status: http.StatusServiceUnavailable, retry: true, Code: "Unavailable", Field: "minRevision",
			Message: "minRevision: this replica of the registry has not reached the revision; try again",
		}
	}
	return s, nil
}

// signedCard renders the card of an agent with its signatures. rendered is nil if the agent has
// no card. omitted is true if the Agent signs its card and the result has no signatures.
func (a *api) signedCard(ctx context.Context, e *index.Entry, version string) (rendered *index.Rendering, omitted bool, err error) {
	rendered, err = e.Card(version, func(c *card.Card) (signatures []card.Signature, err error) {
		signatures, omitted, err = a.signatures.of(ctx, e.Key, c)
		return signatures, err
	})
	return rendered, omitted, err
}

// findKey returns an agent if the caller may find it, else nil. It resolves the set of
// agents that the caller sees before the lookup, so that a hidden agent and an absent one
// cause the same work. A ServiceAccount also finds an agent outside of this set if the
// agent's rules may admit ServiceAccounts of its namespace, because a gateway calls only
// agents that it finds here.
func (a *api) findKey(ctx context.Context, c access.Caller, s *index.Snapshot, key index.Key) (*index.Entry, error) {
	set, err := a.visibleSet(ctx, c)
	if err != nil {
		return nil, err
	}
	if e := s.Get(key); e != nil && (e.VisibleTo(set) || e.Admits(c.Namespace())) {
		return e, nil
	}
	return nil, nil // "no such agent" is not an error
}
