// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import "unicode/utf8"

const (
	// memberSize bounds the names of the members of an entry, a result or a response, and
	// the values that are not strings, in bytes of JSON.
	memberSize = 512
	// escapedSize is the size of an escaped character in JSON.
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

// valueSize bounds a value of the metadata.
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

// stringSize bounds a string with its quotes and a comma.
func stringSize(text string) int {
	size := 3
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

// runeSize bounds a character as part of a string of JSON, in bytes.
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
