// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of requests.
const (
	defaultSearchPage = 10
	defaultListPage   = 20
	maxPage           = 100
	maxText           = 512
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

// Query selects entries by relevance and by structure (section 7.1). Text is empty for
// all entries.
type Query struct {
	Text   string `json:"text"`
	Filter Filter `json:"filter"`
}

// Facet is a field whose values are counted. Limit is the number of buckets, and
// MinCount the smallest count of a bucket, 1 if absent.
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

// ParseSearch reads the body of a search. Its errors are *RequestError. A page size
// above the maximum of 100 is reduced to it.
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

// decode reads one JSON object without unknown and repeated members.
func decode(body []byte, into any) error {
	if err := checkRepeated(body); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return invalid("body", "must be one JSON object")
	}
	if known, ok := errors.AsType[*RequestError](err); ok {
		return known
	}
	if mistake, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(fieldOr(mistake.Field), "has the wrong type: it is a JSON %s", mistake.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return invalid(shortened(fieldOr(strings.Trim(name, `"`))), "is not a member of this request; omit it")
	}
	return invalid("body", "must be a JSON object")
}

// checkRepeated returns an error for a repeated member, of which readers of JSON use different
// ones. It leaves other mistakes to decode.
func checkRepeated(body []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(body)).ReadValue()
	if mistake, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid(shortened(strings.ReplaceAll(strings.TrimPrefix(string(mistake.JSONPointer), "/"), "/", ".")), "is repeated; use it once")
	}
	return nil
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
