// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"container/list"
	"maps"
	"sync"
	"time"
)

const (
	// maxCallers bounds the callers in memory, and maxDecisions the decisions about all
	// of them. The least recently seen callers are evicted first.
	maxCallers   = 16384
	maxDecisions = 1 << 18
)

// decision is the outcome of a review.
type decision struct {
	allowed bool
	// granted is true if the RBAC objects granted the right at the time of the review. The
	// decision is not valid any more when this changes.
	granted bool
	until   time.Time
}

// knownCallers remembers the sets and decisions of a bounded number of callers. A Set
// stays valid for its holders when its caller is evicted.
type knownCallers struct {
	mu       sync.Mutex
	byCaller map[string]*list.Element
	byUsage  *list.List // of *knownCaller, the latest first
	// total is the number of decisions of all callers.
	total int
	// changed is closed by the next markAllStale. All Sets that were resolved since the
	// last markAllStale share it.
	changed chan struct{}
}

// knownCaller has the set and the decisions of one caller.
type knownCaller struct {
	fingerprint string
	// set is nil after a resolution that failed.
	set       *Set
	decisions map[Right]decision
}

func newKnownCallers() *knownCallers {
	return &knownCallers{byCaller: map[string]*list.Element{}, byUsage: list.New(), changed: make(chan struct{})}
}

// current returns the set of a caller, nil if there is none or it is stale.
func (k *knownCallers) current(fingerprint string, now time.Time) *Set {
	k.mu.Lock()
	defer k.mu.Unlock()
	element, found := k.byCaller[fingerprint]
	if !found {
		return nil
	}
	k.byUsage.MoveToFront(element)
	if set := element.Value.(*knownCaller).set; set != nil && !set.IsStale(now) {
		return set
	}
	return nil
}

// decisions returns a copy of the decisions about a caller, and the channel for the Set
// that is resolved with them. A change of RBAC objects after this call closes the channel.
func (k *knownCallers) decisions(fingerprint string) (former map[Right]decision, changed <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	former = map[Right]decision{}
	if element, found := k.byCaller[fingerprint]; found {
		maps.Copy(former, element.Value.(*knownCaller).decisions)
	}
	return former, k.changed
}

// put remembers the set of a caller and its decisions.
func (k *knownCallers) put(fingerprint string, set *Set, decisions map[Right]decision) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, found := k.byCaller[fingerprint]; found {
		k.remove(element)
	}
	k.byCaller[fingerprint] = k.byUsage.PushFront(&knownCaller{fingerprint: fingerprint, set: set, decisions: decisions})
	k.total += len(decisions)
	for k.byUsage.Len() > 1 && (k.byUsage.Len() > maxCallers || k.total > maxDecisions) {
		k.remove(k.byUsage.Back())
	}
}

func (k *knownCallers) remove(element *list.Element) {
	known := k.byUsage.Remove(element).(*knownCaller)
	delete(k.byCaller, known.fingerprint)
	k.total -= len(known.decisions)
}

// markAllStale makes all sets stale, also the sets of evicted callers. The decisions stay
// in memory.
func (k *knownCallers) markAllStale() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.changed)
	k.changed = make(chan struct{})
}
