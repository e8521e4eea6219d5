// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import "strings"

// Names is the set of member names of a dialect. Readers compare names exactly. A name that
// differs from a member name only in case is a mistake, or an attempt to make this server
// and a reader that ignores case see different requests.
type Names struct {
	exact  map[string]bool
	folded map[string]string
}

// NewNames returns the set of the names.
func NewNames(all ...string) Names {
	n := Names{exact: make(map[string]bool, len(all)), folded: make(map[string]string, len(all))}
	for _, name := range all {
		n.exact[name] = true
		n.folded[fold(name)] = name
	}
	return n
}

// VariantOf returns the name of the set from which name differs only in case. It returns ""
// for a name of the set, and for a name without such a counterpart.
func (n Names) VariantOf(name []byte) string {
	if n.exact[string(name)] {
		return ""
	}
	return n.folded[fold(string(name))]
}

// fold maps names that differ only in case to the same text, like Unicode's simple folding
// for ASCII letters.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
