// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// member is a member of the JSON object of a struct.
type member struct {
	name string
	kind reflect.Type
	// required is true if Encode always writes the member.
	required bool
}

// membersOf returns the members of the JSON object of a struct.
func membersOf(kind reflect.Type) []member {
	members := make([]member, kind.NumField())
	for i := range members {
		field := kind.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		members[i] = member{name: name, kind: field.Type, required: !strings.Contains(options, "omit")}
	}
	return members
}

// memberReader compares the members of a JSON text with those of Go types.
type memberReader struct {
	text  *jsontext.Decoder
	types map[reflect.Type][]member
	// partial are the types of which the Go type has a part of the members only.
	partial []reflect.Type
}

// checkMembers returns an error if a JSON text lacks a member that Encode always writes, has
// null for one that cannot be nil, or has an unknown or a second member. It distinguishes
// upper and lower case. The package encoding/json accepts all of these except unknown
// members, and a loss or a second value could open the agent.
//
// The objects of the types partial may have other members.
func checkMembers(text []byte, kind reflect.Type, partial ...reflect.Type) error {
	r := memberReader{text: jsontext.NewDecoder(bytes.NewBuffer(text)), types: map[reflect.Type][]member{}, partial: partial}
	if err := r.check(kind, ""); err != nil {
		return err
	}
	if r.text.PeekKind() != 0 {
		return errors.New("data after the end of the object")
	}
	return nil
}

// opaque are the types of members that are not checked.
var opaque = []reflect.Type{reflect.TypeFor[json.RawMessage](), reflect.TypeFor[card.RawObject](), reflect.TypeFor[[]byte]()}

func (r *memberReader) check(kind reflect.Type, path string) error {
	if next := r.text.PeekKind(); next == 'n' && !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, kind.Kind()) {
		return fmt.Errorf("%s is null", strings.TrimPrefix(path, "."))
	} else if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch next := r.text.PeekKind(); {
	case slices.Contains(opaque, kind):
		return r.text.SkipValue()
	case kind.Kind() == reflect.Struct && next == '{':
		return r.object(kind, path)
	case kind.Kind() == reflect.Slice && next == '[':
		return r.list(kind.Elem(), path)
	default:
		return r.text.SkipValue() // the decoder refuses a value of another type
	}
}

func (r *memberReader) object(kind reflect.Type, path string) error {
	members, known := r.types[kind]
	if !known {
		members = membersOf(kind)
		r.types[kind] = members
	}
	if _, err := r.text.ReadToken(); err != nil {
		return err
	}
	found := make([]bool, len(members))
	for r.text.PeekKind() == '"' {
		token, err := r.text.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 && r.skips(kind, members, name) {
			if err := r.text.SkipValue(); err != nil {
				return err
			}
			continue
		}
		if i < 0 {
			return fmt.Errorf("%s is unknown", strings.TrimPrefix(path+"."+name, "."))
		}
		found[i] = true
		if err := r.check(members[i].kind, path+"."+name); err != nil {
			return err
		}
	}
	if _, err := r.text.ReadToken(); err != nil {
		return err
	}
	for i, m := range members {
		if m.required && !found[i] {
			return fmt.Errorf("%s is missing", strings.TrimPrefix(path+"."+m.name, "."))
		}
	}
	return nil
}

// skips reports whether a type may have a member that is not one of members. The decoder would take a member whose name
// differs only in case for one of members.
func (r *memberReader) skips(kind reflect.Type, members []member, name string) bool {
	return slices.Contains(r.partial, kind) && !slices.ContainsFunc(members, func(m member) bool { return strings.EqualFold(m.name, name) })
}

func (r *memberReader) list(element reflect.Type, path string) error {
	if _, err := r.text.ReadToken(); err != nil {
		return err
	}
	for i := 0; r.text.PeekKind() != ']' && r.text.PeekKind() != 0; i++ {
		if err := r.check(element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := r.text.ReadToken()
	return err
}
