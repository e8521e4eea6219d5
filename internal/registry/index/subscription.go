// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// MaxHeld bounds how many bytes updates hold in memory for the readers that have not processed them (Update.Bytes). A
// reader that is further behind must stop.
const MaxHeld = 32 << 20

// maxIndexedTerms bounds the terms by which a subscription is in the index of subscriptions. A
// subscription that needs more terms is not in the index, and the feed compares it with each
// change.
const maxIndexedTerms = 32

// Interest selects the agents that a reader receives: those in Set that match Query.
type Interest struct {
	Query *Query
	Set   *access.Set
}

// All reports whether the reader receives all agents.
func (i *Interest) All() bool { return i.Set.All() && !i.Query.Filters() }

// Selects reports whether the reader receives the agent of an entry. It returns false for nil.
func (i *Interest) Selects(e *Entry) bool {
	return e != nil && e.VisibleTo(i.Set) && i.Query.Matches(e)
}

// Effect is the effect of a change on the agents that a reader has.
type Effect int

// Effects of a change.
const (
	// NoEffect means that the reader does not receive the change.
	NoEffect Effect = iota
	// Upserts means that the reader must store the agent or its new state.
	Upserts
	// Removes means that the reader must drop the agent.
	Removes
)

// EffectOf returns the effect of a change on the reader.
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

// Subscription notifies one reader of the updates that affect its agents. Its methods are not safe
// for concurrent use.
type Subscription struct {
	all      *subscriptions
	interest Interest
	// followed is used only if the reader receives all agents, so that each update affects it. It
	// is the update that the reader has taken last. For other readers, followed is nil, and ready
	// receives an element.
	followed *Update
	ready    chan struct{}
	places   places
	// tooFarBehind is called once the reader is behind by more than MaxHeld. It is nil afterwards. subscriptions.mu guards
	// it. held is the first update that the reader holds, nil for none.
	tooFarBehind func()
	held         atomic.Pointer[Update]

	// behind is nil if the reader has taken all updates that affect it. Otherwise, it is the update
	// before the first one that affects the reader and that the reader has not taken.
	// subscriptions.mu guards behind.
	behind *Update
}

// Ready returns a channel from which the reader can receive when it should call Take. The channel
// may change after each call of Take or Change.
func (s *Subscription) Ready() <-chan struct{} {
	if s.followed != nil {
		return s.followed.ready
	}
	return s.ready
}

// Take returns an update whose state the reader has, and the latest update. If they are equal, no update since the last
// call of Take affects the reader. Otherwise, the reader must process the changes between the two.
func (s *Subscription) Take() (has, latest *Update) {
	if s.followed != nil {
		has = s.followed
		s.followed = s.all.latest.Load()
		return has, s.followed
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return s.take()
}

func (s *Subscription) take() (has, latest *Update) {
	latest = s.all.latest.Load()
	has = s.followed
	if has != nil {
		return has, latest
	}
	has, s.behind = s.behind, nil
	if has == nil {
		has = latest
	}
	select {
	case <-s.ready:
	default:
	}
	return has, latest
}

// Hold tells the feed that the reader holds an update and those after it, or none if the update is nil.
func (s *Subscription) Hold(u *Update) { s.held.Store(u) }

// Change does the same as Take, and then changes the interest of the reader, beginning with the
// changes after the latest update.
func (s *Subscription) Change(i Interest) (has, latest *Update) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	has, latest = s.take()
	s.all.remove(s)
	s.enter(i)
	return has, latest
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.remove(s)
	delete(s.all.readers, s)
	s.behind = nil
}

// enter makes i the interest of the reader, beginning with the changes after the latest update. The
// caller holds subscriptions.mu.
func (s *Subscription) enter(i Interest) {
	latest := s.all.latest.Load()
	s.interest = i
	s.followed = nil
	if i.All() {
		s.followed = latest
		return
	}
	s.places = i.places(latest.Snapshot)
	s.all.add(s)
}

// places are the places at which a subscription is in the index of subscriptions.
type places struct {
	// A change possibly affects the subscription if the agent has one of terms, or if the
	// Visibility of the agent is at least least. If least is VisibilityCluster, only terms count.
	terms []term
	least access.Visibility
	// unindexed is true if each change possibly affects the subscription.
	unindexed bool
}

// places returns the places in the index for an interest in some agents: the namespace of the query, the rarest term of
// the query, or the namespaces and the visibility of the set. The feed finds each change that affects the reader at one
// of these places.
func (i *Interest) places(s *Snapshot) places {
	switch {
	case i.Query.namespace != "":
		return places{terms: []term{hashTerm(namespaceTerm(i.Query.namespace))}}
	case i.Set.All():
		return places{terms: []term{s.rarest(i.Query.hashes)}}
	case len(i.Set.Names()) > maxIndexedTerms:
		return places{unindexed: true}
	}
	p := places{least: i.Set.Minimum()}
	for _, name := range i.Set.Names() {
		p.terms = append(p.terms, hashTerm(namespaceTerm(name)))
	}
	return p
}

// rarest returns the term among terms that about the fewest agents have, by the signatures of blocks. terms must not be
// empty.
func (s *Snapshot) rarest(terms []term) term {
	counts := make([]int, len(terms))
	for _, b := range s.blocks {
		for i, t := range terms {
			counts[i] += b.rows[t.row()].count()
		}
	}
	return terms[slices.Index(counts, slices.Min(counts))]
}

// subscribers is a set of subscriptions.
type subscribers map[*Subscription]struct{}

// subscriptions has the latest update, and an index by which the feed finds the subscriptions that
// a change possibly affects. Subscriptions of readers that receive all agents are not in the index.
type subscriptions struct {
	// latest is nil before the first update.
	latest atomic.Pointer[Update]

	mu           sync.Mutex
	byTerm       map[term]subscribers
	byVisibility [access.VisibilityOutside + 1]subscribers
	unindexed    subscribers
	// readers has all subscriptions. examined is the value of Update.Bytes at which they were last examined for those that are
	// too far behind.
	readers  subscribers
	examined uint64
}

// subscribe returns a subscription for a reader that already has the state of the latest update.
func (all *subscriptions) subscribe(i Interest, behind func()) *Subscription {
	s := &Subscription{all: all, ready: make(chan struct{}, 1), tooFarBehind: behind}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.readers == nil {
		all.readers = subscribers{}
	}
	all.readers[s] = struct{}{}
	s.enter(i)
	return s
}

// stopSlow stops the readers that are too far behind the update u. The caller holds mu.
func (all *subscriptions) stopSlow(u *Update) {
	if u.Bytes-all.examined < MaxHeld/8 {
		return
	}
	all.examined = u.Bytes
	for s := range all.readers {
		if held := s.held.Load(); held != nil && s.tooFarBehind != nil && u.Bytes-held.Bytes > MaxHeld {
			go s.tooFarBehind()
			s.tooFarBehind = nil
		}
	}
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
		insert(&found)
		if len(found) == 1 {
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
		delete(found, s)
		if len(found) == 0 {
			delete(all.byTerm, t)
		}
	}
	delete(all.byVisibility[s.places.least], s)
	delete(all.unindexed, s)
	s.places = places{}
}

// candidates calls use for each subscription that a change possibly affects. It may call use
// several times for a subscription. The caller holds mu.
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
				each(all.byTerm[t.name()])
			}
		}
	}
}

// follow appends next to the list after latest, and wakes the readers that next affects.
func (all *subscriptions) follow(latest, next *Update) {
	latest.next = next
	var woken []*Subscription
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
	all.latest.Store(next)
	all.stopSlow(next)
	all.mu.Unlock()
	close(latest.ready)
	for _, s := range woken {
		select {
		case s.ready <- struct{}{}:
		default:
		}
	}
}
