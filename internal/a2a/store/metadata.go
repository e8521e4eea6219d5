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
	members(newer, func(quoted, _ jsontext.Value) { names[unquote(quoted)] = true })
	merged := append(make(a2a.Object, 0, len(older)+len(newer)), '{')
	members(older, func(quoted, value jsontext.Value) {
		if !names[unquote(quoted)] {
			merged = appendMember(merged, quoted, value)
		}
	})
	members(newer, func(name, value jsontext.Value) { merged = appendMember(merged, name, value) })
	return append(merged, '}')
}

// WithoutMember returns the object o without the member name, or nil if no other member is
// left. It does not change o.
func WithoutMember(o a2a.Object, name string) a2a.Object {
	kept := append(make(a2a.Object, 0, len(o)), '{')
	members(o, func(quoted, value jsontext.Value) {
		if unquote(quoted) != name {
			kept = appendMember(kept, quoted, value)
		}
	})
	if len(kept) == 1 {
		return nil
	}
	return append(kept, '}')
}

// unquote returns the text of a quoted name, so that names with different escapes are equal.
func unquote(quoted jsontext.Value) string {
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return string(quoted) // the objects are valid, so this does not happen
	}
	return string(text)
}

// appendMember appends a member to an object without its closing brace.
func appendMember(o a2a.Object, name, value jsontext.Value) a2a.Object {
	if len(o) > 1 {
		o = append(o, ',')
	}
	return append(append(append(o, name...), ':'), value...)
}

// members calls yield with the quoted name and the value of every member. The callers pass
// validated objects. At a syntax error, members stops.
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
