// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inSync reports whether every desired field has its value in the current object. Other
// fields, and other entries of fields that are not atomic, belong to other field managers.
//
// A ConfigMap that is being deleted has no data in the cache. It has its digests only if the data
// is the data that the operator wrote (informercache.StripForeign), so it needs no comparison.
func inSync(desired runtime.ApplyConfiguration, current client.Object) bool {
	if configMap, ok := current.(*corev1.ConfigMap); ok && configMap.DeletionTimestamp != nil && configMap.Data == nil {
		return true
	}
	return contains(reflect.ValueOf(current), reflect.ValueOf(desired))
}

// contains reports whether have has every value that is set in want. have is an object, and
// want an apply configuration whose fields have the same names in JSON. contains compares the
// Go values, because encoding both as JSON for every object in every reconcile was most of
// the cost of an Agent that is in sync.
func contains(have, want reflect.Value) bool {
	want, have = dereferenced(want), dereferenced(have)
	if !want.IsValid() {
		return true
	}
	if !have.IsValid() {
		return false
	}
	switch want.Kind() {
	case reflect.Struct:
		if isMarshaler(want.Type()) {
			return have.Type() == want.Type() && equality.Semantic.DeepEqual(have.Interface(), want.Interface())
		}
		return have.Kind() == reflect.Struct && containsFields(have, want)
	case reflect.Map:
		return have.Kind() == reflect.Map && containsEntries(have, want)
	case reflect.Slice:
		return have.Kind() == reflect.Slice && containsElements(have, want)
	case reflect.String:
		return have.Kind() == reflect.String && have.String() == want.String()
	default:
		return have.Comparable() && want.Comparable() && have.CanConvert(want.Type()) && have.Kind() == want.Kind() &&
			have.Convert(want.Type()).Equal(want)
	}
}

func containsFields(have, want reflect.Value) bool {
	for _, pair := range fieldPairsOf(have.Type(), want.Type()) {
		value := fieldAt(want, pair.want)
		if !isSet(value) {
			continue
		}
		if pair.have == nil || !contains(fieldAt(have, pair.have), value) || pair.atomic && !contains(value, fieldAt(have, pair.have)) {
			return false
		}
	}
	return true
}

func containsEntries(have, want reflect.Value) bool {
	// Nearly all maps are labels, annotations and data. This case avoids reflection, which
	// copies each key and value.
	if want, ok := reflect.TypeAssert[map[string]string](want); ok {
		if have, ok := reflect.TypeAssert[map[string]string](have); ok {
			return containsStrings(have, want)
		}
	}
	for entries := want.MapRange(); entries.Next(); {
		key := entries.Key()
		if !key.CanConvert(have.Type().Key()) || !contains(have.MapIndex(key.Convert(have.Type().Key())), entries.Value()) {
			return false
		}
	}
	return true
}

func containsStrings(have, want map[string]string) bool {
	for key, value := range want {
		if current, ok := have[key]; !ok || current != value {
			return false
		}
	}
	return true
}

// containsElements matches the elements of an associative list in any order, as server-side
// apply does, and ignores elements that other field managers have added. Any other list must
// have the same length and order.
func containsElements(have, want reflect.Value) bool {
	if want.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(have.Bytes(), want.Bytes())
	}
	if !associative(want) {
		if have.Len() != want.Len() {
			return false
		}
		for i := range want.Len() {
			if !contains(have.Index(i), want.Index(i)) {
				return false
			}
		}
		return true
	}
	for i := range want.Len() {
		// Most elements are at the wanted index. In lists such as httpHeaders, several
		// elements may have the same name, so every element is a candidate.
		found := i < have.Len() && contains(have.Index(i), want.Index(i))
		for j := 0; j < have.Len() && !found; j++ {
			found = contains(have.Index(j), want.Index(i))
		}
		if !found {
			return false
		}
	}
	return true
}

// associative reports whether each element of a list has the keys of an associative list.
func associative(list reflect.Value) bool {
	element := list.Type().Elem()
	if element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	if list.Len() == 0 || element.Kind() != reflect.Struct {
		return false
	}
	return slices.ContainsFunc(fieldsOf(element).keys, func(keys [][]int) bool { return allHave(list, keys) })
}

func allHave(list reflect.Value, keys [][]int) bool {
	for i := range list.Len() {
		element := dereferenced(list.Index(i))
		if !element.IsValid() || slices.ContainsFunc(keys, func(at []int) bool { return !isSet(fieldAt(element, at)) }) {
			return false
		}
	}
	return true
}

// dereferenced follows pointers and interfaces. It returns the zero Value for nil.
func dereferenced(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// isSet reports whether the JSON of an apply configuration includes a field. The fields are
// pointers, or are omitted when they are empty.
func isSet(v reflect.Value) bool {
	switch {
	case !v.IsValid():
		return false
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Map:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}

var marshalers sync.Map // of reflect.Type to bool

// isMarshaler reports whether a struct type implements its own JSON encoding, as quantities
// do.
func isMarshaler(t reflect.Type) bool {
	if known, ok := marshalers.Load(t); ok {
		return known.(bool)
	}
	marshaler := t.PkgPath() != "" && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
	marshalers.Store(t, marshaler)
	return marshaler
}
