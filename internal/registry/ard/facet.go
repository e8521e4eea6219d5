// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"cmp"
	"slices"
)

// FacetResult has the most frequent values of a field. OtherCount is the number of
// entries in the buckets that the limit left out.
type FacetResult struct {
	Buckets    []Bucket `json:"buckets"`
	OtherCount int      `json:"otherCount"`
}

// Bucket is a value and the number of entries that have it.
type Bucket struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// ExploreResponse is the response to an exploration.
type ExploreResponse struct {
	ResultType string                 `json:"resultType"`
	Facets     map[string]FacetResult `json:"facets"`
}

// Counter counts the values of the facets of an exploration.
type Counter struct {
	publisher *Publisher
	facets    []Facet
	counts    []map[string]int
}

// NewCounter returns a counter without entries.
func (p *Publisher) NewCounter(e *Explore) *Counter {
	c := &Counter{publisher: p, facets: e.ResultType.Facets, counts: make([]map[string]int, len(e.ResultType.Facets))}
	for i := range c.counts {
		c.counts[i] = map[string]int{}
	}
	return c
}

// Add counts an entry.
func (c *Counter) Add(e *Entry) {
	for i := range c.facets {
		for _, value := range c.publisher.values(e, c.facets[i].Field) {
			c.counts[i][value]++
		}
	}
}

// Response returns the counts, the most frequent value first.
func (c *Counter) Response() ExploreResponse {
	r := ExploreResponse{ResultType: "facets", Facets: make(map[string]FacetResult, len(c.facets))}
	for i := range c.facets {
		result := FacetResult{Buckets: []Bucket{}}
		for value, count := range c.counts[i] {
			if count >= max(c.facets[i].MinCount, 1) {
				result.Buckets = append(result.Buckets, Bucket{Value: value, Count: count})
			}
		}
		slices.SortFunc(result.Buckets, func(a, b Bucket) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
		if limit := *c.facets[i].Limit; len(result.Buckets) > limit {
			for _, bucket := range result.Buckets[limit:] {
				result.OtherCount += bucket.Count
			}
			result.Buckets = result.Buckets[:limit]
		}
		r.Facets[c.facets[i].Field] = result
	}
	return r
}
