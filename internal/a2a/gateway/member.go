// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// enter reads an object up to the value of the first member with one of the names. It returns
// false if there is no such member.
func enter(d *jsontext.Decoder, names ...string) bool {
	if d.PeekKind() != '{' {
		return false
	}
	if _, err := d.ReadToken(); err != nil {
		return false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return false
		}
		if slices.Contains(names, name.String()) {
			return true
		}
		if d.SkipValue() != nil {
			return false
		}
	}
	return false
}
