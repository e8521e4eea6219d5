// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/embedding"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// requester is the sender of a search: a caller, or a client without a token.
type requester struct {
	// principal is the accounting principal to which limits charges the request, and share that for what all
	// senders share.
	principal a2a.AccountingPrincipal
	share     a2a.AccountingPrincipal
	limits    *searchLimits
	// visibleSet returns the set of agents that the sender sees.
	visibleSet  func(context.Context) (*access.Set, error)
	isAnonymous bool
}

// requester returns the requester of an authenticated caller, for the APIs other than ARD.
func (a *api) requester(c *access.Caller) *requester {
	return &requester{
		principal: principalOf(c), share: shareOf(c), limits: a.searchLimits,
		visibleSet: func(ctx context.Context) (*access.Set, error) { return a.visibleSet(ctx, *c) },
	}
}

// inspection is a request that reads what its sender sees.
type inspection struct {
	// cost is the number of searches for which the sender is charged.
	cost int
	// minRevision is a revision of a namespace, or of all for "", that the view must include.
	minRevision index.Revision
	namespace   string
	// words is the text of a ranked search, which also finds agents by meaning. Clients without a token cause no request to
	// the endpoint for embeddings.
	words string
}

// view is what the sender of a request sees at one moment.
type view struct {
	snapshot   *index.Snapshot
	set        *access.Set
	embeddings *embeddings
	// vector is the embedding of the words, nil if there is none.
	vector *embedding.Vector
}

// search returns the page of a query.
func (v *view) search(q *index.Query) index.Page {
	v.embeddings.rankBySimilarity(q, v.vector)
	return v.snapshot.Search(q, v.set)
}

// pages yields the page of a query and those that follow it.
func (v *view) pages(q *index.Query) iter.Seq[index.Page] {
	v.embeddings.rankBySimilarity(q, v.vector)
	return v.snapshot.Pages(q, v.set)
}

// matching yields all agents that match a query.
func (v *view) matching(q *index.Query) iter.Seq[*index.Entry] { return v.snapshot.Matching(q, v.set) }

// namespaces returns the sorted namespaces of all agents.
func (v *view) namespaces() []string { return v.snapshot.Namespaces(v.set) }

// get returns an agent, or nil if it is hidden or absent.
func (v *view) get(key index.Key) *index.Entry {
	if e := v.snapshot.Get(key); e != nil && e.VisibleTo(v.set) {
		return e
	}
	return nil
}

// inspect charges the sender of a request, resolves what it sees, and calls use in a slot of the concurrency limiter. It
// returns the errors of use, of the limits and of the API server.
func (a *api) inspect(ctx context.Context, from *requester, i inspection, use func(*view) error) error {
	if err := from.limits.charged(from.principal, i.cost); err != nil {
		return err
	}
	snapshot, err := a.atLeast(ctx, i.namespace, i.minRevision)
	if err != nil {
		return err
	}
	v := &view{snapshot: snapshot, embeddings: a.embeddings}
	if v.set, err = from.visibleSet(ctx); err != nil {
		return err
	}
	if !from.isAnonymous {
		v.vector = a.embeddings.vector(ctx, from.principal, i.words) // may wait, so it is before the slot
	}
	var failed error
	if err := runIn(ctx, from.limits.slots, from.share, a.searchLimits.clock, func() { failed = use(v) }); err != nil {
		return err
	}
	return failed
}

// errAgain is the error of a use that is called again after a wait for memory.
var errAgain = errors.New("the memory for the result is not free now")

// inspectReserving does the same as inspect for a use whose result needs memory until out has sent it. use calls reserve with the size of the
// result before it makes the result, or at once afterwards, and returns its error. If the memory is not free, use is called again after a wait
// for the memory: in the slot, the wait would delay other requests, and a result that waits would be in memory that is not reserved.
func (a *api) inspectReserving(ctx context.Context, out *sender, from *requester, i inspection, use func(v *view, reserve func(size int) error) error) error {
	for {
		size := 0
		err := a.inspect(ctx, from, i, func(v *view) error {
			return use(v, func(of int) error {
				size = of
				if !from.limits.tryReserve(&out.reservation, from.share, size) {
					return errAgain
				}
				return nil
			})
		})
		if !errors.Is(err, errAgain) {
			return err
		}
		if err := from.limits.reserveIn(ctx, &out.reservation, from.share, size); err != nil {
			return err
		}
		i.cost = 0 // the sender is charged
	}
}

// find returns a page of the agents that a requester sees and that match a query. All APIs search by find or inspect.
func (a *api) find(ctx context.Context, from *requester, q *index.Query) (page index.Page, err error) {
	err = a.inspect(ctx, from, inspection{cost: 1, minRevision: q.MinRevision(), namespace: q.Namespace(), words: q.RankedText()}, func(v *view) error {
		page = v.search(q)
		return nil
	})
	return page, err
}

// revisionTimeout is how long a search waits for the revision in the parameter minRevision
// (read-your-writes).
const revisionTimeout = 2 * time.Second

// atLeast returns a snapshot that includes the revision r of a namespace, or of all for "": the present one, or a later one for which it
// waits. If there is none within revisionTimeout, it returns an error with the status 503.
func (a *api) atLeast(ctx context.Context, namespace string, r index.Revision) (*index.Snapshot, error) {
	s := a.feed.Current()
	if s == nil {
		return nil, errNotIndexed
	}
	if s.RevisionOf(namespace).Includes(r) {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, revisionTimeout)
	defer cancel()
	s, reached := a.feed.AwaitRevisionOf(ctx, namespace, r)
	if !reached {
		late := apierror.Unavailable("minRevision: this replica of the registry has not reached the revision; try again")
		late.Field = "minRevision"
		return nil, late
	}
	return s, nil
}
