// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of requests.
const (
	defaultSearchPage = 10
	defaultListPage   = 20
	maxPage           = 100
	maxFacets         = 8
	defaultBuckets    = 20
	maxBuckets        = 1000
)

// Search is the body of POST /search (section 7.2).
type Search struct {
	Query      Query  `json:"query"`
	Federation string `json:"federation"`
	PageSize   *int   `json:"pageSize"`
	PageToken  string `json:"pageToken"`
}

// Query selects entries by relevance to Text and by Filter (section 7.1). If Text is "", only
// Filter selects.
type Query struct {
	Text   string `json:"text"`
	Filter Filter `json:"filter"`
}

// Facet is a request to count the values of a field. Limit is the maximum number of buckets, 20 if
// it is nil. MinCount is the least count of a bucket, 1 if it is 0.
type Facet struct {
	Field    string `json:"field"`
	Limit    *int   `json:"limit"`
	MinCount int    `json:"minCount"`
}

// Explore is the body of POST /explore (section 7.3).
type Explore struct {
	Query      Query `json:"query"`
	ResultType *struct {
		Facets []Facet `json:"facets"`
	} `json:"resultType"`
}

// ParseSearch parses the body of a search. Its errors are *RequestError. PageSize in the result is
// never nil: it is 10 by default, and at most 100.
func ParseSearch(body []byte) (*Search, error) {
	var s Search
	if err := decode(body, &s); err != nil {
		return nil, err
	}
	if s.Query.Text == "" {
		return nil, invalid("query.text", "is required: describe what you look for")
	}
	if err := s.Query.validate(); err != nil {
		return nil, err
	}
	switch s.Federation {
	case "", "auto", "referrals", "none":
	default:
		return nil, invalid("federation", "must be auto, referrals or none")
	}
	size, err := pageSize(s.PageSize, defaultSearchPage)
	s.PageSize = &size
	return &s, err
}

func (q *Query) validate() error {
	if len(q.Text) > maxText {
		return invalid("query.text", "is longer than %d bytes; shorten it", maxText)
	}
	return q.Filter.validate()
}

// ParseExplore reads the body of an exploration. Its errors are *RequestError.
func ParseExplore(body []byte) (*Explore, error) {
	var e Explore
	if err := decode(body, &e); err != nil {
		return nil, err
	}
	if err := e.Query.validate(); err != nil {
		return nil, err
	}
	switch {
	case e.ResultType == nil || len(e.ResultType.Facets) == 0:
		return nil, invalid("resultType.facets", "is required: name the fields to count")
	case len(e.ResultType.Facets) > maxFacets:
		return nil, invalid("resultType.facets", "has more than %d fields; omit some", maxFacets)
	}
	for i := range e.ResultType.Facets {
		f := &e.ResultType.Facets[i]
		switch {
		case !isField(f.Field):
			return nil, unsupported("resultType.facets.field", f.Field)
		case f.Limit == nil:
			f.Limit = new(int)
			*f.Limit = defaultBuckets
		case *f.Limit < 1 || *f.Limit > maxBuckets:
			return nil, invalid("resultType.facets.limit", "must be a number from 1 to %d", maxBuckets)
		}
	}
	return &e, nil
}

// decode decodes one JSON object. It rejects unknown and repeated members, members in another letter case, and
// text that is not UTF-8, because readers of JSON differ in how they understand these.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*RequestError](err); ok {
		return known
	}
	if mistake, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return invalid(fieldAt(mistake.JSONPointer), "is repeated; use it once")
		}
		return invalid("body", "must be one JSON object in UTF-8")
	}
	mistake, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return invalid("body", "must be one JSON object in UTF-8")
	case errors.Is(err, json.ErrUnknownName):
		return invalid(fieldAt(mistake.JSONPointer), "is not a member of this request; omit it")
	default:
		return invalid(fieldAt(mistake.JSONPointer), "has a wrong type or value: it is a JSON %s", kindName(mistake.JSONKind))
	}
}

// fieldAt returns the name of a member for a message.
func fieldAt(p jsontext.Pointer) string {
	return shortened(fieldOr(strings.Join(slices.Collect(p.Tokens()), ".")))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "object"
	case '[':
		return "array"
	default:
		return k.String()
	}
}

func fieldOr(field string) string {
	if field == "" {
		return "body"
	}
	return field
}

func pageSize(size *int, otherwise int) (int, error) {
	switch {
	case size == nil:
		return otherwise, nil
	case *size < 1:
		return 0, invalid("pageSize", "must be a number from 1 to %d", maxPage)
	default:
		return min(*size, maxPage), nil
	}
}

// FacetResult has the most frequent values of a field. OtherCount is the sum of the counts of the
// buckets beyond the limit of the facet.
type FacetResult struct {
	Buckets    []Bucket `json:"buckets"`
	OtherCount int      `json:"otherCount"`
}

// Bucket is a value of a field, with the number of entries that have the value.
type Bucket struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// ExploreResponse is the response to an exploration.
type ExploreResponse struct {
	ResultType string                 `json:"resultType"`
	Facets     map[string]FacetResult `json:"facets"`
}
