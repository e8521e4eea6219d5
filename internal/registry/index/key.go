// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import "strings"

// Key names an agent.
type Key struct{ Namespace, Name string }

func (k Key) compare(other Key) int {
	if c := strings.Compare(k.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(k.Name, other.Name)
}

// Valid reports whether an agent can have the key (RFC 1123).
func (k Key) Valid() bool { return isLabel(k.Namespace) && isLabel(k.Name) }

// maxLabel bounds a label, in bytes.
const maxLabel = 63

// isLabel reports whether text is a valid name of a namespace or an Agent: a label of RFC 1123 in lower case.
func isLabel(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case c == '-' && i > 0 && i < len(text)-1:
		default:
			return false
		}
	}
	return text != "" && len(text) <= maxLabel
}
