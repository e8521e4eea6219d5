// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"maps"
	"slices"
	"unicode/utf8"
)

const (
	// memberSize is an upper bound of the JSON of an entry, a result or a response without its
	// strings, in bytes: the names of the members, and the values that are not strings.
	memberSize = 512
	// escapedSize is the size of an escaped character in JSON, such as \u003c, in bytes.
	escapedSize = 6
)

// Size returns an upper bound of the size of the entry as JSON, in bytes.
func (e *Entry) Size() int {
	size := memberSize + stringsSize(e.Tags) + stringsSize(e.Capabilities) + stringsSize(e.RepresentativeQueries) + valueSize(e.Metadata)
	for _, text := range []string{e.Identifier, e.DisplayName, e.Type, e.URL, e.Description, e.Version, e.UpdatedAt} {
		size += stringSize(text)
	}
	return size
}

// Size returns an upper bound of the size of the result as JSON, in bytes.
func (r *Result) Size() int { return r.Entry.Size() + stringSize(r.Source) }

// Size returns an upper bound of the size of the manifest as JSON, in bytes.
func (m Manifest) Size() int {
	return memberSize + stringSize(m.Host.DisplayName) + stringSize(m.Host.Identifier) + entriesSize(m.Entries)
}

// Size returns an upper bound of the size of the response as JSON, in bytes.
func (r ListResponse) Size() int { return memberSize + entriesSize(r.Items) + stringSize(r.PageToken) }

// Size returns an upper bound of the size of the response as JSON, in bytes.
func (r SearchResponse) Size() int {
	size := memberSize + entriesSize(r.Referrals) + stringSize(r.PageToken)
	for i := range r.Results {
		size += r.Results[i].Size()
	}
	return size
}

// Size returns an upper bound of the size of the response as JSON, in bytes.
func (r ExploreResponse) Size() int {
	size := memberSize
	for field, result := range r.Facets {
		size += memberSize + stringSize(field)
		for i := range result.Buckets {
			size += memberSize/8 + stringSize(result.Buckets[i].Value)
		}
	}
	return size
}

func entriesSize(entries []Entry) (size int) {
	for i := range entries {
		size += entries[i].Size()
	}
	return size
}

func stringsSize(texts []string) (size int) {
	for _, text := range texts {
		size += stringSize(text)
	}
	return size
}

// valueSize returns an upper bound of the size of a value in the metadata as JSON, in bytes.
func valueSize(value any) int {
	size := memberSize / 8
	switch v := value.(type) {
	case string:
		size += stringSize(v)
	case []any:
		for i := range v {
			size += valueSize(v[i])
		}
	case map[string]any:
		for name := range v {
			size += stringSize(name) + valueSize(v[name])
		}
	}
	return size
}

// stringSize returns an upper bound of the size of a string as JSON, with its quotes and a comma,
// in bytes.
func stringSize(text string) int {
	size := 3
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// runeSize returns an upper bound of the size of a character in a JSON string, in bytes.
func runeSize(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == utf8.RuneError, r == '\u2028', r == '\u2029', r == 0x7f:
		return escapedSize
	case r == '"', r == '\\':
		return 2
	default:
		return utf8.RuneLen(r)
	}
}

// MaxExported is the maximum size of an entry that the registry sends to another registry, in bytes
// of JSON. Even a page with the maximum number of such entries has less than 1 MiB, which is the
// maximum response that registries of this operator read.
const MaxExported = 9 << 10

// Maximum sizes of the parts of an entry that Cut shortens, in bytes of JSON.
const (
	cutName        = 512
	cutVersion     = 256
	cutDescription = 1536
	cutQuery       = 256
	cutMetadata    = 1536
)

// Cut shortens an entry whose Size exceeds limit. It cuts texts, and drops metadata, tags and
// capabilities that do not fit. The identifier and the URL do not change. limit must be at least
// MaxExported.
func (e *Entry) Cut(limit int) {
	if e.Size() <= limit {
		return
	}
	e.DisplayName = cutText(e.DisplayName, cutName)
	e.Version = cutText(e.Version, cutVersion)
	e.Description = cutText(e.Description, cutDescription)
	e.RepresentativeQueries = slices.Clone(e.RepresentativeQueries)
	for i, query := range e.RepresentativeQueries {
		e.RepresentativeQueries[i] = cutText(query, cutQuery)
	}
	e.Metadata = firstMembers(e.Metadata, cutMetadata)
	tags := e.Tags
	capabilities := e.Capabilities
	e.Tags = nil
	e.Capabilities = nil
	e.Tags = firstTexts(tags, (limit-e.Size())/2)
	e.Capabilities = firstTexts(capabilities, limit-e.Size())
}

// cutText returns the longest prefix of a text whose size as JSON is at most the given number of
// bytes.
func cutText(text string, bytes int) string {
	size := stringSize("")
	for i, r := range text {
		size += runeSize(r)
		if size > bytes {
			return text[:i]
		}
	}
	return text
}

// firstTexts returns as many of the first texts as fit into the given number of bytes of JSON.
func firstTexts(texts []string, bytes int) []string {
	for i, text := range texts {
		bytes -= stringSize(text)
		if bytes < 0 {
			return texts[:i]
		}
	}
	return texts
}

// firstMembers returns the members that fit into the given number of bytes of JSON. It adds them in
// the order of their names, and omits each one that does not fit any more.
func firstMembers(members map[string]any, bytes int) map[string]any {
	kept := make(map[string]any, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if size := stringSize(name) + valueSize(members[name]); size <= bytes {
			kept[name] = members[name]
			bytes -= size
		}
	}
	return kept
}
