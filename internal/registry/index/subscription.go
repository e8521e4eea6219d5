// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"sync"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// maxIndexedTerms bounds the terms that lead to one subscription. The feed compares a
// subscription that needs more with each change.
const maxIndexedTerms = 32

// Interest selects the agents that a reader has: those in Set that match Query.
type Interest struct {
	Query *Query
	Set   *access.Set
}

// All reports whether the reader has all agents.
func (i *Interest) All() bool { return i.Set.All() && !i.Query.Filters() }

// Selects reports whether the reader has an entry, which may be nil.
func (i *Interest) Selects(e *Entry) bool {
	return e != nil && e.VisibleTo(i.Set) && i.Query.Matches(e)
}

// Effect is the effect of a change on the agents that a reader stores.
type Effect int

// Effects of a change.
const (
	// NoEffect is the effect of a change that the reader cannot see.
	NoEffect Effect = iota
	// Upserts is the effect if the reader stores the agent.
	Upserts
	// Removes is the effect if the reader drops the agent.
	Removes
)

// EffectOf returns the effect of a change.
func (i *Interest) EffectOf(c *Change) Effect {
	switch {
	case i.Selects(c.After):
		if c.Unchanged() && (c.SameVisibility() || i.Selects(c.Before)) {
			return NoEffect
		}
		return Upserts
	case i.Selects(c.Before):
		return Removes
	default:
		return NoEffect
	}
}

// Subscription tells one reader when an update has a change with an effect for it. Its
// methods are for one goroutine.
type Subscription struct {
	feed     *Feed
	interest Interest
	// followed is the update that a reader of all agents has taken. Each update concerns it.
	// It is nil for other readers, which wait for ready.
	followed *Update
	ready    chan struct{}
	places   places

	// behind is the update before the first one that concerns the reader and that it has not
	// taken, nil for none. subscriptions.mu guards it.
	behind *Update
}

// Subscribe returns a subscription for a reader that has the latest update. There must be
// one. The caller closes the subscription.
func (f *Feed) Subscribe(i Interest) *Subscription {
	s := &Subscription{feed: f, ready: make(chan struct{}, 1)}
	f.subscriptions.mu.Lock()
	defer f.subscriptions.mu.Unlock()
	s.enter(i)
	return s
}

// Ready returns a channel from which the reader can receive when it should call Take.
func (s *Subscription) Ready() <-chan struct{} {
	if s.followed != nil {
		return s.followed.ready
	}
	return s.ready
}

// Take returns an update with all that the reader has received, and the latest update. They are equal
// if nothing concerns the reader. The reader then has the changes from one to the other.
func (s *Subscription) Take() (has, latest *Update) {
	if s.followed != nil {
		has, s.followed = s.followed, s.feed.Latest()
		return has, s.followed
	}
	s.feed.subscriptions.mu.Lock()
	defer s.feed.subscriptions.mu.Unlock()
	return s.take()
}

func (s *Subscription) take() (has, latest *Update) {
	latest = s.feed.Latest()
	if has = s.followed; has != nil {
		return has, latest
	}
	if has, s.behind = s.behind, nil; has == nil {
		has = latest
	}
	select {
	case <-s.ready:
	default:
	}
	return has, latest
}

// Change is Take, and gives the reader another interest from the latest update on.
func (s *Subscription) Change(i Interest) (has, latest *Update) {
	all := &s.feed.subscriptions
	all.mu.Lock()
	defer all.mu.Unlock()
	has, latest = s.take()
	all.remove(s)
	s.enter(i)
	return has, latest
}

// Close ends the subscription.
func (s *Subscription) Close() {
	all := &s.feed.subscriptions
	all.mu.Lock()
	defer all.mu.Unlock()
	all.remove(s)
	s.behind = nil
}

// enter begins an interest at the latest update.
func (s *Subscription) enter(i Interest) {
	latest := s.feed.Latest()
	s.interest, s.followed = i, nil
	if i.All() {
		s.followed = latest
		return
	}
	s.places = i.places(latest.Snapshot)
	s.feed.subscriptions.add(s)
}

// places are where a subscription is indexed.
type places struct {
	// terms lead to the subscription, and so does a visibility of least or more, unless it
	// is VisibilityCluster.
	terms []term
	least access.Visibility
	// unindexed is true if each change leads to it.
	unindexed bool
}

// places returns where a reader of some agents is indexed: by its namespace, by those that its caller sees,
// or by its rarest term. Each change that concerns it has one of them.
func (i *Interest) places(s *Snapshot) places {
	switch {
	case i.Query.namespace != "":
		return places{terms: []term{hashTerm(namespaceTerm(i.Query.namespace))}}
	case i.Set.All():
		return places{terms: []term{s.rarest(i.Query.hashes)}}
	case len(i.Set.Names()) > maxIndexedTerms:
		return places{unindexed: true}
	}
	p := places{least: i.Set.Least()}
	for _, name := range i.Set.Names() {
		p.terms = append(p.terms, hashTerm(namespaceTerm(name)))
	}
	return p
}

// rarest returns the term of a list, which is not empty, that the fewest agents have.
func (s *Snapshot) rarest(terms []term) term {
	var space [1]document
	found, least := terms[0], s.size+1
	for _, t := range terms {
		if n := s.terms.find(t, &space).count; n < least {
			found, least = t, n
		}
	}
	return found
}

// subscribers is a set of subscriptions.
type subscribers map[*Subscription]struct{}

// subscriptions is an index that finds the subscriptions that a change may concern. It does
// not contain the subscriptions to all agents.
type subscriptions struct {
	mu           sync.Mutex
	byTerm       map[term]subscribers
	byVisibility [access.VisibilityOutside + 1]subscribers
	unindexed    subscribers
}

func (all *subscriptions) add(s *Subscription) {
	insert := func(to *subscribers) {
		if *to == nil {
			*to = subscribers{}
		}
		(*to)[s] = struct{}{}
	}
	for _, t := range s.places.terms {
		found := all.byTerm[t]
		if insert(&found); len(found) == 1 {
			if all.byTerm == nil {
				all.byTerm = map[term]subscribers{}
			}
			all.byTerm[t] = found
		}
	}
	if s.places.least > access.VisibilityCluster {
		insert(&all.byVisibility[s.places.least])
	}
	if s.places.unindexed {
		insert(&all.unindexed)
	}
}

func (all *subscriptions) remove(s *Subscription) {
	for _, t := range s.places.terms {
		found := all.byTerm[t]
		if delete(found, s); len(found) == 0 {
			delete(all.byTerm, t)
		}
	}
	delete(all.byVisibility[s.places.least], s)
	delete(all.unindexed, s)
	s.places = places{}
}

// candidates calls use with each subscription that a change may concern, with some more than
// once.
func (all *subscriptions) candidates(c *Change, use func(*Subscription)) {
	each := func(found subscribers) {
		for s := range found {
			use(s)
		}
	}
	each(all.unindexed)
	highest := access.VisibilityCluster
	for _, e := range [...]*Entry{c.Before, c.After} {
		if e != nil {
			highest = max(highest, e.Visibility)
		}
	}
	for v := access.VisibilityCluster + 1; v <= highest; v++ {
		each(all.byVisibility[v])
	}
	if len(all.byTerm) == 0 {
		return
	}
	for _, e := range [...]*Entry{c.Before, c.After} {
		if e != nil {
			for _, t := range e.terms {
				each(all.byTerm[t])
			}
		}
	}
}

// follow makes next the update after latest, and wakes the readers that it concerns.
func (f *Feed) follow(latest, next *Update) {
	latest.next = next
	var woken []*Subscription
	all := &f.subscriptions
	all.mu.Lock()
	for i := range next.Changes {
		c := &next.Changes[i]
		all.candidates(c, func(s *Subscription) {
			if s.behind == nil && s.interest.EffectOf(c) != NoEffect {
				s.behind = latest
				woken = append(woken, s)
			}
		})
	}
	f.latest.Store(next)
	all.mu.Unlock()
	close(latest.ready)
	for _, s := range woken {
		select {
		case s.ready <- struct{}{}:
		default:
		}
	}
}
