// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonread

// The functions of this file remove members from the text of a JSON object and add them. The other
// members keep their bytes and their order.

import (
	"bytes"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonwrite"
)

// MayHave reports whether an object may have a member. It is a cheap test before Cut: if it
// returns false, the object does not have the member; if it returns true, the object may
// still lack it. The name must need no escapes.
func MayHave(o a2a.Object, name string) bool {
	i := bytes.Index(o, []byte(name))
	// If the object has no backslash, no name in it is escaped.
	return i > 0 || bytes.IndexByte(o, '\\') >= 0
}

// Cut returns the value of a member, and the object without the member. The value is nil if
// the object has no such member. rest is nil if no other member is left.
func Cut(o a2a.Object, name string) (value a2a.Value, rest a2a.Object) {
	if len(o) == 0 || !MayHave(o, name) {
		return nil, o
	}
	value = o.Member(name)
	if value == nil {
		return nil, o
	}
	return bytes.Clone(value), o.Without(name)
}

// With returns the object with a member added before the other members. The object must not
// have the member yet.
func With(o a2a.Object, name string, value a2a.Value) a2a.Object {
	out := AppendMember(nil, name, value)
	if len(o) > len("{}") {
		out = append(out, ',')
		return append(out, o[1:]...)
	}
	return append(out, '}')
}

// AppendMember appends a member to dst. dst is an object without its closing brace, and nil
// for an object without members.
func AppendMember(dst a2a.Object, name string, value []byte) a2a.Object {
	if dst == nil {
		dst = append(dst, '{')
	} else {
		dst = append(dst, ',')
	}
	dst = jsonwrite.String(dst, name)
	dst = append(dst, ':')
	return append(dst, value...)
}
