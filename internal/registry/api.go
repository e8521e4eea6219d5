// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/go-logr/logr"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// api serves the HTTP API from snapshots of the agents. It writes nothing.
type api struct {
	feed         *index.Feed
	watches      *watches
	searchLimits *searchLimits
	authn        *access.Authenticator
	authz        authorizer
	// signatures finds the card signatures that sidecars have reported. It is nil in a registry without the pods.
	signatures *cardSignatures
	// embeddings is nil without an endpoint for embeddings.
	embeddings *embeddings
	// services are the paths for sidecars that other packages serve.
	services []Service
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
		caller, err := a.caller(r)
		if err != nil {
			a.finish(w, r, err)
			return
		}
		a.serve(w, r, caller, next)
	}
}

// caller returns the sender of a request. For a request without a valid token, it returns errUnauthenticated.
func (a *api) caller(r *http.Request) (access.Caller, error) {
	caller, known, err := a.authn.Caller(r)
	if refused, ok := errors.AsType[access.LimitedError](err); ok {
		return caller, tooMany("token_reviews", refused.Refusal, wrongTokensMessage)
	}
	if err == nil && !known {
		a.denials.unauthenticated(r)
		err = errUnauthenticated
	}
	return caller, err
}

// serve calls next for a request of a known caller, with the current snapshot, and writes
// the error of next as the response.
func (a *api) serve(w http.ResponseWriter, r *http.Request, caller access.Caller, next endpoint) {
	snapshot := a.feed.Current()
	if snapshot == nil {
		a.finish(w, r, errNotIndexed)
		return
	}
	err := next(w, r, caller, snapshot)
	if known, ok := errors.AsType[*apierror.Error](err); ok && known.Status == http.StatusForbidden {
		a.denials.forbidden(r.Context(), &caller, operationOf(r), "")
	}
	a.finish(w, r, err)
}

// finish writes the response to an error of a handler. If err is nil, the handler has responded.
func (a *api) finish(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		return
	}
	if known := a.errorOf(r.Context(), err, "path", r.URL.Path); known != nil {
		fail(w, r, known)
	}
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

// signedCard renders the card of an agent with its signatures for a requester. rendered is nil if the agent has
// no card. omitted is true if the Agent signs its card, but rendered has no signatures. Only the rendering uses a slot of searches, and not
// the verification of the signatures, which has a slot of its own.
func (a *api) signedCard(ctx context.Context, from *requester, e *index.Entry, version string) (rendered *index.Rendering, omitted bool, err error) {
	var signatures []card.Signature
	if a.signatures != nil {
		if signatures, omitted, err = a.signatures.of(ctx, e); err != nil {
			return nil, false, err
		}
	}
	var failed error
	err = inSearchSlot(ctx, from.limits.slots, from.share, func() { rendered, failed = e.Card(version, signatures...) })
	if err = cmp.Or(err, failed); err != nil {
		return nil, false, err
	}
	return rendered, omitted, nil
}

// reservedCard returns the same as signedCard, for which out has reserved as much memory as sizeOf says. A card that waited for memory
// would be in memory that is not reserved: it is rendered again after the wait.
func (a *api) reservedCard(ctx context.Context, out *sender, from *requester, e *index.Entry, version string, sizeOf func(*index.Rendering) int) (rendered *index.Rendering, omitted bool, err error) {
	for {
		rendered, omitted, err = a.signedCard(ctx, from, e, version)
		if err != nil || rendered == nil {
			return nil, omitted, err
		}
		size := sizeOf(rendered)
		if from.limits.tryReserve(&out.reservation, from.share, size) {
			return rendered, omitted, nil
		}
		if err := from.limits.reserveIn(ctx, &out.reservation, from.share, size); err != nil {
			return nil, false, err
		}
	}
}

// findKey returns an agent if the caller may find it, else nil. It resolves the set of agents
// that the caller sees before it looks up the agent, so that a hidden agent and an absent one
// cause the same work. Package access decides by RBAC what the caller sees (Set.Sees). A ServiceAccount also finds an agent outside of this set if the agent's
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
