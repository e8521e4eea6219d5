// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/text"
)

// Limits of a search.
const (
	defaultLimit = 50
	maxLimit     = 200
	// maxConditions bounds the conditions of a query, which are the values of all its filters
	// together.
	maxConditions = 32
	// usualConditions is the number of conditions for which memory is allocated at first.
	usualConditions = 8
	// maxParameters bounds the parameters of a query. It exceeds maxConditions plus the number of settings, so it
	// does not reject a valid query.
	maxParameters = 64
	// maxValue bounds the value of one parameter, in bytes.
	maxValue = 512
)

// Nearest returns the n agents of keys whose meaning is most similar to a query, the most similar one first.
type Nearest func(keys iter.Seq[Key], n int) []Key

// Query has the validated parameters of a search.
type Query struct {
	// terms are the texts of the terms that an entry must have, one for each condition of the
	// filters.
	terms []string
	// ranked is the parsed rankedText. rankedText is "" if the search is not ranked.
	ranked     text.Query
	rankedText string
	// nearest finds the agents with a similar meaning. If it is nil, only words rank the agents.
	nearest Nearest
	// namespace is the namespace of the agents, "" for all namespaces.
	namespace string
	after     position
	limit     int
	// minRevision is a revision that the result must include.
	minRevision Revision
	// watch is true for a stream of changes. since is the id of the event after which the
	// stream resumes, "" for none.
	watch bool
	since string
	// hashes are the hashes of terms, with which Matches searches the terms of entries.
	hashes []term
}

// Watch reports whether the caller asks for a stream of changes. since is the id of the event after
// which the stream resumes, "" for none.
func (q *Query) Watch() (since string, watch bool) { return q.since, q.watch }

// Filters reports whether the query has filters.
func (q *Query) Filters() bool { return len(q.terms) > 0 }

// Matches reports whether an entry has all terms of the query.
func (q *Query) Matches(e *Entry) bool { return e.has(q.hashes) }

// Fingerprint returns a text that is the same for queries with the same filters. It does not depend
// on RankedText.
func (q *Query) Fingerprint() string { return strings.Join(q.terms, "\x00") }

// Namespace returns the namespace of the agents, "" for all.
func (q *Query) Namespace() string { return q.namespace }

// MinRevision returns the revision that the result must include.
func (q *Query) MinRevision() Revision { return q.minRevision }

// RankedText returns the text of a ranked search, "" if the search is not ranked.
func (q *Query) RankedText() string { return q.rankedText }

// RankBySimilarity makes a ranked search also find the agents that n returns. If n is nil, only
// words rank the agents.
func (q *Query) RankBySimilarity(n Nearest) { q.nearest = n }

// The parameters of GET /v1/agents. A filter may occur several times. An agent must then match all
// its values. A setting may occur only once.
var (
	filters = map[string]func(q *Query, value string) error{
		"skill":      func(q *Query, v string) error { return q.require(skillTerm(v)) },
		"tag":        func(q *Query, v string) error { return q.require(tagTerm(v)) },
		"inputMode":  func(q *Query, v string) error { return q.require(inputModeTerm(v)) },
		"outputMode": func(q *Query, v string) error { return q.require(outputModeTerm(v)) },
		"capability": (*Query).capability,
		"protocol":   (*Query).protocol,
		"binding":    (*Query).binding,
		"provider":   func(q *Query, v string) error { return q.require(providerTerm(v)) },
		"text":       (*Query).words,
	}
	settings = map[string]func(q *Query, value string) error{
		"namespace": (*Query).inNamespace,
		"ready":     func(q *Query, v string) error { return q.requireBool("ready", v, readyTerm) },
		"remote":    func(q *Query, v string) error { return q.requireBool("remote", v, remoteTerm) },
		"limit":     (*Query).atMost,
		"cursor":    (*Query).continueAt,
		"q":         (*Query).rank,

		"minRevision": (*Query).atLeast,
		"watch":       (*Query).stream,
		"since":       func(q *Query, v string) error { q.since = v; return nil },
	}
)

// ParseQuery returns the query for the raw query of a URL. Its errors are *ParameterError.
func ParseQuery(raw string) (*Query, error) {
	var space [16]parameter // on the stack
	all, err := parseParameters(raw, space[:0])
	if err != nil {
		return &Query{limit: defaultLimit}, err
	}
	return newQuery(all)
}

// QueryOf returns the query for decoded parameters. Its errors are those of ParseQuery.
func QueryOf(parameters map[string][]string) (*Query, error) {
	var all []parameter
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		for _, value := range parameters[name] {
			all = append(all, parameter{name, value})
		}
	}
	if len(all) > maxParameters {
		return &Query{limit: defaultLimit}, errTooManyParameters
	}
	return newQuery(all)
}

// Selection is a query of another API. A zero field does not restrict the query.
type Selection struct {
	// Words ranks the agents.
	Words     string
	Namespace string
	Cursor    string
	Limit     int
}

// Query returns the query. Its errors are those of ParseQuery.
func (s Selection) Query() (*Query, error) {
	parameters := map[string][]string{"limit": {strconv.Itoa(s.Limit)}}
	for name, value := range map[string]string{"q": s.Words, "namespace": s.Namespace, "cursor": s.Cursor} {
		if value != "" {
			parameters[name] = []string{value}
		}
	}
	return QueryOf(parameters)
}

// newQuery returns the query for parameters, which must be sorted by name.
func newQuery(all []parameter) (*Query, error) {
	q := &Query{limit: defaultLimit}
	for rest := all; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].name == rest[0].name {
			n++
		}
		if err := q.set(rest[0].name, rest[:n]); err != nil {
			return q, err
		}
		rest = rest[n:]
	}
	if q.after.Key != (Key{}) && q.after.ranked != q.isRanked() {
		return q, Invalid("cursor", "belongs to a search with other parameters; repeat the parameters of the first page")
	}
	slices.Sort(q.terms)
	q.terms = slices.Compact(q.terms)
	q.hashes = hashTerms(q.terms)
	return q, q.checkWatch(all)
}

func (q *Query) set(name string, values []parameter) error {
	apply, repeatable := filters[name]
	if !repeatable {
		apply = settings[name]
	}
	switch {
	case apply == nil:
		return Invalid(name, "is not a parameter of this search; use %s", parameterNames())
	case !repeatable && len(values) > 1:
		return Invalid(name, "is repeated %d times; use it once", len(values))
	}
	for i := range values {
		switch value := values[i].value; {
		case value == "":
			return Invalid(name, "is empty; set a value or omit it")
		case len(value) > maxValue:
			return Invalid(name, "is longer than %d bytes; shorten it", maxValue)
		default:
			if err := apply(q, value); err != nil {
				return err
			}
		}
	}
	return nil
}

var errTooManyParameters = Invalid("query", "has more than %d parameters; omit some", maxParameters)

// parameter is a decoded parameter of the query of a URL.
type parameter struct{ name, value string }

// parseParameters appends the parameters of the raw query of a URL, sorted by name. Parameters with the same name keep
// their order. It accepts the same texts as url.ParseQuery, up to maxParameters parameters, but does not allocate a
// map.
func parseParameters(raw string, to []parameter) ([]parameter, error) {
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		if len(to) == maxParameters {
			return nil, errTooManyParameters
		}
		name, value, _ := strings.Cut(part, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil || strings.Contains(part, ";") {
			return nil, Invalid("query", "cannot be decoded: escape the special characters of every value")
		}
		to = append(to, parameter{name, value})
	}
	slices.SortStableFunc(to, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	return to, nil
}

func parameterNames() string {
	names := slices.Concat(slices.Collect(maps.Keys(filters)), slices.Collect(maps.Keys(settings)))
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (q *Query) require(term string) error {
	if len(q.terms) == maxConditions {
		return Invalid("query", "has more than %d conditions; omit some", maxConditions)
	}
	if q.terms == nil {
		q.terms = make([]string, 0, usualConditions)
	}
	q.terms = append(q.terms, term)
	return nil
}

func (q *Query) words(value string) error {
	found := false
	for word := range text.Words(value) {
		found = true
		if err := q.require(wordTerm(word)); err != nil {
			return err
		}
	}
	if !found {
		return Invalid("text", "has no word; use letters or digits")
	}
	return nil
}

func (q *Query) rank(value string) error {
	for range text.Words(value) {
		q.ranked = text.ParseQuery(value)
		q.rankedText = value
		return nil
	}
	return Invalid("q", "has no word; use letters or digits")
}

func (q *Query) isRanked() bool { return q.rankedText != "" }

func (q *Query) inNamespace(value string) error {
	if !isLabel(value) {
		return Invalid("namespace", "is not a name of a namespace; use lower case letters, digits and '-'")
	}
	q.namespace = value
	return q.require(namespaceTerm(value))
}

func (q *Query) requireBool(name, value string, termOf func(bool) string) error {
	is, err := parseBool(name, value)
	if err != nil {
		return err
	}
	return q.require(termOf(is))
}

func parseBool(name, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, Invalid(name, "must be true or false")
	}
	return value == "true", nil
}

func (q *Query) capability(value string) error {
	switch value {
	case capabilityStreaming, capabilityPushNotifications, capabilityExtendedCard:
	default:
		if !strings.Contains(value, ":") {
			return Invalid("capability", "must be %s, %s, %s or the URI of an extension",
				capabilityStreaming, capabilityPushNotifications, capabilityExtendedCard)
		}
	}
	return q.require(capabilityTerm(value))
}

var protocolVersion = regexp.MustCompile(`^[0-9]{1,4}\.[0-9]{1,4}$`)

func (q *Query) protocol(value string) error {
	if !protocolVersion.MatchString(value) {
		return Invalid("protocol", "must be a version of A2A such as 1.0")
	}
	return q.require(protocolTerm(value))
}

func (q *Query) binding(value string) error {
	value = strings.ReplaceAll(value, " ", "+") // URL decoding turns a plus sign that is not escaped into a space
	known := slices.ContainsFunc(card.Bindings, func(b card.Binding) bool { return strings.EqualFold(string(b), value) })
	if !known && !strings.Contains(value, ":") {
		return Invalid("binding", "must be JSONRPC, HTTP%%2BJSON, GRPC or the URI of a custom binding")
	}
	return q.require(bindingTerm(value))
}

func (q *Query) atMost(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxLimit {
		return Invalid("limit", "must be a number from 1 to %d; follow nextCursor for more", maxLimit)
	}
	q.limit = n
	return nil
}

func (q *Query) stream(value string) (err error) {
	q.watch, err = parseBool("watch", value)
	return err
}

// checkWatch returns an error if a parameter cannot be combined with watch, or can be used only
// with watch.
func (q *Query) checkWatch(all []parameter) error {
	if !q.watch {
		if q.since != "" {
			return Invalid("since", "needs watch=true")
		}
		return nil
	}
	for _, name := range []string{"limit", "cursor", "minRevision", "q"} {
		if slices.ContainsFunc(all, func(p parameter) bool { return p.name == name }) {
			return Invalid(name, "cannot be combined with watch; omit it")
		}
	}
	return nil
}

func (q *Query) atLeast(value string) (err error) {
	if q.minRevision, err = ParseRevision(value); err != nil {
		return Invalid("minRevision", "must be a revision from an earlier response, or <resourceVersion of an Agent>-0")
	}
	return nil
}

func (q *Query) continueAt(value string) error {
	var ok bool
	q.after, ok = parseCursor(value)
	if !ok {
		return Invalid("cursor", "is not a cursor of this registry; use nextCursor unchanged, or omit it to start again")
	}
	return nil
}

// ParameterError is a mistake in a request: the parameter or field, and what the client must
// change.
type ParameterError struct{ Field, Cure string }

func (e *ParameterError) Error() string { return e.Field + ": " + e.Cure }

// maxField bounds the name of a parameter in an error, in bytes. Clients can send names of any
// length.
const maxField = 64

// Invalid returns a *ParameterError.
func Invalid(field, format string, args ...any) error {
	if len(field) > maxField {
		field = field[:maxField] + "…"
	}
	return &ParameterError{Field: strings.ToValidUTF8(field, "?"), Cure: fmt.Sprintf(format, args...)}
}
