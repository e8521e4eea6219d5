// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairqueue has the queue of requests of a controller. Its namespaces take turns, so that
// a namespace with many or slow objects delays the objects of another namespace by its share only.
//
// The package knows no kind of object.
package fairqueue

import (
	"cmp"
	"container/heap"
	"container/list"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// tenants orders the requests that wait. It implements workqueue.Queue for a workqueue.Typed, which
// removes duplicates. It is safe for concurrent use, because release has another caller than the
// other methods.
//
// The order has two rules in turn. Every other request is the best of the namespace that has waited
// for the longest time, so that no namespace starves. The others have the highest priority of all
// namespaces, so that a start of the manager does not delay changes.
type tenants struct {
	// limit is the maximum number of requests of one namespace that run at a time.
	limit int

	mu sync.Mutex
	// waiting has a *tenant for each namespace with a request that waits. The front had its last
	// turn before the others.
	waiting *list.List
	// entries are the entries of waiting, by namespace.
	entries map[string]*list.Element
	// items are the requests that wait.
	items map[reconcile.Request]*item
	// priorities are those of the next Push or Touch of a request; absent means 0.
	priorities map[reconcile.Request]int
	// running are the priorities of the requests between Pop and release. counts is their number by
	// namespace.
	running map[reconcile.Request]int
	counts  map[string]int
	// inTurn is true if the next Pop follows the first of the two rules.
	inTurn bool
	added  uint64
}

type tenant struct {
	namespace string
	requests  requests
}

func newTenants(limit int) *tenants {
	return &tenants{
		limit:      limit,
		waiting:    list.New(),
		entries:    map[string]*list.Element{},
		items:      map[reconcile.Request]*item{},
		priorities: map[reconcile.Request]int{},
		running:    map[reconcile.Request]int{},
		counts:     map[string]int{},
	}
}

// prefer sets the priority of the next Push or Touch of a request to at least priority.
func (t *tenants) prefer(request reconcile.Request, priority int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.priorities[request]; !ok || known < priority {
		t.priorities[request] = priority
	}
}

// takePriority returns the priority that prefer has set, and forgets it.
func (t *tenants) takePriority(request reconcile.Request) int {
	priority := t.priorities[request]
	delete(t.priorities, request)
	return priority
}

// Push adds a request that does not wait.
func (t *tenants) Push(request reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.entries[request.Namespace]
	if entry == nil {
		entry = t.waiting.PushBack(&tenant{namespace: request.Namespace})
		t.entries[request.Namespace] = entry
	}
	t.added++
	it := &item{request: request, priority: t.takePriority(request), added: t.added}
	t.items[request] = it
	heap.Push(&entry.Value.(*tenant).requests, it)
}

// Touch raises the priority of a request that waits.
func (t *tenants) Touch(request reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	priority := t.takePriority(request)
	it := t.items[request]
	if it == nil || priority <= it.priority {
		return
	}
	t.added++
	it.priority = priority
	it.added = t.added
	heap.Fix(&t.entries[request.Namespace].Value.(*tenant).requests, it.index)
}

// Len returns the number of requests that wait and that may run now. It is 0 if only requests of
// namespaces at the limit wait: the worker that ends a request of such a namespace asks again.
func (t *tenants) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	count := 0
	for entry := t.waiting.Front(); entry != nil; entry = entry.Next() {
		if each := entry.Value.(*tenant); t.mayRun(each) {
			count += len(each.requests)
		}
	}
	return count
}

func (t *tenants) mayRun(each *tenant) bool { return t.counts[each.namespace] < t.limit }

// Pop removes the next request. It is called only if Len is not 0, and no other goroutine removes
// requests in between.
func (t *tenants) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.next()
	each := entry.Value.(*tenant)
	it := heap.Pop(&each.requests).(*item)
	delete(t.items, it.request)
	t.waiting.MoveToBack(entry)
	if len(each.requests) == 0 {
		t.waiting.Remove(entry)
		delete(t.entries, each.namespace)
	}
	t.running[it.request] = it.priority
	t.counts[each.namespace]++
	return it.request
}

// next returns the entry of the namespace whose turn it is.
func (t *tenants) next() *list.Element {
	t.inTurn = !t.inTurn
	var best *list.Element
	for entry := t.waiting.Front(); entry != nil; entry = entry.Next() {
		each := entry.Value.(*tenant)
		if !t.mayRun(each) {
			continue
		}
		if t.inTurn {
			return entry
		}
		if best == nil || each.requests[0].priority > best.Value.(*tenant).requests[0].priority {
			best = entry
		}
	}
	return best
}

// priorityOf returns the priority of a request that Pop has returned.
func (t *tenants) priorityOf(request reconcile.Request) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[request]
}

// release ends a request that Pop has returned.
func (t *tenants) release(request reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, request)
	t.counts[request.Namespace]--
	if t.counts[request.Namespace] == 0 {
		delete(t.counts, request.Namespace)
	}
}

// item is a request that waits.
type item struct {
	request  reconcile.Request
	priority int
	// added orders the requests of a priority.
	added uint64
	// index is the place in the heap.
	index int
}

// requests is a heap of the requests of a namespace. The first one has the highest priority, and
// is the oldest of this priority.
type requests []*item

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (r *requests) Len() int { return len(*r) }

func (r *requests) Less(i, j int) bool {
	a := (*r)[i]
	b := (*r)[j]
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.added, b.added)) < 0
}

func (r *requests) Swap(i, j int) {
	all := *r
	all[i], all[j] = all[j], all[i]
	all[i].index = i
	all[j].index = j
}

func (r *requests) Push(x any) {
	it := x.(*item)
	it.index = len(*r)
	*r = append(*r, it)
}

func (r *requests) Pop() any {
	last := len(*r) - 1
	it := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	return it
}
