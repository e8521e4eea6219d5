// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// EachMember calls visit with the quoted name and the value of each member of the object, which are parts of the object. It returns false
// for what is no object, and at the first error of syntax.
//
// A client may send an object with hundreds of thousands of members, which take ten times as much memory in a map. EachMember remembers
// none of them, and allows names that are there twice.
func (o Object) EachMember(visit func(quoted []byte, value Value)) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(o), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return false
	}
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	next := func() ([]byte, error) {
		value, err := dec.ReadValue()
		end := dec.InputOffset()
		return o[end-int64(len(value)) : end : end], err
	}
	for dec.PeekKind() == '"' {
		name, err := next()
		if err != nil {
			return false
		}
		value, err := next()
		if err != nil {
			return false
		}
		visit(name, value)
	}
	_, err := dec.ReadToken()
	return err == nil
}

// Member returns the value of the last member with a name, nil if there is none, and if EachMember returns false. The value is a part of
// the object.
func (o Object) Member(name string) (value Value) {
	isWhole := o.EachMember(func(quoted []byte, v Value) {
		if IsName(quoted, name) {
			value = v
		}
	})
	if !isWhole {
		return nil
	}
	return value
}

// Without returns a copy of the object without the members with a name, nil if no other member is left.
func (o Object) Without(names ...string) Object {
	kept := append(make(Object, 0, len(o)), '{')
	o.EachMember(func(quoted []byte, value Value) {
		for _, name := range names {
			if IsName(quoted, name) {
				return
			}
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, quoted...), ':'), value...)
	})
	if len(kept) == 1 {
		return nil
	}
	return append(kept, '}')
}

// IsName reports whether a quoted name is a name, also if it has escapes.
func IsName(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return len(quoted) >= 2 && string(quoted[1:len(quoted)-1]) == name
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == name
}
