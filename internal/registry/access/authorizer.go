// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"
)

const (
	// confirmedLifetime bounds the age of a review that agrees with the RBAC objects.
	// Each review expires up to a fifth earlier, so that those of one moment do not
	// expire together. The objects tell of changes of RBAC earlier; the bound is for
	// authorizers that veto what RBAC allows.
	confirmedLifetime = 10 * time.Minute
	// A review that contradicts the RBAC objects is from an API server that has not
	// seen their last change yet, or from another authorizer. It is repeated soon
	// after a change, and else every contradictedLifetime.
	contradictedLifetime    = 10 * time.Second
	minContradictedLifetime = time.Second
	// parallelReviews bounds the concurrent reviews for one caller.
	parallelReviews = 8
)

// Authorizer resolves the set of Agents that a caller sees: those of the namespaces in
// which it may list Agents, those that its right as a peer shows, and public ones. A
// ServiceAccount also sees its own namespace, whose callers Agents admit by default. A set is resolved once per caller, whatever the request, so neither the time nor the
// number of reviews tells what exists.
//
// A caller costs one review for all namespaces, and one for each namespace in which an
// RBAC object lets it list Agents, and for the right of a peer if an RBAC object grants
// it. A binding that is deleted removes its right at once, without a review. Its methods
// are safe for concurrent use.
type Authorizer struct {
	options AuthorizerOptions
	flights singleflight.Group
	callers *knownCallers
}

// AuthorizerOptions are what an Authorizer needs.
type AuthorizerOptions struct {
	// Review reports whether a caller has a right.
	Review func(ctx context.Context, c Caller, r Right) (bool, error)
	// Bindings names the rights that are reviewed for a caller.
	Bindings *Bindings
	// Candidates returns namespaces that are reviewed for every caller, as is the right
	// of a peer, for clusters whose authorizers grant what no RBAC object shows. It may
	// be nil.
	Candidates func() []string
	Clock      clock.PassiveClock
}

// NewAuthorizer returns an Authorizer. The Bindings must not serve another one.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	a := &Authorizer{options: o, callers: newKnownCallers()}
	o.Bindings.notify(a.callers.markAllStale)
	return a
}

// VisibleSet returns the set of Agents that the caller sees now. It returns an error if
// the API server does not answer a review, and that of ctx. Concurrent calls for one
// caller share their reviews.
func (a *Authorizer) VisibleSet(ctx context.Context, c Caller) (*Set, error) {
	if set := a.callers.current(c.fingerprint, a.options.Clock.Now()); set != nil {
		return set, nil
	}
	answer := a.flights.DoChan(c.fingerprint, func() (any, error) {
		// The reviews continue for the other requests when the first one is canceled.
		return a.resolve(context.WithoutCancel(ctx), c)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-answer:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*Set), nil
	}
}

// resolution makes the Set of one caller.
type resolution struct {
	authorizer *Authorizer
	caller     Caller
	grants     grants
	// former has the decisions of earlier resolutions.
	former map[Right]decision

	mu        sync.Mutex
	decisions map[Right]decision
}

func (a *Authorizer) resolve(ctx context.Context, c Caller) (*Set, error) {
	former, changed := a.callers.decisions(c.fingerprint)
	r := &resolution{
		authorizer: a, caller: c, former: former, decisions: map[Right]decision{},
		grants: a.options.Bindings.of(&c),
	}
	set, err := r.run(ctx)
	if err != nil {
		// The next call continues with the decisions that were made.
		maps.Copy(former, r.decisions)
		a.callers.put(c.fingerprint, nil, former)
		return nil, err
	}
	set.changed, set.until = changed, r.until()
	a.callers.put(c.fingerprint, set, r.decisions)
	return set, nil
}

func (r *resolution) run(ctx context.Context) (*Set, error) {
	all, err := r.decide(ctx, Right{})
	if err != nil {
		return nil, err
	}
	if all {
		return NewSet(VisibilityCluster), nil
	}
	group, reviews := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	for right := range r.candidates() {
		group.Go(func() error {
			_, err := r.decide(reviews, right)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	least := VisibilityPublic
	var names []string
	if r.caller.namespace != "" {
		names = append(names, r.caller.namespace)
	}
	for right, d := range r.decisions {
		switch {
		case !d.allowed:
		case right.Peer:
			least = VisibilityFederated
		default:
			names = append(names, right.Namespace)
		}
	}
	return NewSet(least, names...), nil
}

// candidates returns the rights that the caller may have, except for that in all
// namespaces.
func (r *resolution) candidates() map[Right]struct{} {
	rights := map[Right]struct{}{}
	list := r.authorizer.options.Candidates
	if r.grants.peer || list != nil {
		rights[Right{Peer: true}] = struct{}{}
	}
	for namespace := range r.grants.namespaces {
		rights[Right{Namespace: namespace}] = struct{}{}
	}
	if list != nil {
		for _, namespace := range list() {
			rights[Right{Namespace: namespace}] = struct{}{}
		}
	}
	delete(rights, Right{Namespace: r.caller.namespace})
	return rights
}

// decide returns the decision about a right, by a review unless a former one counts.
func (r *resolution) decide(ctx context.Context, right Right) (bool, error) {
	granted := r.grants.cover(right)
	d, found := r.former[right]
	if !found || d.granted != granted || !r.authorizer.options.Clock.Now().Before(d.until) {
		allowed, err := r.authorizer.options.Review(ctx, r.caller, right)
		if err != nil {
			return false, err
		}
		d = decision{allowed: allowed, granted: granted}
		now := r.authorizer.options.Clock.Now()
		if allowed == granted {
			d.until = now.Add(confirmedLifetime - rand.N(confirmedLifetime/5)) //nolint:gosec // it spreads load
		} else {
			d.until = now.Add(max(min(now.Sub(r.grants.changedAt), contradictedLifetime), minContradictedLifetime))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decisions[right] = d
	return d.allowed, nil
}

// until returns the time until which the Set is valid if no RBAC object changes.
func (r *resolution) until() time.Time {
	lifetime := confirmedLifetime
	if r.authorizer.options.Candidates != nil { // whose list changes unnoticed
		lifetime = contradictedLifetime
	}
	until := r.authorizer.options.Clock.Now().Add(lifetime)
	for d := range maps.Values(r.decisions) {
		if d.until.Before(until) {
			until = d.until
		}
	}
	return until
}
