// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/scalar"
)

// query reads the parameters of a URL. It stores the first error in err, which the caller
// checks after the last parameter.
type query struct {
	values url.Values
	err    error
}

// names maps each parameter to its spellings: its own, the spelling of the proto, and the
// spelling of clients of 0.3 that list tasks.
var names = map[string][]string{
	"contextId":            {"contextId", "context_id"},
	"historyLength":        {"historyLength", "history_length"},
	"includeArtifacts":     {"includeArtifacts", "include_artifacts"},
	"pageSize":             {"pageSize", "page_size"},
	"pageToken":            {"pageToken", "page_token"},
	"status":               {"status"},
	"statusTimestampAfter": {"statusTimestampAfter", "status_timestamp_after", "lastUpdatedAfter", "last_updated_after"},
	"tenant":               {"tenant"},
}

var parameters = jsonread.NewNames(slices.Concat(slices.Collect(maps.Values(names))...)...)

func newQuery(raw string) *query {
	if raw == "" {
		return &query{}
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		// err is not reported, because its text quotes the input.
		return &query{err: &a2a.Error{Reason: a2a.ReasonInvalidRequest, Message: "Query has an invalid percent-encoding, or a semicolon that is not written as %3B"}}
	}
	q := &query{values: values}
	for name := range values {
		if meant := parameters.VariantOf([]byte(name)); meant != "" {
			q.fail(name, "must be spelled "+meant)
		}
	}
	return q
}

func (q *query) fail(name, message string) {
	if q.err == nil {
		q.err = a2a.InvalidParams(name, message)
	}
}

// get returns the value of a parameter under any of its spellings.
func (q *query) get(name string) (value string, there bool) {
	var all []string
	for _, each := range names[name] {
		all = append(all, q.values[each]...)
	}
	if len(all) > 1 {
		q.fail(name, "must not be set twice")
	}
	if len(all) == 0 || q.err != nil {
		return "", false
	}
	return all[0], true
}

// maxID is the limit of an id, in bytes.
const maxID = 256

func (q *query) id(name string) string {
	id, _ := q.get(name)
	if len(id) > maxID {
		q.fail(name, "is longer than 256 bytes")
	}
	return id
}

func (q *query) text(name string) string {
	text, _ := q.get(name)
	return text
}

// number returns a parameter as a number, and nil if it is missing.
func (q *query) number(name string) *int {
	text, there := q.get(name)
	if !there {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		q.fail(name, "must be an integer of 32 bits")
		return nil
	}
	return new(int(n))
}

// length returns a parameter as a length, and nil if it is missing.
func (q *query) length(name string) *int {
	n := q.number(name)
	if n != nil && *n < 0 {
		q.fail(name, "must not be negative")
	}
	return n
}

const maxPage = 100

// pageSize returns a parameter as a page size, and 0 if it is missing.
func (q *query) pageSize(name string) int {
	n := q.number(name)
	if n == nil {
		return 0
	}
	if *n < 1 || *n > maxPage {
		q.fail(name, "must be between 1 and 100")
	}
	return *n
}

func (q *query) flag(name string) bool {
	switch text, there := q.get(name); {
	case text == "true":
		return true
	case there && text != "false":
		q.fail(name, "must be true or false")
	}
	return false
}

// state reads the name or the number of a state.
func (q *query) state(name string) a2a.State {
	text, there := q.get(name)
	if !there {
		return a2a.StateUnknown
	}
	state, ok := scalar.ParseState(text)
	if n, err := strconv.Atoi(text); err == nil {
		state, ok = scalar.StateOf(n)
	}
	if !ok {
		q.fail(name, "is not a task state")
	}
	return state
}

func (q *query) time(name string) time.Time {
	text, there := q.get(name)
	if !there {
		return time.Time{}
	}
	t, ok := scalar.ParseTime(text)
	if !ok {
		q.fail(name, "must be a time of RFC 3339")
	}
	return t
}
