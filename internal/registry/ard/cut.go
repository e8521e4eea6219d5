// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ard

import (
	"maps"
	"slices"
)

// MaxExported bounds the size of an entry for another registry as JSON, in bytes. A page of
// the largest size then has less than 1 MiB, which is the most that registries of this operator read.
const MaxExported = 9 << 10

// Limits of the parts of an entry that Cut shortens, in bytes of JSON.
const (
	cutName        = 512
	cutVersion     = 256
	cutDescription = 1536
	cutQuery       = 256
	cutMetadata    = 1536
)

// Cut shortens an entry whose Size exceeds limit. It cuts texts, and drops the last metadata,
// tags and capabilities, but does not change the identifier and the URL. limit must be at least
// MaxExported.
func (e *Entry) Cut(limit int) {
	if e.Size() <= limit {
		return
	}
	e.DisplayName, e.Version = cutText(e.DisplayName, cutName), cutText(e.Version, cutVersion)
	e.Description = cutText(e.Description, cutDescription)
	e.RepresentativeQueries = slices.Clone(e.RepresentativeQueries)
	for i, query := range e.RepresentativeQueries {
		e.RepresentativeQueries[i] = cutText(query, cutQuery)
	}
	e.Metadata = firstMembers(e.Metadata, cutMetadata)
	tags, capabilities := e.Tags, e.Capabilities
	e.Tags, e.Capabilities = nil, nil
	e.Tags = firstTexts(tags, (limit-e.Size())/2)
	e.Capabilities = firstTexts(capabilities, limit-e.Size())
}

// cutText returns the longest beginning of a text with at most so many bytes of JSON.
func cutText(text string, bytes int) string {
	size := stringSize("")
	for i, r := range text {
		if size += runeSize(r); size > bytes {
			return text[:i]
		}
	}
	return text
}

// firstTexts returns the first texts with at most so many bytes of JSON.
func firstTexts(texts []string, bytes int) []string {
	for i, text := range texts {
		if bytes -= stringSize(text); bytes < 0 {
			return texts[:i]
		}
	}
	return texts
}

// firstMembers returns members with at most so many bytes of JSON in total. It adds them in
// the order of their names, and leaves out each one that does not fit.
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
