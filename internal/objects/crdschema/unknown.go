// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdschema

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
)

// appendUnknown appends the path and the value of each field whose value no enum of this build has. The API server
// does not validate an object that it reads, so a downgrade of the CRDs leaves such values. It returns each text
// once.
func (f *field) appendUnknown(texts []string, v reflect.Value) []string {
	switch {
	case !f.restricted:
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			texts = f.appendUnknown(texts, v.Elem())
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			texts = f.appendUnknown(texts, v.Index(i))
		}
	case v.Kind() == reflect.String:
		if value := v.String(); value != "" && !slices.Contains(f.enum, value) {
			if text := fmt.Sprintf("%s %.64q", f.path, value); !slices.Contains(texts, text) {
				texts = append(slices.Clip(texts), text)
			}
		}
	default:
		for _, each := range f.members {
			texts = each.appendUnknown(texts, v.FieldByIndex(each.index))
		}
	}
	return texts
}

// NewFields are fields that a newer CRD has and the operator does not know: their defaults as JSON ("" for
// none) by path. The map is immutable.
type NewFields map[string]string

// SetNewFields returns the paths of the new fields that a spec sets, sorted. It omits the fields below one of them,
// and fields that have the default of the newer CRD: a default changes nothing. spec is decoded JSON.
func SetNewFields(spec map[string]any, fields NewFields) []string {
	paths := fields.appendSet(nil, "spec", spec)
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (f NewFields) appendSet(paths []string, path string, value any) []string {
	if _, isNew := f[path]; isNew {
		if value != nil && !f.isDefault(path, value) {
			paths = append(paths, path)
		}
		return paths
	}
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			paths = f.appendSet(paths, path+"."+name, member)
		}
	case []any:
		for _, element := range value {
			paths = f.appendSet(paths, path+"[]", element)
		}
	}
	return paths
}

// isDefault reports whether a value is what the API server sets for an absent field.
func (f NewFields) isDefault(path string, value any) bool {
	text := f[path]
	if text == "" {
		return false
	}
	var initial any
	if err := json.Unmarshal([]byte(text), &initial); err != nil {
		return false
	}
	return f.isFilled(path, value, initial)
}

// isFilled reports whether a value is initial, or an object that the API server has made from it: it adds the
// defaults of the members that initial lacks.
func (f NewFields) isFilled(path string, value, initial any) bool {
	object, isObject := value.(map[string]any)
	from, fromObject := initial.(map[string]any)
	if !isObject || !fromObject {
		return reflect.DeepEqual(value, initial)
	}
	for name := range from {
		if _, found := object[name]; !found {
			return false
		}
	}
	for name, member := range object {
		given, found := from[name]
		filled := found && f.isFilled(path+"."+name, member, given) || !found && f.isDefault(path+"."+name, member)
		if !filled {
			return false
		}
	}
	return true
}
