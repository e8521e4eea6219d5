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
	// protocolKey is a merge key that authors leave out: that of the ports of a
	// container.
	protocolKey = "protocol"
)

// node is a line of YAML that begins a value, with the lines around it.
type node struct {
	line, indent int
	key          string
	parent       *node
}

// dropListDefaults removes the defaults inside the elements of lists, line by line
// as bound does.
//
// Client-side kubectl apply sends a JSON merge patch, which has a list as a whole
// as soon as one element differs from that in the cluster. Where the API server
// has added a default to an element, each apply of an unchanged file says
// "configured". Whoever reads such a field gives it the default.
//
// A list that is merged by a key needs the key to be required or to have a
// default. The ports of a container, whose protocol authors leave out, become a
// list that is replaced as a whole. The other such keys are names, which authors
// always write: their defaults stay.
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

// elementSchema returns the schema of the elements of the innermost list that a
// node is in, nil for none. A field may be called items, too.
func (n *node) elementSchema() *node {
	for at := n.parent; at != nil && at.parent != nil; at = at.parent {
		if at.key == "items" && at.parent.key != "properties" {
			return at
		}
	}
	return nil
}

// beside calls visit with the lines behind an element's schema that are about its
// list.
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

// keysOf returns the keys by which a list is merged.
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

// makeAtomic has a list replaced as a whole.
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
