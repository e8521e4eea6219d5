// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// maxElements bounds the lists and maps whose schemas have no bound: those in types of Kubernetes. The informer
// caches of the manager store every Agent. Without bounds, an Agent of a megabyte with a list of {} takes dozens of
// megabytes in each replica of the manager.
const maxElements = 256

// longLists are the fields whose lists may have maxLongList elements. Some pods have long lists there. The elements
// are small, or they need so many bytes of YAML that the size of a manifest limits their number.
var longLists = []string{"args", "command", "env", "items", "values"}

const maxLongList = 1024

// boundCollections adds maxItems and maxProperties to the schemas of lists and maps that have none. Like bound, it
// works line by line. The keys of a schema are sorted, and no description has a line that is only "type: array" or
// "type: object".
func boundCollections(crd string) string {
	var out []string
	for line := range strings.SplitSeq(crd, "\n") {
		indent, isList := strings.CutSuffix(line, "type: array")
		if isList && strings.TrimSpace(indent) == "" {
			out = insertBound(out, indent, "maxItems: ", func(name string) int {
				if slices.Contains(longLists, name) {
					return maxLongList
				}
				return maxElements
			})
		}
		indent, isObject := strings.CutSuffix(line, "type: object")
		if isObject && strings.TrimSpace(indent) == "" && hasKey(out, indent, "additionalProperties:") {
			out = insertBound(out, indent, "maxProperties: ", func(string) int { return maxElements })
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// insertBound adds a bound to a schema, unless the schema has one. lines end with the keys of the schema that precede
// its type. These keys have the indentation indent. most returns the bound for the name of the field.
func insertBound(lines []string, indent, key string, most func(name string) int) []string {
	if hasKey(lines, indent, key) {
		return lines
	}
	at := len(lines)
	if at > 0 && strings.HasPrefix(lines[at-1], indent+"min") {
		at--
	}
	return slices.Insert(lines, at, fmt.Sprintf("%s%s%d", indent, key, most(fieldOf(lines, indent))))
}

// hasKey reports whether a schema has a key. lines end with the keys of the schema, which have the indentation indent.
func hasKey(lines []string, indent, key string) bool {
	for _, line := range slices.Backward(lines) {
		switch text, ok := strings.CutPrefix(line, indent); {
		case strings.TrimSpace(line) == "":
		case !ok:
			return false
		case strings.HasPrefix(text, key):
			return true
		}
	}
	return false
}

// fieldOf returns the name of the field that a schema describes, or "" for none. lines end with the keys of the schema,
// which have the indentation indent.
func fieldOf(lines []string, indent string) string {
	for _, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, indent) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			return name
		}
	}
	return ""
}
