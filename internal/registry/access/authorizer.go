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
	// maxCallers and maxDecisions bound the memory: callers, and namespaces of all
	// callers together. The callers that were not seen for longest are forgotten.
	maxCallers   = 16384
	maxDecisions = 1 << 18
)

// Authorizer resolves the set of namespaces that a caller sees: those in which it may
// list Agents, and for a ServiceAccount its own, because Agents admit their own
// namespace by default. A set is resolved once per caller, whatever the request, so
// neither the time nor the number of reviews tells what exists.
//
// A caller costs one review for all namespaces, and one for each namespace in which an
// RBAC object lets it list Agents. A binding that is deleted removes its namespace at
// once, without a review. Its methods are safe for concurrent use.
type Authorizer struct {
	options AuthorizerOptions
	flights singleflight.Group
	callers *knownCallers
}

// AuthorizerOptions are what an Authorizer needs.
type AuthorizerOptions struct {
	// Review reports whether a caller may list Agents in a namespace, or in all
	// namespaces for "".
	Review func(ctx context.Context, c Caller, namespace string) (bool, error)
	// Bindings names the namespaces that are reviewed for a caller.
	Bindings *Bindings
	// Candidates returns namespaces that are reviewed for every caller, for clusters
	// whose authorizers grant what no RBAC object shows. It may be nil.
	Candidates func() []string
	Clock      clock.PassiveClock
}

// NewAuthorizer returns an Authorizer. The Bindings must not serve another one.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	a := &Authorizer{options: o, callers: newKnownCallers()}
	o.Bindings.notify(a.callers.markAllStale)
	return a
}

// Namespaces returns the set of namespaces that the caller sees now. It returns an
// error if the API server does not answer a review, and that of ctx. Concurrent calls
// for one caller share their reviews.
func (a *Authorizer) Namespaces(ctx context.Context, c Caller) (*Set, error) {
	if set := a.callers.current(c.fingerprint); set != nil {
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

// decision is the outcome of a review.
type decision struct {
	allowed bool
	// granted is what the RBAC objects said. When they say something else, the
	// decision does not count any more.
	granted bool
	until   time.Time
}

// resolution makes the Set of one caller.
type resolution struct {
	authorizer *Authorizer
	caller     Caller
	grants     grants
	// former has the decisions of earlier resolutions.
	former map[string]decision

	mu        sync.Mutex
	decisions map[string]decision
}

func (a *Authorizer) resolve(ctx context.Context, c Caller) (*Set, error) {
	former, changes := a.callers.decisions(c.fingerprint)
	r := &resolution{
		authorizer: a, caller: c, former: former, decisions: map[string]decision{},
		grants: a.options.Bindings.of(&c),
	}
	set, err := r.run(ctx)
	if err != nil {
		// The next call continues with the decisions that were made.
		maps.Copy(former, r.decisions)
		a.callers.put(c.fingerprint, nil, former, 0, changes)
		return nil, err
	}
	a.callers.put(c.fingerprint, set, r.decisions, r.lifetime(), changes)
	return set, nil
}

func (r *resolution) run(ctx context.Context) (*Set, error) {
	all, err := r.decide(ctx, "")
	if err != nil || all {
		return newSet(all, nil), err
	}
	candidates := r.grants.namespaces
	if list := r.authorizer.options.Candidates; list != nil {
		candidates = maps.Clone(candidates)
		for _, namespace := range list() {
			candidates[namespace] = struct{}{}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	for namespace := range candidates {
		if namespace == r.caller.namespace {
			continue
		}
		group.Go(func() error {
			_, err := r.decide(ctx, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var names []string
	if r.caller.namespace != "" {
		names = append(names, r.caller.namespace)
	}
	for namespace, d := range r.decisions {
		if d.allowed {
			names = append(names, namespace)
		}
	}
	return newSet(false, names), nil
}

// decide returns the decision about a namespace, or about all namespaces for "", by a
// review unless a former one counts.
func (r *resolution) decide(ctx context.Context, namespace string) (bool, error) {
	granted := r.grants.covers(namespace)
	d, found := r.former[namespace]
	if !found || d.granted != granted || !r.authorizer.options.Clock.Now().Before(d.until) {
		allowed, err := r.authorizer.options.Review(ctx, r.caller, namespace)
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
	r.decisions[namespace] = d
	return d.allowed, nil
}

// lifetime returns how long the Set is valid if no RBAC object changes.
func (r *resolution) lifetime() time.Duration {
	now := r.authorizer.options.Clock.Now()
	lifetime := confirmedLifetime
	if r.authorizer.options.Candidates != nil { // whose list changes unnoticed
		lifetime = contradictedLifetime
	}
	for d := range maps.Values(r.decisions) {
		lifetime = min(lifetime, d.until.Sub(now))
	}
	return lifetime
}
