// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

const (
	mapKeys  = "x-kubernetes-list-map-keys:"
	listType = "x-kubernetes-list-type: "
	// protocolKey is a merge key of container ports. Authors of manifests usually omit it.
	protocolKey = "protocol"
)

// node is a line of YAML with a key, and the node of the enclosing key.
type node struct {
	line, indent int
	key          string
	parent       *node
}

// dropListDefaults removes the defaults inside the elements of lists. Like bound, it works line by line.
//
// Client-side kubectl apply sends a JSON merge patch, which contains a whole list if one element differs from
// the cluster. If the API server has added a default to an element, each apply of an unchanged file reports
// "configured". The code that reads such a field applies the default.
//
// In a list with merge keys, each key must be required or have a default. The list of container ports becomes
// atomic, because authors omit the key protocol. The other keys are names, which authors always write, so their
// defaults stay.
func dropListDefaults(crd string) string {
	lines := strings.Split(crd, "\n")
	drop := map[int]bool{}
	var top *node
	for i, text := range lines {
		trimmed := strings.TrimLeft(text, " ")
		indent := len(text) - len(trimmed)
		if trimmed == "" { // a blank line of a description is not indented
			continue
		}
		for top != nil && top.indent >= indent {
			top = top.parent
		}
		key, _, _ := strings.Cut(trimmed, ":")
		top = &node{line: i, indent: indent, key: key, parent: top}
		if key != "default" || top.parent == nil || top.parent.key == "properties" || top.parent.key == "description" {
			continue
		}
		items := top.elementSchema()
		if items == nil {
			continue
		}
		if keys, field := keysOf(lines, items), top.parent; field.parent.parent == items && slices.Contains(keys, field.key) {
			if field.key != protocolKey {
				continue
			}
			makeAtomic(lines, items, drop)
		}
		drop[i] = true
	}
	var kept []string
	for i, text := range lines {
		if !drop[i] {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, "\n")
}

// elementSchema returns the schema of the elements of the innermost list around a node, or nil if there is no list.
// It ignores fields with the name "items", whose parent is the key properties.
func (n *node) elementSchema() *node {
	for at := n.parent; at != nil && at.parent != nil; at = at.parent {
		if at.key == "items" && at.parent.key != "properties" {
			return at
		}
	}
	return nil
}

// beside calls visit with the sibling keys that follow the key items in the schema of a list.
func beside(lines []string, items *node, visit func(i int, text string)) {
	for i := items.line + 1; i < len(lines); i++ {
		trimmed := strings.TrimLeft(lines[i], " ")
		indent := len(lines[i]) - len(trimmed)
		if trimmed == "" {
			continue
		}
		if indent < items.indent {
			return
		}
		if indent == items.indent {
			visit(i, trimmed)
		}
	}
}

// keysOf returns the merge keys of a list.
func keysOf(lines []string, items *node) []string {
	var keys []string
	reading := false
	beside(lines, items, func(_ int, text string) {
		key, isEntry := strings.CutPrefix(text, "- ")
		switch {
		case text == mapKeys:
			reading = true
		case reading && isEntry:
			keys = append(keys, key)
		default:
			reading = false
		}
	})
	return keys
}

// makeAtomic makes a list atomic.
func makeAtomic(lines []string, items *node, drop map[int]bool) {
	reading := false
	beside(lines, items, func(i int, text string) {
		switch {
		case text == mapKeys:
			reading, drop[i] = true, true
		case reading && strings.HasPrefix(text, "- "):
			drop[i] = true
		case strings.HasPrefix(text, listType):
			reading = false
			lines[i] = strings.Repeat(" ", items.indent) + listType + "atomic"
		default:
			reading = false
		}
	})
}
