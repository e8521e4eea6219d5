// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ranking finds the first of many things, such as the tenant that uses the most, while their order changes.
package ranking

import (
	"container/heap"
	"slices"
)

// Ranking has things in an order. A change takes a time that grows with the logarithm of their number.
type Ranking[T any] struct{ places places[T] }

// Place is the place of a thing in a Ranking.
type Place[T any] struct {
	value T
	at    int
}

// New returns an empty Ranking. before reports whether a comes before b.
func New[T any](before func(a, b T) bool) *Ranking[T] {
	return &Ranking[T]{places[T]{before: before}}
}

// Add adds a thing.
func (r *Ranking[T]) Add(value T) *Place[T] {
	p := &Place[T]{value: value}
	heap.Push(&r.places, p)
	return p
}

// Moved must be called after each change of a thing that changes its order.
func (r *Ranking[T]) Moved(p *Place[T]) { heap.Fix(&r.places, p.at) }

// Remove removes a thing.
func (r *Ranking[T]) Remove(p *Place[T]) { heap.Remove(&r.places, p.at) }

// First returns the first thing. There must be one.
func (r *Ranking[T]) First() T { return r.places.all[0].value }

// places implements heap.Interface.
type places[T any] struct {
	before func(a, b T) bool
	all    []*Place[T]
}

// Len implements heap.Interface.
func (p *places[T]) Len() int { return len(p.all) }

// Less implements heap.Interface.
func (p *places[T]) Less(i, j int) bool { return p.before(p.all[i].value, p.all[j].value) }

// Swap implements heap.Interface.
func (p *places[T]) Swap(i, j int) {
	p.all[i], p.all[j] = p.all[j], p.all[i]
	p.all[i].at = i
	p.all[j].at = j
}

// Push implements heap.Interface.
func (p *places[T]) Push(added any) {
	place := added.(*Place[T]) // heap adds nothing else
	place.at = len(p.all)
	p.all = append(p.all, place)
}

// Pop implements heap.Interface.
func (p *places[T]) Pop() any {
	last := len(p.all) - 1
	place := p.all[last]
	p.all = slices.Delete(p.all, last, last+1)
	return place
}
