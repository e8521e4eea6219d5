// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion makes Agents from a Deployment with its Services, and from the card of a
// remote agent. Its subpackage kagent makes Agents from manifests of kagent.
//
// A conversion reports each field of its source that has no equivalent in the Agent, with the
// reason and an advice. The package is pure: it reads and writes nothing outside of its
// arguments. It returns errors of package failure.
package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
)

// Decode decodes the JSON of an object, with case-sensitive field names. unknown contains the paths of at most 100
// fields that T does not have.
func Decode[T any](text []byte) (value *T, unknown []string, err error) {
	value = new(T)
	strict, err := kjson.UnmarshalStrict(text, value)
	if err != nil {
		return nil, nil, failure.Wrap(failure.Usage, err, "read the object")
	}
	for _, each := range strict {
		if field, ok := errors.AsType[kjson.FieldError](each); ok {
			unknown = append(unknown, field.FieldPath())
		}
	}
	return value, unknown, nil
}

// Source is an object that is converted. It contains the fields that are not yet converted or reported. A path is a list
// of names and indexes.
type Source struct {
	object string
	fields any
	report *[]Note
}

// gone replaces a removed element of a list, so that the indexes of the other elements do not change.
type gone struct{}

// NewSource returns the Source of an object. The Source appends its notes to report. NewSource reports the fields in
// unknown, the second result of Decode. The Source does not contain the status and the metadata that the API server
// sets.
func NewSource(object string, value any, unknown []string, report *[]Note) *Source {
	s := &Source{object: object, report: report, fields: generic(value)}
	for _, path := range [][]any{{"apiVersion"}, {"kind"}, {"status"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		s.Drop(path...)
	}
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		s.Drop("metadata", name)
	}
	for _, field := range unknown {
		if strings.HasPrefix(field, "status") {
			continue
		}
		s.note(LeftOut, field, "this version of the import does not know the field", "see whether the API reference of the Agent has a field for the same purpose")
	}
	return s
}

func (s *Source) note(action Action, field, because, do string) {
	*s.report = append(*s.report, Note{Object: s.object, Field: field, Action: action, Because: because, Do: do})
}

// Drop marks a field as handled, without a note.
func (s *Source) Drop(path ...any) { s.fields = removed(s.fields, path) }

// DropDefault marks a field as handled if it has the given value, which is the default of the API server.
func (s *Source) DropDefault(value any, path ...any) {
	if current, ok := at(s.fields, path); ok && reflect.DeepEqual(current, generic(value)) {
		s.Drop(path...)
	}
}

// LeftOut reports that the Agent does not have a field and the fields below it, and marks them as handled. It ignores a
// field that the source does not have.
func (s *Source) LeftOut(because, do string, path ...any) { s.handle(LeftOut, because, do, path) }

// Changed reports that the Agent has another value for a field, and otherwise works like LeftOut.
func (s *Source) Changed(because, do string, path ...any) { s.handle(Changed, because, do, path) }

func (s *Source) handle(action Action, because, do string, path []any) {
	if _, ok := at(s.fields, path); ok {
		s.note(action, Path(path...), because, do)
		s.Drop(path...)
	}
}

// Check reports a field that the user should check, even if the source does not have it. It does not mark the field as
// handled.
func (s *Source) Check(because, do string, path ...any) { s.note(Check, Path(path...), because, do) }

// Converted marks fields below a path as handled. It marks the fields whose values equal those in out, which is the value
// in the Agent that replaces the value at the path.
func (s *Source) Converted(out any, path ...any) {
	current, ok := at(s.fields, path)
	if !ok {
		return
	}
	rest, none := subtracted(current, generic(out))
	if none {
		s.Drop(path...)
		return
	}
	set(s.fields, path, rest)
}

// NoSuchField is the reason for a field that no rule of a conversion concerns.
const NoSuchField = "the Agent has no such field"

// Close reports all fields that are not handled as LeftOut.
func (s *Source) Close() {
	for _, path := range leaves(s.fields, nil) {
		s.note(LeftOut, Path(path...), NoSuchField, "see whether the API reference of the Agent has a field for the same purpose")
	}
	s.fields = nil
}

// generic returns a value in the types that encoding/json decodes into any.
func generic(value any) any {
	var out any
	text, _ := json.Marshal(value) // values of Kubernetes objects have a JSON form
	_ = json.Unmarshal(text, &out) // cannot fail: json.Marshal has just made the text
	return out
}

func at(value any, path []any) (any, bool) {
	for _, segment := range path {
		switch parent := value.(type) {
		case map[string]any:
			name, _ := segment.(string)
			child, ok := parent[name]
			if !ok {
				return nil, false
			}
			value = child
		case []any:
			index, ok := segment.(int)
			if !ok || index >= len(parent) {
				return nil, false
			}
			value = parent[index]
		default:
			return nil, false
		}
	}
	return value, !isGone(value) && value != nil
}

func set(value any, path []any, to any) {
	parent, _ := at(value, path[:len(path)-1])
	switch parent := parent.(type) {
	case map[string]any:
		parent[path[len(path)-1].(string)] = to
	case []any:
		parent[path[len(path)-1].(int)] = to
	}
}

// removed returns a value without the field at a path, and without parents that become empty by this. It changes value.
func removed(value any, path []any) any {
	if len(path) == 0 {
		return gone{}
	}
	switch parent := value.(type) {
	case map[string]any:
		name, _ := path[0].(string)
		if child, ok := parent[name]; !ok || !isGone(removed(child, path[1:])) {
			return value
		}
		delete(parent, name)
		if len(parent) == 0 {
			return gone{}
		}
	case []any:
		index, ok := path[0].(int)
		if !ok || index >= len(parent) {
			return value
		}
		parent[index] = removed(parent[index], path[1:])
		if allGone(parent) {
			return gone{}
		}
	}
	return value
}

func isGone(value any) bool {
	_, ok := value.(gone)
	return ok
}

func allGone(values []any) bool {
	return !slices.ContainsFunc(values, func(each any) bool { return !isGone(each) })
}

// subtracted returns the part of a value that differs from out, and whether there is no difference. It changes value.
func subtracted(value, out any) (rest any, none bool) {
	switch value := value.(type) {
	case map[string]any:
		other, ok := out.(map[string]any)
		if !ok {
			return value, false
		}
		for name, child := range value {
			if left, none := subtracted(child, other[name]); none {
				delete(value, name)
			} else {
				value[name] = left
			}
		}
		return value, len(value) == 0
	case []any:
		other, ok := out.([]any)
		if !ok {
			return value, false
		}
		for i := range min(len(value), len(other)) {
			left, none := subtracted(value[i], other[i])
			if none {
				left = gone{}
			}
			value[i] = left
		}
		return value, allGone(value)
	case gone:
		return value, true
	default:
		return value, reflect.DeepEqual(value, out)
	}
}

// leaves returns the paths of all scalars and empty collections in a value, sorted by name.
func leaves(value any, path []any) [][]any {
	var all [][]any
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			all = append(all, leaves(value[name], append(slices.Clone(path), name))...)
		}
		if len(value) > 0 || len(path) == 0 {
			return all
		}
	case []any:
		for i, each := range value {
			all = append(all, leaves(each, append(slices.Clone(path), i))...)
		}
		if len(value) > 0 {
			return all
		}
	case gone, nil:
		return nil
	}
	return [][]any{path}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Path returns a path as text, such as spec.containers[0].image.
func Path(path ...any) string {
	var out strings.Builder
	for i, segment := range path {
		switch name, isName := segment.(string); {
		case isName && plainName.MatchString(name) && i > 0:
			out.WriteString("." + name)
		case isName && plainName.MatchString(name):
			out.WriteString(name)
		case isName:
			fmt.Fprintf(&out, "[%s]", name)
		default:
			fmt.Fprintf(&out, "[%d]", segment)
		}
	}
	return out.String()
}

// Names returns the names of the fields of an object that are not yet handled, sorted.
func (s *Source) Names(path ...any) []string {
	fields, _ := at(s.fields, path)
	object, _ := fields.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

// Action is the kind of a Note: what a conversion did with a field.
type Action string

const (
	// LeftOut marks a field that the Agent does not have.
	LeftOut Action = "LeftOut"
	// Changed marks a field that has another value in the Agent.
	Changed Action = "Changed"
	// Check marks a field that has another effect in the Agent, or whose value the conversion guessed.
	Check Action = "Check"
)

// Note is the entry of a report for one field.
type Note struct {
	// Object is the kind and the name of the source, such as "Deployment team/echo".
	Object string `json:"object"`
	// Field is the path of the field. The note covers all fields below it.
	Field  string `json:"field"`
	Action Action `json:"action"`
	// Because is the reason for the action. Do says what the user can do.
	Because string `json:"because"`
	Do      string `json:"do"`
}

// String returns the note as one line.
func (n Note) String() string {
	verb := map[Action]string{LeftOut: "left out because", Changed: "changed because", Check: "check this:"}[n.Action]
	return fmt.Sprintf("%s: %s: %s %s; %s", n.Object, n.Field, verb, n.Because, n.Do)
}

// NothingToDo is Note.Do for a field whose loss has no effect.
const NothingToDo = "no action is needed"

// Result is the outcome of a conversion.
type Result struct {
	Agents []*a2av1alpha1.Agent
	Report []Note
}
