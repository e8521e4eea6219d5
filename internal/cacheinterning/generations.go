// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cacheinterning

// generations is a bounded map of two generations. When the recent generation is full, it
// replaces the older generation. Entries of the older generation that were not used since
// are dropped.
type generations[K comparable, V any] struct {
	size          int
	recent, older map[K]V
}

func newGenerations[K comparable, V any](size int) generations[K, V] {
	return generations[K, V]{size: size, recent: map[K]V{}}
}

func (g *generations[K, V]) get(key K) (V, bool) {
	if value, ok := g.recent[key]; ok {
		return value, true
	}
	value, ok := g.older[key]
	if ok {
		g.add(key, value)
	}
	return value, ok
}

func (g *generations[K, V]) add(key K, value V) {
	if len(g.recent) >= g.size {
		g.recent, g.older = make(map[K]V, g.size), g.recent
	}
	g.recent[key] = value
}
