// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

import "strings"

// Names are the member names of a dialect. Readers compare names exactly. A name
// that differs from one of these in case only is a mistake, or an attempt to make
// this server and a reader that ignores case see different requests.
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

// VariantOf returns the name from which another differs in case only. It returns
// "" for a name of the set, and for one that resembles none.
func (n Names) VariantOf(name []byte) string {
	if n.exact[string(name)] {
		return ""
	}
	return n.folded[fold(string(name))]
}

// fold maps names that differ in case only to one text, as Unicode's simple
// folding does for ASCII letters.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
