// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

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

// isLabel reports whether text is a valid name of a namespace or an Agent.
func isLabel(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }
