// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

const (
	// fusionConstant is the constant of reciprocal rank fusion (Cormack, Clarke and Büttcher,
	// 2009): a result has the score 1/(fusionConstant+r), where r is its rank in the results of
	// its registry.
	fusionConstant = 60
	// maxDepth bounds the results of one peer on all pages together. It is the maximum page size
	// of ARD.
	maxDepth = 100
	// maxPageToken bounds a page token, in bytes.
	maxPageToken = 8 << 10
)

// pageTokenPrefix is the prefix of page tokens of merged results. It distinguishes them from page
// tokens of the index, which contain no dot.
const pageTokenPrefix = "f."

// LocalPage is a page of the results of this registry.
type LocalPage struct {
	Results []ard.Result
	// Tokens has, for each result, the page token for the results after it. Next is the token of
	// the next page, "" if there is none.
	Tokens []string
	Next   string
}

// position is the place at which a page of merged results begins.
type position struct {
	// Local is the page token of the local results, and LocalTaken the number of local results on
	// earlier pages. LocalEnded is true if there are no further local results.
	Local      string `json:"local,omitempty"`
	LocalTaken int    `json:"taken,omitempty"`
	LocalEnded bool   `json:"ended,omitempty"`
	// Peers has, for each peer, the number of its results before this page. It includes dropped
	// results.
	Peers map[string]int `json:"peers,omitempty"`
}

func (p position) token() (string, error) {
	text, err := json.Marshal(p)
	return pageTokenPrefix + base64.RawURLEncoding.EncodeToString(text), err
}

// parsePosition decodes a page token of merged results. It also accepts a page token of local
// results, as the position with only Local set. Its error is an *ard.RequestError.
func parsePosition(token string) (p position, err error) {
	encoded, merged := strings.CutPrefix(token, pageTokenPrefix)
	if !merged {
		return position{Local: token}, nil
	}
	mistake := &ard.RequestError{Field: "pageToken", Cure: "is not a page token of this registry; use it unchanged, or omit it to start again"}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || len(token) > maxPageToken || json.Unmarshal(text, &p) != nil {
		return p, mistake
	}
	for _, taken := range p.Peers {
		if taken < 0 || taken > maxDepth {
			return p, mistake
		}
	}
	if p.LocalTaken < 0 || p.LocalTaken > math.MaxInt32 {
		return p, mistake
	}
	return p, nil
}

// candidate is a result with its rank in the list of its registry.
type candidate struct {
	result *ard.Result
	rank   int
	// answer is the answer with the result, or nil for a local result. i is the index of the
	// result in the answer or in the local results.
	answer *answer
	i      int
}

// merge returns the best results of this registry and of the answers, by reciprocal rank fusion:
// at most size results after the position p. Among results with the same rank, local ones are
// first, and then the results of the peers in the order of the answers. next is the token of the
// next page, "" on the last page.
func merge(p position, local *LocalPage, answers []*answer, size int) (merged []ard.Result, next string, err error) {
	var all []candidate
	for i := range local.Results {
		all = append(all, candidate{&local.Results[i], p.LocalTaken + i + 1, nil, i})
	}
	for _, a := range answers {
		for i := range a.results {
			all = append(all, candidate{&a.results[i], a.positions[i], a, i})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	merged = make([]ard.Result, 0, min(size, len(all)))
	after := position{Local: p.Local, LocalTaken: p.LocalTaken, Peers: maps.Clone(p.Peers)}
	if after.Peers == nil {
		after.Peers = map[string]int{}
	}
	for _, a := range answers {
		if a.failed == nil {
			after.Peers[a.Name] = max(a.count, p.Peers[a.Name])
		}
	}
	for _, c := range slices.Backward(all[min(size, len(all)):]) {
		if c.answer != nil { // in reverse order: the first result of the peer that is not on this page sets the final value
			after.Peers[c.answer.Name] = c.rank - 1
		}
	}
	takenLocal := 0
	for _, c := range all[:min(size, len(all))] {
		result := *c.result
		result.Score = max(1, int(math.Round(100*(fusionConstant+1)/float64(fusionConstant+c.rank))))
		merged = append(merged, result)
		if c.answer == nil {
			takenLocal++
			after.Local = local.Tokens[c.i]
		}
	}
	after.LocalTaken += takenLocal
	if takenLocal == len(local.Results) {
		after.Local = local.Next
		after.LocalEnded = local.Next == ""
	}
	more := !after.LocalEnded || len(all) > size || slices.ContainsFunc(answers, func(a *answer) bool { return a.mayHaveMore(size, p) })
	if !more {
		return merged, "", nil
	}
	next, err = after.token()
	return merged, next, err
}

// asked returns the number of results to request from a peer: those of the earlier pages and of
// this page, at most maxDepth.
func asked(p position, name string, size int) int { return min(maxDepth, p.Peers[name]+size) }

// mayHaveMore reports whether the peer possibly has results after this page: it returned as many
// results as were requested, and these are fewer than maxDepth, or it returned some and named a page token for others.
func (a *answer) mayHaveMore(size int, p position) bool {
	limit := asked(p, a.Name, size)
	return a.failed == nil && (a.count == limit && limit < maxDepth || a.isPartial && a.count > p.Peers[a.Name])
}
