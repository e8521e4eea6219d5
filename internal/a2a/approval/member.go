// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/codec/jsonread"
)

// An object of a client has any number of members and elements, which take a hundred bytes each in a map, and forty in a slice. The
// functions of this file read what they look for, and copy nothing else.

// Member returns the value of a member of an object, nil for none and for what is no object. Of several members with the name, it returns the
// last one, as encoding/json does.
func Member(object []byte, name string) (value json.RawMessage) {
	if !jsonread.MayHave(object, name) {
		return nil
	}
	isObject := eachMember(object, func(member, of []byte) {
		if isNamed(member, name) {
			value = of
		}
	})
	if !isObject {
		return nil
	}
	return value
}

// without returns an object without members of some names.
func without(object []byte, names ...string) a2a.Object {
	rest := append(make(a2a.Object, 0, len(object)), '{')
	eachMember(object, func(member, value []byte) {
		for _, name := range names {
			if isNamed(member, name) {
				return
			}
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, member...), ':'), value...)
	})
	return append(rest, '}')
}

func hasMembers(object []byte) bool {
	return len(object) > 0 && object[0] == '{' && bytes.HasPrefix(bytes.TrimSpace(object[1:]), []byte{'"'})
}

// eachMember calls yield with the quoted name and the value of each member of an object. It returns false at the first error of syntax, and
// for a value that is no object.
func eachMember(object []byte, yield func(name, value []byte)) bool {
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return false
	}
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	next := func() ([]byte, error) {
		value, err := dec.ReadValue()
		end := dec.InputOffset()
		return object[end-int64(len(value)) : end : end], err
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
		yield(name, value)
	}
	_, err := dec.ReadToken()
	return err == nil
}

// isNamed reports whether a quoted name is the given one, with or without escapes.
func isNamed(quoted []byte, name string) bool {
	if plain := quoted[1 : len(quoted)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain) == name
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == name
}

var errElements = errors.New("not an array, or too many elements")

// Elements decodes an array of at most a number of elements; nil has none.
func Elements[T any](array []byte, most int) (all []T, err error) {
	if len(array) == 0 || string(array) == "null" {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
		return nil, errElements
	}
	for dec.More() {
		var element T
		if len(all) == most {
			return nil, errElements
		}
		if err := dec.Decode(&element); err != nil {
			return nil, err //nolint:wrapcheck // callers only ask whether there is one
		}
		all = append(all, element)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errElements
	}
	return all, nil
}
