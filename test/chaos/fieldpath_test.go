// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// fieldPath is the path of a field in server-side apply.
type fieldPath fieldpath.Path

func (p fieldPath) String() string { return fieldpath.Path(p).String() }

// fieldsOf returns the fields that the operator owns.
func fieldsOf(t *testing.T, object *unstructured.Unstructured) []fieldPath {
	t.Helper()
	var all []fieldPath
	for _, entry := range object.GetManagedFields() {
		if entry.Manager != a2av1alpha1.FieldOwner || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			t.Fatal(err)
		}
		set.Leaves().Iterate(func(p fieldpath.Path) { all = append(all, fieldPath(p.Copy())) })
	}
	return all
}

// isKey reports whether a field is the key of a list element. A change of a key adds an element
// and removes another.
func (p fieldPath) isKey() bool {
	if len(p) < 2 || p[len(p)-1].FieldName == nil || p[len(p)-2].Key == nil {
		return false
	}
	for _, key := range *p[len(p)-2].Key {
		if key.Name == *p[len(p)-1].FieldName {
			return true
		}
	}
	return false
}

// of returns the value of the field.
func (p fieldPath) of(object any) (any, bool) {
	for _, step := range p {
		next, ok := child(object, step)
		if !ok {
			return nil, false
		}
		object = next
	}
	return object, true
}

// set changes the field, or removes it for nil.
func (p fieldPath) set(object map[string]any, to any) {
	parent, ok := p[:len(p)-1].of(object)
	if !ok {
		return
	}
	last := p[len(p)-1]
	switch holder := parent.(type) {
	case map[string]any:
		if last.FieldName == nil {
			return
		}
		if to == nil {
			delete(holder, *last.FieldName)
			return
		}
		holder[*last.FieldName] = to
	case []any:
		i := index(holder, last)
		if i < 0 {
			return
		}
		if to != nil {
			holder[i] = to
			return
		}
		p[:len(p)-1].set(object, append(holder[:i:i], holder[i+1:]...))
	}
}

func child(object any, step fieldpath.PathElement) (any, bool) {
	switch holder := object.(type) {
	case map[string]any:
		if step.FieldName == nil {
			return nil, false
		}
		v, ok := holder[*step.FieldName]
		return v, ok
	case []any:
		if i := index(holder, step); i >= 0 {
			return holder[i], true
		}
	}
	return nil, false
}

// index returns the index of a list element by its keys, its value or its position.
func index(list []any, step fieldpath.PathElement) int {
	for i, element := range list {
		switch {
		case step.Index != nil:
			if *step.Index == i {
				return i
			}
		case step.Value != nil:
			if reflect.DeepEqual((*step.Value).Unstructured(), element) {
				return i
			}
		case step.Key != nil:
			if hasKeys(element, *step.Key) {
				return i
			}
		}
	}
	return -1
}

func hasKeys(element any, keys value.FieldList) bool {
	fields, ok := element.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range keys {
		if !reflect.DeepEqual(fields[key.Name], key.Value.Unstructured()) {
			return false
		}
	}
	return true
}
