// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"cmp"
	"slices"
	"strings"
)

// maxCounted bounds the different values that a Counter has, in bytes of JSON and valueBytes for each of them. The facets have equal
// shares.
const (
	maxCounted = 1 << 20
	valueBytes = 64
)

// Counter counts entries by the values of the facets of an exploration. Authors of agents choose the values, so it keeps a bounded number of
// them. When a facet has too many, it forgets the rarest ones, and counts them as others. A value that is frequent afterwards can
// therefore have too low a count.
type Counter struct {
	publisher *Publisher
	facets    []facetCounts
}

type facetCounts struct {
	Facet
	counts map[string]int
	// bytes is the size of the values in counts, and most its bound. others is the number of values that are forgotten.
	bytes, most int
	others      int
}

// NewCounter returns a counter without entries.
func (p *Publisher) NewCounter(e *Explore) *Counter {
	c := &Counter{publisher: p}
	for _, f := range e.ResultType.Facets {
		c.facets = append(c.facets, facetCounts{Facet: f, counts: map[string]int{}, most: maxCounted / len(e.ResultType.Facets)})
	}
	return c
}

// Add counts an entry.
func (c *Counter) Add(e *Entry) {
	for i := range c.facets {
		for _, value := range c.publisher.values(e, c.facets[i].Field) {
			c.facets[i].add(value)
		}
	}
}

func (f *facetCounts) add(value string) {
	if count, isKnown := f.counts[value]; isKnown {
		f.counts[value] = count + 1
		return
	}
	if len(value) > maxText { // no filter accepts it
		f.others++
		return
	}
	f.counts[strings.Clone(value)] = 1
	f.bytes += sizeOfValue(value)
	if f.bytes > f.most {
		f.forget()
	}
}

func sizeOfValue(value string) int { return stringSize(value) + valueBytes }

// forget removes the rarest values, until the others need at most half of the memory.
func (f *facetCounts) forget() {
	f.bytes = 0
	for _, bucket := range f.sorted() {
		if size := sizeOfValue(bucket.Value); f.bytes+size <= f.most/2 {
			f.bytes += size
			continue
		}
		if bucket.Count >= f.MinCount {
			f.others += bucket.Count
		}
		delete(f.counts, bucket.Value)
	}
}

// sorted returns the values, the most frequent one first.
func (f *facetCounts) sorted() []Bucket {
	buckets := make([]Bucket, 0, len(f.counts))
	for value, count := range f.counts {
		buckets = append(buckets, Bucket{Value: value, Count: count})
	}
	slices.SortFunc(buckets, func(a, b Bucket) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return buckets
}

// Response returns the counts. For each facet, the most frequent value is first.
func (c *Counter) Response() ExploreResponse {
	r := ExploreResponse{ResultType: "facets", Facets: make(map[string]FacetResult, len(c.facets))}
	for i := range c.facets {
		f := &c.facets[i]
		result := FacetResult{Buckets: []Bucket{}, OtherCount: f.others}
		for _, bucket := range f.sorted() {
			switch {
			case bucket.Count < f.MinCount:
			case len(result.Buckets) == *f.Limit:
				result.OtherCount += bucket.Count
			default:
				result.Buckets = append(result.Buckets, bucket)
			}
		}
		r.Facets[f.Field] = result
	}
	return r
}
