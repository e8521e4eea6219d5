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
}

// turns are the agents that the feed has to read. The namespaces take turns, and the agents of a namespace come in the order in which
// they were added. The zero value has none.
type turns struct {
	// rotation has the namespaces with waiting agents, first the one whose turn is next. byNamespace has their agents.
	rotation    []string
	byNamespace map[string][]turn
	waiting     map[Key]struct{}
}

// add adds an agent that does not wait yet.
func (w *turns) add(t turn) {
	if w.waiting == nil {
		w.waiting = make(map[Key]struct{})
		w.byNamespace = make(map[string][]turn)
	}
	if _, waits := w.waiting[t.key]; waits {
		return
	}
	w.waiting[t.key] = struct{}{}
	of := w.byNamespace[t.key.Namespace]
	if len(of) == 0 {
		w.rotation = append(w.rotation, t.key.Namespace)
	}
	w.byNamespace[t.key.Namespace] = append(of, t)
}

// next removes the agent whose turn is next. There must be one.
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
	delete(w.waiting, of[0].key)
	return of[0]
}

// len returns the number of waiting agents.
func (w *turns) len() int { return len(w.waiting) }

// before returns the latest revision that is not after a revision r, and of which no waiting agent has a change.
func (w *turns) before(r Revision) Revision {
	for _, of := range w.byNamespace {
		r.Agents = min(r.Agents, of[0].before.Agents)
		r.ConfigMaps = min(r.ConfigMaps, of[0].before.ConfigMaps)
	}
	return r
}
