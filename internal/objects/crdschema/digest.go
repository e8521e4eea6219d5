// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// markSize is the length of a mark, in bytes.
const markSize = 6

// mark returns the mark of a path in a digest. No two fields of the CRDs have the same mark.
func mark(path string) string {
	sum := sha256.Sum256([]byte(path))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:markSize]
}

// AgentDigest returns the digest of the fields that a spec sets: the sorted marks of their paths,
// without separators. A field that has the default of this build's CRD counts as absent, so that a
// default that a newer CRD adds does not change the digest. The digest does not depend on the
// values, because the API server drops fields and does not change values.
func AgentDigest(spec *a2av1alpha1.AgentSpec) string {
	return agentSpec().digest(reflect.ValueOf(spec).Elem(), nil)
}

// AgentSkillDigest is AgentDigest for the spec of an AgentSkill.
func AgentSkillDigest(spec *a2av1alpha1.AgentSkillSpec) string {
	return agentSkillSpec().digest(reflect.ValueOf(spec).Elem(), nil)
}

// unknownField stands for a field that this build does not know.
const unknownField = "a field that this version of the operator does not know"

// missing returns the paths of the fields in former that present lacks. It omits the fields below a
// missing field.
func (s *spec) missing(former, present string) []string {
	var paths []string
	whole := present
	for ; len(former) >= markSize; former = former[markSize:] {
		lost := former[:markSize]
		for len(present) >= markSize && present[:markSize] < lost {
			present = present[markSize:]
		}
		if strings.HasPrefix(present, lost) {
			continue
		}
		path, known := s.paths[lost]
		switch {
		case !known:
			path = unknownField
		case s.groups[lost] && s.setBelow(path, whole):
			continue
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.CompactFunc(paths, func(above, below string) bool {
		return strings.HasPrefix(below, above)
	})
}

// setBelow reports whether a digest has a field below a path.
func (s *spec) setBelow(path, digest string) bool {
	for ; len(digest) >= markSize; digest = digest[markSize:] {
		if strings.HasPrefix(s.paths[digest[:markSize]], path+".") {
			return true
		}
	}
	return false
}

// spec is the type of a spec, prepared for digests.
type spec struct {
	root *field
	// paths maps marks to paths.
	paths map[string]string
	// groups has the marks of structs, which have no mark in a digest of this build: the marks of their fields
	// stand for them. An older build that does not know the struct has its mark in the digest.
	groups map[string]bool
}

// field is a field of a spec.
type field struct {
	path, mark string
	// initial is the default. It is not valid without one.
	initial reflect.Value
	// opaque is true for a value that encodes itself, such as a quantity.
	opaque bool
	// enum has the values that the CRD allows for the field or its elements, nil for no restriction. restricted is
	// true if the field or a field below it has an enum.
	enum       []string
	restricted bool
	// members are the fields of a struct, or of the elements of a list or pointer of structs.
	members []member
}

type member struct {
	index []int
	*field
}

var (
	agentSpec = sync.OnceValue(func() *spec {
		return newSpec(reflect.TypeFor[a2av1alpha1.AgentSpec](), Own(Agents))
	})
	agentSkillSpec = sync.OnceValue(func() *spec {
		return newSpec(reflect.TypeFor[a2av1alpha1.AgentSkillSpec](), Own(AgentSkills))
	})
)

func newSpec(t reflect.Type, declared Fields) *spec {
	s := &spec{paths: map[string]string{}, groups: map[string]bool{}}
	s.root = s.newField(t, "spec", declared)
	return s
}

func (s *spec) newField(t reflect.Type, path string, declared Fields) *field {
	f := &field{path: path, mark: mark(path), opaque: reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())}
	s.paths[f.mark] = path
	s.groups[f.mark] = t.Kind() == reflect.Struct && !f.opaque
	if text := declared[path].Default; text != nil {
		value := reflect.New(t)
		if json.Unmarshal(text, value.Interface()) == nil {
			f.initial = value.Elem()
		}
	}
	if f.opaque {
		return f
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
			return f
		}
	}
	f.enum = declared[path].Enum
	f.restricted = f.enum != nil
	if t.Kind() != reflect.Struct {
		return f
	}
	for _, each := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(each.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue // an embedded struct, whose fields are visible themselves
		}
		below := s.newField(each.Type, path+"."+name, declared)
		f.members = append(f.members, member{each.Index, below})
		f.restricted = f.restricted || below.restricted
	}
	return f
}

// digest returns the digest of a spec that also sets the fields at the paths unknown.
func (s *spec) digest(v reflect.Value, unknown []string) string {
	marks := make([]string, 0, 64)
	for _, path := range unknown {
		marks = append(marks, mark(path))
	}
	for _, each := range s.root.members {
		marks = each.appendMarks(marks, v.FieldByIndex(each.index))
	}
	slices.Sort(marks)
	return strings.Join(slices.Compact(marks), "")
}

// appendMarks appends the marks of a field and of the fields below it, if the value sets them. Most fields of a spec
// are absent, so it looks for these first.
func (f *field) appendMarks(marks []string, v reflect.Value) []string {
	whole := v.Kind() != reflect.Struct || f.opaque
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		// An empty list is not the same as an absent one: rules: [] denies every call.
		if v.IsNil() {
			return marks
		}
	default:
		if whole && v.IsZero() {
			return marks
		}
	}
	if f.initial.IsValid() && isEqual(v, f.initial) {
		return marks
	}
	if whole {
		marks = append(marks, f.mark)
	}
	return f.appendMembers(marks, v)
}

// isEqual reports whether a value is deeply equal to another one of its type. Unlike reflect.DeepEqual, it does not copy
// the values: the operator compares all fields that have a default at each reconcile.
func isEqual(v, other reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || other.IsNil() {
			return v.IsNil() == other.IsNil()
		}
		return isEqual(v.Elem(), other.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !isEqual(v.Field(i), other.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if v.IsNil() != other.IsNil() || v.Len() != other.Len() {
			return false
		}
		for i := range v.Len() {
			if !isEqual(v.Index(i), other.Index(i)) {
				return false
			}
		}
		return true
	case reflect.String:
		return v.String() == other.String()
	case reflect.Bool:
		return v.Bool() == other.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int() == other.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint() == other.Uint()
	default:
		return reflect.DeepEqual(v.Interface(), other.Interface())
	}
}

// appendMembers appends the marks of the fields of a struct, or of the structs in a list.
func (f *field) appendMembers(marks []string, v reflect.Value) []string {
	if len(f.members) == 0 {
		return marks
	}
	switch v.Kind() {
	case reflect.Pointer:
		return f.appendMembers(marks, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			marks = f.appendMembers(marks, v.Index(i))
		}
	default:
		for _, each := range f.members {
			marks = each.appendMarks(marks, v.FieldByIndex(each.index))
		}
	}
	return marks
}
