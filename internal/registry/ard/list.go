// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// List has the parameters of GET /agents (section 7.4).
type List struct {
	Filter       Filter
	UpdatedAfter time.Time
	PageSize     int
	PageToken    string
}

// ListResponse is a page of a list. PageToken is empty on the last page.
type ListResponse struct {
	Items     []Entry `json:"items"`
	PageToken string  `json:"pageToken,omitempty"`
}

// SearchResponse is a page of a search.
type SearchResponse struct {
	Results   []Result `json:"results"`
	Referrals []Entry  `json:"referrals,omitempty"`
	PageToken string   `json:"pageToken,omitempty"`
}

// Result is an entry that a search has found, with its relevance, from 0 to 100, and the registry
// that found it.
type Result struct {
	Entry
	Score  int    `json:"score"`
	Source string `json:"source"`
}

// ParseList reads the parameters of a list. Its errors are *RequestError.
//
// The specification does not define the grammar of the parameter filter. ParseList accepts
// conditions that are joined by AND. A condition is field = 'value', where commas in the value
// separate alternatives (appendix A), or updatedAfter > 'time'.
func ParseList(raw string) (*List, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query", "cannot be decoded: escape the special characters of every value")
	}
	l := &List{PageSize: defaultListPage, Filter: Filter{}}
	for name, all := range values {
		if len(all) > 1 {
			return nil, invalid(shortened(fieldOr(name)), "is repeated; use it once")
		}
		if err := l.set(name, all[0]); err != nil {
			return nil, err
		}
	}
	return l, l.Filter.validate()
}

func (l *List) set(name, value string) error {
	switch name {
	case "filter":
		return l.filter(value)
	case "orderBy":
		return invalid(name, "is not supported: the order is that of namespace and name; omit it")
	case "pageSize":
		n, err := strconv.Atoi(value)
		if err != nil {
			n = 0
		}
		l.PageSize, err = pageSize(&n, defaultListPage)
		return err
	case "pageToken":
		l.PageToken = value
	default:
		return invalid(shortened(fieldOr(name)), "is not a parameter of this list; use filter, orderBy, pageSize, pageToken")
	}
	return nil
}

// listFields maps a name of a field in appendix A to the name of the field in a Filter. It has
// only the fields whose two names differ.
var listFields = map[string]string{"publisherId": fieldPublisher}

func (l *List) filter(text string) error {
	if len(text) > maxText {
		return invalid("filter", "is longer than %d bytes; shorten it", maxText)
	}
	for condition := range strings.SplitSeq(text, " AND ") {
		operator := strings.IndexAny(condition, "=>")
		if operator < 0 {
			return invalid("filter", "must have the form field = 'value' AND field = 'value'")
		}
		name := strings.TrimSpace(condition[:operator])
		value := strings.Trim(strings.TrimSpace(condition[operator+1:]), `'"`)
		if name == "updatedAfter" || name == "updatedAt" && condition[operator] == '>' {
			at, err := parseTime(value)
			if err != nil {
				return invalid("filter", "updatedAfter must be a time such as 2026-01-31T12:00:00Z, or a date")
			}
			l.UpdatedAfter = at
			continue
		}
		if field, renamed := listFields[name]; renamed {
			name = field
		}
		if condition[operator] != '=' || !isField(name) {
			return unsupported("filter", name)
		}
		if _, twice := l.Filter[name]; twice {
			return invalid("filter", "has the field %s twice; separate alternatives by commas", name)
		}
		for alternative := range strings.SplitSeq(value, ",") {
			l.Filter[name] = append(l.Filter[name], strings.TrimSpace(alternative))
		}
	}
	return nil
}

func parseTime(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	return time.Parse(time.DateOnly, text)
}

// IsUpdated reports whether an entry satisfies UpdatedAfter.
func (l *List) IsUpdated(e *Entry) bool {
	if l.UpdatedAfter.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339, e.UpdatedAt)
	return err == nil && at.After(l.UpdatedAfter)
}
