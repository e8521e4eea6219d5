// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Limits of a search.
const (
	defaultLimit = 50
	maxLimit     = 200
	// maxConditions bounds how often parameters may be repeated together.
	maxConditions = 32
	// maxValue bounds one parameter, in bytes.
	maxValue = 512
)

// query is a search whose parameters were checked.
type query struct {
	// terms must all hold.
	terms []string
	// namespace is "" for all.
	namespace string
	after     Key
	limit     int
}

// invalid is a mistake in a parameter: which one, and the cure.
type invalid struct{ field, message string }

func (e *invalid) Error() string { return e.field + ": " + e.message }

func refuse(field, format string, args ...any) error {
	return &invalid{field: field, message: fmt.Sprintf(format, args...)}
}

// parameters are what GET /v1/agents understands. Those of filters may be
// repeated, and then all of them must hold.
var (
	filters = map[string]func(q *query, value string) error{
		"skill":      func(q *query, v string) error { return q.require(skillTerm(v)) },
		"tag":        func(q *query, v string) error { return q.require(tagTerm(v)) },
		"inputMode":  func(q *query, v string) error { return q.require(inputModeTerm(v)) },
		"outputMode": func(q *query, v string) error { return q.require(outputModeTerm(v)) },
		"text":       (*query).text,
	}
	settings = map[string]func(q *query, value string) error{
		"namespace": (*query).inNamespace,
		"ready":     (*query).ready,
		"limit":     (*query).atMost,
		"cursor":    (*query).continueAt,
	}
)

// parseQuery checks the parameters of a search. Its errors are *invalid.
func parseQuery(raw string) (query, error) {
	q := query{limit: defaultLimit}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, refuse("query", "cannot be decoded: escape the special characters of every value")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := q.set(name, values[name]); err != nil {
			return q, err
		}
	}
	slices.Sort(q.terms)
	q.terms = slices.Compact(q.terms)
	return q, nil
}

func (q *query) set(name string, values []string) error {
	apply, repeatable := filters[name]
	if !repeatable {
		apply = settings[name]
	}
	switch {
	case apply == nil:
		return refuse(name, "is no parameter of this search; use %s", parameterNames())
	case !repeatable && len(values) > 1:
		return refuse(name, "was given %d times; give it once", len(values))
	}
	for _, value := range values {
		switch {
		case value == "":
			return refuse(name, "is empty; give it a value or leave it out")
		case len(value) > maxValue:
			return refuse(name, "is longer than %d bytes; shorten it", maxValue)
		}
		if err := apply(q, value); err != nil {
			return err
		}
	}
	return nil
}

func parameterNames() string {
	names := slices.Concat(slices.Collect(maps.Keys(filters)), slices.Collect(maps.Keys(settings)))
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (q *query) require(term string) error {
	if len(q.terms) == maxConditions {
		return refuse("query", "has more than %d conditions; leave some out", maxConditions)
	}
	q.terms = append(q.terms, term)
	return nil
}

func (q *query) text(value string) error {
	found := false
	for word := range wordsOf(value) {
		found = true
		if err := q.require(wordTerm(word)); err != nil {
			return err
		}
	}
	if !found {
		return refuse("text", "holds no word; give letters or digits")
	}
	return nil
}

func (q *query) inNamespace(value string) error {
	if !isLabel(value) {
		return refuse("namespace", "is not the name of a namespace; use lower case letters, digits and '-'")
	}
	q.namespace = value
	return q.require(namespaceTerm(value))
}

func (q *query) ready(value string) error {
	if value != "true" && value != "false" {
		return refuse("ready", "must be true or false")
	}
	return q.require(readyTerm(value == "true"))
}

func (q *query) atMost(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxLimit {
		return refuse("limit", "must be a number from 1 to %d; follow nextCursor for more", maxLimit)
	}
	q.limit = n
	return nil
}

// cursorVersion is the first character of a decoded cursor, so that a later
// form can tell itself apart.
const cursorVersion = "1"

// cursorAfter returns a cursor that continues behind key.
func cursorAfter(key Key) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorVersion + key.Namespace + "/" + key.Name))
}

func (q *query) continueAt(value string) error {
	text, err := base64.RawURLEncoding.DecodeString(value)
	rest, known := strings.CutPrefix(string(text), cursorVersion)
	namespace, name, whole := strings.Cut(rest, "/")
	if err != nil || !known || !whole || !isLabel(namespace) || !isLabel(name) {
		return refuse("cursor", "is not one that the registry gave; take nextCursor as it is, or leave it out to start again")
	}
	q.after = Key{Namespace: namespace, Name: name}
	return nil
}

// isLabel tells whether text can name a namespace or an Agent (RFC 1123).
func isLabel(text string) bool {
	if text == "" || len(text) > 63 || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
