// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Limits of filters. maxText also bounds the text of a query, in bytes.
const (
	maxFilterKeys   = 16
	maxFilterValues = 64
	maxText         = 512
)

// Filter maps fields of entries to accepted values. An entry satisfies the filter if, for each
// of these fields, it has one of the accepted values.
type Filter map[string]Values

// Values is a list of texts. In JSON, it may also be a single text.
type Values []string

// UnmarshalJSON reads a text or a list of texts.
func (v *Values) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*v = Values{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return invalid("query.filter", "must map each field to a text or to a list of texts")
	}
	*v = list
	return nil
}

// Fields whose values are compared without case.
const (
	fieldType      = "type"
	fieldPublisher = "publisher"
)

// fields maps the name of a field to a function that returns the values of the field in an
// entry.
var fields = map[string]func(p *Publisher, e *Entry) []string{
	"identifier":   func(_ *Publisher, e *Entry) []string { return []string{e.Identifier} },
	"displayName":  func(_ *Publisher, e *Entry) []string { return []string{e.DisplayName} },
	fieldType:      func(_ *Publisher, e *Entry) []string { return []string{e.Type} },
	fieldPublisher: func(p *Publisher, _ *Entry) []string { return []string{p.Domain} },
	"version":      func(_ *Publisher, e *Entry) []string { return []string{e.Version} },
	"tags":         func(_ *Publisher, e *Entry) []string { return e.Tags },
	"capabilities": func(_ *Publisher, e *Entry) []string { return e.Capabilities },
}

const metadataPrefix = "metadata."

// metadata has the keys of Entry.Metadata that filters and facets may use.
var metadata = []string{"namespace", "name", "ready", "remote", "streaming", "externalURL", "provider"}

func isField(name string) bool {
	key, ok := strings.CutPrefix(name, metadataPrefix)
	return ok && slices.Contains(metadata, key) || fields[name] != nil
}

// values returns the values of a field in an entry. isField must be true for the field.
func (p *Publisher) values(e *Entry, field string) []string {
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		value, has := e.Metadata[key]
		if !has {
			return nil
		}
		return []string{fmt.Sprint(value)}
	}
	return fields[field](p, e)
}

func unsupported(at, field string) error {
	names := make([]string, 0, len(fields)+len(metadata))
	for name := range fields {
		names = append(names, name)
	}
	for _, key := range metadata {
		names = append(names, metadataPrefix+key)
	}
	slices.Sort(names)
	return invalid(at, "%q is not supported; use %s", shortened(field), strings.Join(names, ", "))
}

func (f Filter) validate() error {
	if len(f) > maxFilterKeys {
		return invalid("query.filter", "has more than %d fields; omit some", maxFilterKeys)
	}
	for name, values := range f {
		switch {
		case !isField(name):
			return unsupported("query.filter", name)
		case len(values) == 0:
			return invalid("query.filter."+name, "has no value; omit the field or name a value")
		case len(values) > maxFilterValues:
			return invalid("query.filter."+name, "has more than %d values; omit some", maxFilterValues)
		case slices.Contains(values, ""):
			return invalid("query.filter."+name, "is empty; name a value")
		case slices.ContainsFunc(values, func(value string) bool { return len(value) > maxText }):
			return invalid("query.filter."+name, "is longer than %d bytes; shorten it", maxText)
		}
	}
	return nil
}

// Matcher has the accepted values of each field of a filter in the form in which values are compared (comparedAs). Each
// text of the filter and of an entry gets this form once, whatever their numbers.
type Matcher map[string]map[string]bool

// Matcher returns the matcher of the filter. The comparison of types and publishers ignores case, and that of types also
// ignores parameters in the filter. Other values must be equal (in NFC).
func (f Filter) Matcher() Matcher {
	m := make(Matcher, len(f))
	for name, wanted := range f {
		accepted := make(map[string]bool, len(wanted))
		for _, want := range wanted {
			if name == fieldType {
				essence, _, _ := strings.Cut(want, ";")
				want = strings.TrimSpace(essence)
			}
			accepted[comparedAs(name, want)] = true
		}
		m[name] = accepted
	}
	return m
}

// comparedAs returns the form of a value that all equal values of a field have.
func comparedAs(field, value string) string {
	if field == fieldType || field == fieldPublisher {
		return strings.ToLower(value)
	}
	return norm.NFC.String(value)
}

// Matches reports whether an entry satisfies the filter of a matcher.
func (p *Publisher) Matches(m Matcher, e *Entry) bool {
	for name, accepted := range m {
		if !slices.ContainsFunc(p.values(e, name), func(value string) bool { return accepted[comparedAs(name, value)] }) {
			return false
		}
	}
	return true
}

// Excludes reports whether no agent of this publisher can satisfy the filter, because of the
// type or the publisher in the filter. If it returns false, other fields of the filter may
// still exclude all agents.
func (p *Publisher) Excludes(m Matcher) bool {
	none := func(name, value string) bool {
		accepted, has := m[name]
		return has && !accepted[comparedAs(name, value)]
	}
	return none(fieldType, TypeAgentCard) || none(fieldPublisher, p.Domain)
}

// RequestError is a mistake in a request: the field, and what the client must change.
type RequestError struct{ Field, Cure string }

func (e *RequestError) Error() string { return e.Field + ": " + e.Cure }

func invalid(field, format string, args ...any) error {
	return &RequestError{Field: field, Cure: fmt.Sprintf(format, args...)}
}

// shortened returns the beginning of a text of a client as valid UTF-8, for a message.
func shortened(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}
