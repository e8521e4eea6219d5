// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// rank returns the page of a ranked query. Scores depend only on entries that match
// the conditions of the query and that the caller sees, so they reveal nothing about
// other entries.
func (s *Snapshot) rank(q *Query, caller *access.Set) Page {
	r := s.ranking(q, caller)
	defer r.release()
	page := Page{revision: s.revision, Total: r.total}
	if q.nearest != nil {
		s.fuse(&page, q, s.best(q.deep(), r), r.allowed.sets)
		return page
	}
	page.fillRanked(s.best(q, r), q.limit, limitOf(r.groups, r.statistics))
	return page
}

// limitOf returns an upper bound of the scores of a query.
func limitOf(groups [][]rankedForm, statistics text.Statistics) float64 {
	sum := 0.0
	for _, group := range groups {
		most := 0.0
		for i := range group {
			most = max(most, group[i].weight)
		}
		sum += statistics.Limit(most)
	}
	return sum
}
