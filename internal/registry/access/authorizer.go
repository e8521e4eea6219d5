// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/kit/sharedcache"
)

const (
	// confirmedLifetime bounds the age of a review whose result agrees with the RBAC objects. Each
	// review expires up to a fifth earlier, so that reviews of the same time do not expire together
	// (jitter). The bound is for other authorizers of the API server, such as webhooks, which can
	// deny what RBAC allows. It is not needed for RBAC objects, because the Authorizer observes
	// their changes at once.
	confirmedLifetime = 10 * time.Minute
	// contradictedLifetime and minContradictedLifetime bound the age of a review whose result
	// contradicts the RBAC objects. Such a result has one of two causes: the API server has not
	// observed the last change of RBAC objects yet, or another authorizer made the decision. The
	// review stays valid for as long as the time from that change to the review (backoff), within
	// the two bounds.
	contradictedLifetime    = 10 * time.Second
	minContradictedLifetime = time.Second
	// parallelReviews bounds the concurrent reviews for one caller.
	parallelReviews = tenantReviews
)

// Authorizer resolves the set of Agents that a caller sees: the Agents of the namespaces in which
// the caller may list Agents, federated Agents if the caller has the right of a peer, and public
// Agents. A ServiceAccount also sees its own namespace, because Agents admit the callers of their
// own namespace by default. The Authorizer resolves a set once for each caller and not for each
// request, so that neither the time nor the number of reviews reveals which Agents exist.
//
// For a caller, the Authorizer sends one review for the right to list the Agents of all namespaces,
// and one for each namespace in which an RBAC object lets the caller list Agents. It sends one more
// for the right of a peer if an RBAC object grants this right. When a binding is deleted, its right
// in one namespace or its right of a peer ends at once, without a review, unless
// AuthorizerOptions.Candidates is set. After the deletion of a binding with the right in all
// namespaces, the Authorizer reviews this right again.
//
// The methods of an Authorizer are safe for concurrent use.
type Authorizer struct {
	options AuthorizerOptions
	flights singleflight.Group
	callers *knownCallers
}

// AuthorizerOptions configure an Authorizer.
type AuthorizerOptions struct {
	// Review reports whether a caller has a right.
	Review func(ctx context.Context, c Caller, r Right) (bool, error)
	// Bindings determines the rights that are reviewed for a caller.
	Bindings *Bindings
	// Candidates returns namespaces whose right is reviewed for every caller. It is for clusters
	// with authorizers that grant rights without RBAC objects. If it is nil, only rights that RBAC
	// objects grant are reviewed. If it is not nil, the right of a peer is also reviewed for every
	// caller.
	Candidates func() []string
	Clock      clock.PassiveClock
}

// NewAuthorizer returns an Authorizer. No other Authorizer may use its Bindings, because Bindings
// notify only one Authorizer.
func NewAuthorizer(o AuthorizerOptions) *Authorizer {
	a := &Authorizer{options: o, callers: newKnownCallers()}
	o.Bindings.notify(a.callers.markAllStale)
	return a
}

// VisibleSet returns the set of Agents that the caller sees now. It returns an error if
// the API server does not answer a review, ErrTooManyReviews if too many reviews wait, and the
// error of ctx if ctx ends first. Concurrent calls for one caller share their reviews
// (singleflight).
func (a *Authorizer) VisibleSet(ctx context.Context, c Caller) (*Set, error) {
	if set := a.callers.current(c.fingerprint, a.options.Clock.Now()); set != nil {
		return set, nil
	}
	answer := a.flights.DoChan(c.fingerprint, func() (any, error) {
		// When the first of several requests of the caller is canceled, the reviews continue for
		// the others.
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
	// former has the decisions of earlier resolutions for the same caller, and denied those of
	// earlier denials.
	former map[Right]decision
	denied denials

	mu        sync.Mutex
	decisions map[Right]decision
}

func (a *Authorizer) resolve(ctx context.Context, c Caller) (*Set, error) {
	former, denied, changed := a.callers.decisions(c.fingerprint)
	r := &resolution{
		authorizer: a, caller: c, former: former, denied: denied, decisions: map[Right]decision{},
		grants: a.options.Bindings.of(&c),
	}
	set, err := r.run(ctx)
	if err != nil {
		// put stores the decisions that this call has made, so that the next call need not make
		// them again.
		maps.Copy(former, r.decisions)
		a.callers.put(&c, nil, former, denied)
		return nil, err
	}
	set.changed = changed
	set.until = r.until()
	a.callers.put(&c, set, r.decisions, r.takeDenials())
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
	minimum := VisibilityPublic
	var names []string
	if r.caller.namespace != "" {
		names = append(names, r.caller.namespace)
	}
	for right, d := range r.decisions {
		switch {
		case !d.allowed:
		case right.Peer:
			minimum = VisibilityFederated
		default:
			names = append(names, right.Namespace)
		}
	}
	return NewSet(minimum, names...), nil
}

// candidates returns the rights that need a decision if the caller may not list the Agents of all
// namespaces. For a ServiceAccount, it omits the right to list the ServiceAccount's own namespace,
// which the ServiceAccount always sees.
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

// decide reports whether the caller has a right. It sends a review unless a former decision
// is still valid.
func (r *resolution) decide(ctx context.Context, right Right) (bool, error) {
	granted := r.grants.cover(right)
	d, found := r.former[right]
	if !found {
		d, found = r.denied.decision(right)
	}
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

// takeDenials moves the denials that RBAC objects confirm from the decisions into the result. Nearly all
// decisions are such denials if there are Candidates.
func (r *resolution) takeDenials() denials {
	if r.authorizer.options.Candidates == nil {
		return denials{}
	}
	var d denials
	for right, each := range r.decisions {
		if right.Namespace == "" {
			continue
		}
		d.reviewed = append(d.reviewed, right.Namespace)
		if each.allowed || each.granted {
			continue
		}
		if d.until.IsZero() || each.until.Before(d.until) {
			d.until = each.until
		}
		delete(r.decisions, right)
	}
	slices.Sort(d.reviewed)
	return d
}

// until returns the time at which the Set becomes stale if no RBAC object changes before.
func (r *resolution) until() time.Time {
	lifetime := confirmedLifetime
	if r.authorizer.options.Candidates != nil { // no event reports that the result of Candidates has changed
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

const (
	// maxCallers bounds the callers in memory, and maxDecisions the decisions about all callers
	// together. A caller counts for decisionsOfCaller at least.
	maxCallers        = 16384
	maxDecisions      = 1 << 18
	decisionsOfCaller = maxDecisions / maxCallers
)

// decision is the outcome of a review.
type decision struct {
	allowed bool
	// granted is true if the RBAC objects granted the right at the time of the review. The decision
	// is valid only until this changes.
	granted bool
	until   time.Time
}

// denials are the denials of one caller that the RBAC objects confirm: all reviewed namespaces, except
// those about which the caller has a decision.
type denials struct {
	// reviewed is sorted. The callers that were resolved with the same namespaces share it, so that a
	// caller costs little memory, whatever the number of namespaces is.
	reviewed []string
	// until is the time at which the first of the denials expires.
	until time.Time
}

// decision returns the denial of a right, or false if there is none.
func (d denials) decision(right Right) (decision, bool) {
	_, found := slices.BinarySearch(d.reviewed, right.Namespace)
	return decision{until: d.until}, found && right.Namespace != ""
}

// knownCallers stores the sets and decisions of a bounded number of callers. A request that
// has the Set of an evicted caller can continue to use it.
type knownCallers struct {
	mu sync.Mutex
	// byCaller has a knownCaller for each fingerprint. Tenants share it. The cost of a caller is the number of its decisions without denials, and
	// at least decisionsOfCaller.
	byCaller *sharedcache.Cache[string, string, knownCaller]
	// reviewed are the namespaces of the last denials.
	reviewed []string
	// changed is closed by the next call of markAllStale, which makes a new channel. All Sets that
	// were resolved since the last call share this channel.
	changed chan struct{}
}

// knownCaller has the set and the decisions of one caller.
type knownCaller struct {
	// set is nil after a resolution that failed.
	set       *Set
	decisions map[Right]decision
	denied    denials
}

func newKnownCallers() *knownCallers {
	return &knownCallers{changed: make(chan struct{}), byCaller: sharedcache.New[string, string, knownCaller](maxDecisions)}
}

// current returns the set of a caller, or nil if there is none or the set is stale.
func (k *knownCallers) current(fingerprint string, now time.Time) *Set {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, found := k.byCaller.Get(fingerprint)
	if !found {
		return nil
	}
	if set := known.set; set != nil && !set.IsStale(now) {
		return set
	}
	return nil
}

// decisions returns a copy of the stored decisions about a caller, its denials, and the channel for the
// field changed of the Set that the caller of decisions resolves. A change of RBAC objects after this
// call closes the channel.
func (k *knownCallers) decisions(fingerprint string) (former map[Right]decision, denied denials, changed <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	former = map[Right]decision{}
	if known, found := k.byCaller.Get(fingerprint); found {
		maps.Copy(former, known.decisions)
		denied = known.denied
	}
	return former, denied, k.changed
}

// put stores the set of a caller, its decisions and its denials.
func (k *knownCallers) put(c *Caller, set *Set, decisions map[Right]decision, denied denials) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.Equal(denied.reviewed, k.reviewed) {
		denied.reviewed = k.reviewed
	}
	k.reviewed = denied.reviewed
	cost := min(max(len(decisions), decisionsOfCaller), maxDecisions)
	k.byCaller.Put(c.Tenant(), c.fingerprint, knownCaller{set, decisions, denied}, cost)
}

// markAllStale makes all sets stale, including those of evicted callers. The stored decisions do
// not change.
func (k *knownCallers) markAllStale() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.changed)
	k.changed = make(chan struct{})
}
