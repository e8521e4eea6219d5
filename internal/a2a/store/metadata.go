// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
)

// mergeObjects returns an object with the members of both objects. If both have a
// member with the same name, the result has the member of newer. It merges the first
// level only and changes neither object.
func mergeObjects(older, newer a2a.Object) a2a.Object {
	names := map[string]bool{}
	members(newer, func(name, _ jsontext.Value) { names[string(name)] = true })
	merged := make(a2a.Object, 0, len(older)+len(newer))
	merged = append(merged, '{')
	add := func(name, value jsontext.Value) {
		if len(merged) > 1 {
			merged = append(merged, ',')
		}
		merged = append(append(append(merged, name...), ':'), value...)
	}
	members(older, func(name, value jsontext.Value) {
		if !names[string(name)] {
			add(name, value)
		}
	})
	members(newer, add)
	return append(merged, '}')
}

// members calls yield with the quoted name and the value of every member. The
// objects were validated before; members stops at one that is not valid.
func members(o a2a.Object, yield func(name, value jsontext.Value)) {
	if len(o) == 0 {
		return
	}
	dec := jsontext.NewDecoder(bytes.NewReader(o))
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return
		}
		name := quoted.Clone()
		value, err := dec.ReadValue()
		if err != nil {
			return
		}
		yield(name, value)
	}
}
