// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import "strings"

// Names are the member names of a dialect. They are compared exactly; one that
// differs in case only is a mistake, or a request that means one thing to us
// and another to whoever reads names without regard to case.
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

// VariantOf returns the name that another is a variant of, and "" for a name
// itself and for one that is none at all.
func (n Names) VariantOf(name []byte) string {
	if n.exact[string(name)] {
		return ""
	}
	return n.folded[fold(string(name))]
}

// fold maps all spellings to one, as Unicode's simple folding does for the
// letters of ASCII.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
