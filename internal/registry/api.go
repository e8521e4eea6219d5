// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// api serves the HTTP API from snapshots of the agents. It writes only the reports of sidecars,
// into the pods of these sidecars: the health of dependencies as conditions, and the signatures
// of the card.
type api struct {
	feed         *index.Feed
	watches      *watches
	searchLimits *searchLimits
	authn        *access.Authenticator
	authz        authorizer
	health       *healthReports
	// signatures finds the card signatures that sidecars have reported. It is nil in a registry without the pods.
	signatures *cardSignatures
	// embeddings is nil without an endpoint for embeddings.
	embeddings *embeddings
	// exchange issues tokens for calls of agents. It is nil if Options.Signer is nil.
	exchange http.Handler
	// publisher makes the identifiers and URLs of ARD for this registry. If it is nil, the
	// registry serves neither ARD nor A2A.
	publisher *ard.Publisher
	// federation searches the registries of other clusters. It is nil without a peers file or
	// without a publisher.
	federation *federation.Federation
	denials    *denials
	log        logr.Logger
}

// authorizer resolves the set of agents that a caller sees.
type authorizer interface {
	VisibleSet(ctx context.Context, c access.Caller) (*access.Set, error)
}

// errNotIndexed is returned until the first snapshot exists.
var errNotIndexed = errors.New("the index is not complete yet")

// endpoint serves a request of the authenticated caller c from the snapshot s. api.serve writes
// its error as the response.
type endpoint func(w http.ResponseWriter, r *http.Request, c access.Caller, s *index.Snapshot) error

// Values of response headers, for every handler that api.authenticated returns. All responses
// share these slices, which is safe, because net/http copies the headers before it sends them.
var (
	privateNoCache       = []string{"private, no-cache"}
	varyCallerAndVersion = []string{"Authorization, A2A-Version"}
)

// authenticated returns a handler that authenticates the caller and calls next. It writes an
// error of the authentication or of next as the response.
func (a *api) authenticated(next endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header["Cache-Control"] = privateNoCache
		header["Vary"] = varyCallerAndVersion
		caller, known, err := a.authn.Caller(r)
		if refused, ok := errors.AsType[access.LimitedError](err); ok {
			tooMany(w, "token_reviews", refused.Refusal, wrongTokensMessage)
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

// ofPod returns a handler that calls next with the pod to which the token of a request is bound, by the signature of
// the token. If the registry cannot verify the signature, it calls other.
func (a *api) ofPod(next func(http.ResponseWriter, *http.Request, auth.BoundPod) error, other http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		pod, known := a.authn.Pod(r)
		if !known {
			other(w, r)
			return
		}
		w.Header()["Cache-Control"] = privateNoCache
		a.finish(w, r, next(w, r, pod))
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
	var ( // declared after the check above, because errors.As moves them to the heap
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
	wrongTokensMessage = "this address sent too many wrong tokens; request a new token"
	challengeMessage   = "send a ServiceAccount token for the audience a2a-operator.dev, or a token of the registry's OpenID Connect issuer, as Authorization: Bearer"
	unavailableMessage = "the registry cannot answer now; try again"
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

// unavailable logs a failure of the system, and responds 503 with Retry-After. The response does
// not contain the cause. If the client has disconnected, unavailable does nothing.
func (a *api) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if a.logFailure(w, r, err) {
		fail(w, &problem{status: http.StatusServiceUnavailable, Code: "Unavailable", Message: unavailableMessage})
	}
}

// logFailure logs a failure of the system, and sets Retry-After. If the client has disconnected,
// it does neither and returns false.
func (a *api) logFailure(w http.ResponseWriter, r *http.Request, err error) bool {
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return false
	}
	a.logUnlessFrequent(err, "failed to answer a request", "path", r.URL.Path)
	w.Header().Set("Retry-After", "1")
	return true
}

// logUnlessFrequent logs a failure of the system, except access.ErrTooManyReviews and
// access.ErrNoIssuerKeys. These can be frequent, and metrics count them.
func (a *api) logUnlessFrequent(err error, event string, keysAndValues ...any) {
	if !errors.Is(err, access.ErrTooManyReviews) && !errors.Is(err, access.ErrNoIssuerKeys) {
		a.log.Error(err, event, keysAndValues...)
	}
}

// errPeer is the response to a peer that calls an API other than ARD. A peer must not use these
// APIs, because their responses contain addresses inside the cluster.
var errPeer = &problem{
	status: http.StatusForbidden, Code: "Forbidden",
	Message: "this caller has the right of a peer, and can search agents at " + ard.BasePath + " only; use POST " + ard.BasePath + "/search",
}

// visibleSet returns the agents that a caller sees, for the APIs other than ARD. For a peer, it
// returns errPeer.
func (a *api) visibleSet(ctx context.Context, c access.Caller) (*access.Set, error) {
	set, err := a.authz.VisibleSet(ctx, c)
	if err == nil && set.IsPeer() {
		return nil, errPeer
	}
	return set, err
}

// revisionTimeout is how long a search waits for the revision in the parameter minRevision
// (read-your-writes).
const revisionTimeout = 2 * time.Second

// atLeast returns a snapshot that includes the revision r: s, or a later snapshot for which it
// waits. If there is none within revisionTimeout, it returns a problem.
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
// no card. omitted is true if the Agent signs its card, but rendered has no signatures.
func (a *api) signedCard(ctx context.Context, e *index.Entry, version string) (rendered *index.Rendering, omitted bool, err error) {
	if a.signatures == nil {
		rendered, err = e.Card(version, nil)
		return rendered, false, err
	}
	rendered, err = e.Card(version, func(c *card.Card) (signatures []card.Signature, err error) {
		signatures, omitted, err = a.signatures.of(ctx, e.Key, c)
		return signatures, err
	})
	return rendered, omitted, err
}

// findKey returns an agent if the caller may find it, else nil. It resolves the set of agents
// that the caller sees before it looks up the agent, so that a hidden agent and an absent one
// cause the same work. A ServiceAccount also finds an agent outside of this set if the agent's
// rules can admit ServiceAccounts of the caller's namespace. Otherwise, a gateway could not call
// the agent, because it calls only agents that it finds in the registry.
func (a *api) findKey(ctx context.Context, c access.Caller, s *index.Snapshot, key index.Key) (*index.Entry, error) {
	set, err := a.visibleSet(ctx, c)
	if err != nil {
		return nil, err
	}
	if e := s.Get(key); e != nil && (e.VisibleTo(set) || e.Admits(c.Namespace())) {
		return e, nil
	}
	return nil, nil // an absent or hidden agent is no failure
}
