// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "time"

// turn is an agent that the feed has to read.
type turn struct {
	key Key
	// before is a revision of which the snapshot without the change has all other changes. since is the time of the first
	// notification that it may have.
	before Revision
	since  time.Time
	// isLeft is true for an agent that an earlier batch has begun to read.
	isLeft bool
}

// turns are the agents that the feed has to read, or reads. The namespaces take turns, and the agents of a namespace come in the order in
// which they were added. The zero value has none.
type turns struct {
	// rotation has the namespaces with waiting agents, first the one whose turn is next. byNamespace has their agents.
	rotation    []string
	byNamespace map[string][]turn
	waiting     map[Key]struct{}
	// running are the agents that are being read: begun has the numbers of those that this batch has begun to read, by namespace, and left of
	// those that earlier batches have left. slow has the namespaces of which a batch has left the last read.
	running map[Key]turn
	begun   map[string]int
	left    map[string]int
	slow    map[string]struct{}
}

// add adds an agent that does not wait yet.
func (w *turns) add(t turn) {
	if w.waiting == nil {
		w.waiting = make(map[Key]struct{})
		w.byNamespace = make(map[string][]turn)
		w.running = make(map[Key]turn)
		w.begun = make(map[string]int)
		w.left = make(map[string]int)
		w.slow = make(map[string]struct{})
	}
	if w.waits(t.key) {
		return
	}
	w.waiting[t.key] = struct{}{}
	of := w.byNamespace[t.key.Namespace]
	if len(of) == 0 {
		w.rotation = append(w.rotation, t.key.Namespace)
	}
	w.byNamespace[t.key.Namespace] = append(of, t)
}

// waits reports whether an agent waits.
func (w *turns) waits(key Key) bool {
	_, waits := w.waiting[key]
	return waits
}

// canBegin reports whether an agent waits whose namespace may have a turn. canBegin moves the namespaces that may not to the end of the
// rotation.
func (w *turns) canBegin(workers int) bool {
	for range w.rotation {
		namespace := w.rotation[0]
		if w.mayBegin(namespace, workers) {
			return true
		}
		w.rotation = append(w.rotation[1:], namespace)
	}
	return false
}

// mayBegin reports whether a namespace may have a turn: it has no read that a batch has left, nor another read unless fewer than workers run,
// and it is not the next one after maxLeft slow namespaces. Reads of n namespaces that take long are therefore never more than workers+n-1.
func (w *turns) mayBegin(namespace string, workers int) bool {
	if w.left[namespace] > 0 || w.begun[namespace] > 0 && len(w.running) >= workers {
		return false
	}
	_, isSlow := w.slow[namespace]
	return !isSlow || w.slowReads() < maxLeft
}

// slowReads returns the number of slow namespaces with reads.
func (w *turns) slowReads() int {
	n := len(w.left)
	for namespace := range w.begun {
		if _, isSlow := w.slow[namespace]; isSlow {
			n++
		}
	}
	return n
}

// next returns the agent whose turn is next, which is being read from now on. canBegin must have returned true.
func (w *turns) next() turn {
	namespace := w.rotation[0]
	w.rotation = w.rotation[1:]
	of := w.byNamespace[namespace]
	if len(of) > 1 {
		w.byNamespace[namespace] = of[1:]
		w.rotation = append(w.rotation, namespace)
	} else {
		delete(w.byNamespace, namespace)
	}
	t := of[0]
	delete(w.waiting, t.key)
	w.running[t.key] = t
	w.begun[namespace]++
	return t
}

// leave ends a batch: the namespaces whose agents are being read have no further turn until these reads have ended.
func (w *turns) leave() {
	clear(w.begun)
	clear(w.left)
	for key, t := range w.running {
		t.isLeft = true
		w.running[key] = t
		w.left[key.Namespace]++
		w.slow[key.Namespace] = struct{}{}
	}
}

// done ends the read of an agent. isOwn is false if an earlier batch had begun it. An agent that waits again has no second turn in the
// same batch.
func (w *turns) done(key Key) (t turn, isOwn bool) {
	t = w.running[key]
	delete(w.running, key)
	if !t.isLeft {
		delete(w.slow, key.Namespace)
		decrement(w.begun, key.Namespace)
		return t, true
	}
	if !w.waits(key) {
		decrement(w.left, key.Namespace)
	}
	return t, false
}

// decrement decrements the number of a namespace, and deletes a number that becomes zero.
func decrement(numbers map[string]int, namespace string) {
	numbers[namespace]--
	if numbers[namespace] == 0 {
		delete(numbers, namespace)
	}
}

// len returns the number of waiting agents.
func (w *turns) len() int { return len(w.waiting) }

// behind returns, for each namespace with agents that wait or are being read, the latest revision that is not after a revision r, and of which
// none of them has a change.
func (w *turns) behind(r Revision) map[string]Revision {
	behind := make(map[string]Revision, len(w.byNamespace)+len(w.running))
	for namespace, of := range w.byNamespace {
		behind[namespace] = r.min(of[0].before)
	}
	for key, t := range w.running {
		former, isBehind := behind[key.Namespace]
		if !isBehind {
			former = r
		}
		behind[key.Namespace] = former.min(t.before)
	}
	return behind
}
