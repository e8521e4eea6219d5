// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"container/list"
	"maps"
	"sync"
	"time"
)

// knownCallers remembers the sets and decisions of a bounded number of callers.
type knownCallers struct {
	mu       sync.Mutex
	byCaller map[string]*list.Element
	byUsage  *list.List // of *knownCaller, the latest first
	// total is the number of decisions of all callers.
	total int
	// changes counts the calls of markAllStale.
	changes uint64
}

// knownCaller is what is remembered of one caller.
type knownCaller struct {
	fingerprint string
	// set is nil after a resolution that failed.
	set       *Set
	decisions map[string]decision
	// expiry marks the set stale.
	expiry *time.Timer
}

func newKnownCallers() *knownCallers {
	return &knownCallers{byCaller: map[string]*list.Element{}, byUsage: list.New()}
}

// current returns the set of a caller, nil if there is none or it is stale.
func (k *knownCallers) current(fingerprint string) *Set {
	k.mu.Lock()
	defer k.mu.Unlock()
	element, found := k.byCaller[fingerprint]
	if !found {
		return nil
	}
	k.byUsage.MoveToFront(element)
	if set := element.Value.(*knownCaller).set; set != nil && !set.isStale() {
		return set
	}
	return nil
}

// decisions returns a copy of the decisions about a caller, and the number of changes
// for put.
func (k *knownCallers) decisions(fingerprint string) (map[string]decision, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	former := map[string]decision{}
	if element, found := k.byCaller[fingerprint]; found {
		maps.Copy(former, element.Value.(*knownCaller).decisions)
	}
	return former, k.changes
}

// put remembers the set of a caller, which becomes stale after its lifetime. It is stale
// from the start if RBAC objects changed since decisions returned changes.
func (k *knownCallers) put(fingerprint string, set *Set, decisions map[string]decision, lifetime time.Duration, changes uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, found := k.byCaller[fingerprint]; found {
		k.remove(element)
	}
	known := &knownCaller{fingerprint: fingerprint, set: set, decisions: decisions}
	if set != nil {
		if changes != k.changes {
			set.markStale()
		} else {
			known.expiry = time.AfterFunc(lifetime, set.markStale)
		}
	}
	k.byCaller[fingerprint] = k.byUsage.PushFront(known)
	k.total += len(decisions)
	for k.byUsage.Len() > 1 && (k.byUsage.Len() > maxCallers || k.total > maxDecisions) {
		k.remove(k.byUsage.Back())
	}
}

func (k *knownCallers) remove(element *list.Element) {
	known := k.byUsage.Remove(element).(*knownCaller)
	delete(k.byCaller, known.fingerprint)
	k.total -= len(known.decisions)
	known.markStale()
}

func (c *knownCaller) markStale() {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if c.set != nil {
		c.set.markStale()
	}
}

// markAllStale makes all sets stale and keeps the decisions.
func (k *knownCallers) markAllStale() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	for _, element := range k.byCaller {
		element.Value.(*knownCaller).markStale()
	}
}
