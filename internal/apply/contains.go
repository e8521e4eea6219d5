// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
)

// contains tells whether all that is set in want stands in have. The two are of
// different types, an apply configuration and an object, whose fields have the
// same names in JSON; they are compared as they are, because to write down and
// read again both of them, for each look at each object, was most of what a
// converged Agent cost.
func contains(have, want reflect.Value) bool {
	want, have = pointed(want), pointed(have)
	if !want.IsValid() {
		return true
	}
	if !have.IsValid() {
		return false
	}
	switch want.Kind() {
	case reflect.Struct:
		if isText(want.Type()) {
			return sameText(have, want)
		}
		return have.Kind() == reflect.Struct && containsFields(have, want)
	case reflect.Map:
		return have.Kind() == reflect.Map && containsKeys(have, want)
	case reflect.Slice:
		return have.Kind() == reflect.Slice && containsList(have, want)
	case reflect.String:
		return have.Kind() == reflect.String && have.String() == want.String()
	default:
		return have.Comparable() && want.Comparable() && have.CanConvert(want.Type()) && have.Kind() == want.Kind() &&
			have.Convert(want.Type()).Equal(want)
	}
}

func containsFields(have, want reflect.Value) bool {
	for _, pair := range pairsOf(have.Type(), want.Type()) {
		value := fieldAt(want, pair.want)
		if isSet(value) && (pair.have == nil || !contains(fieldAt(have, pair.have), value)) {
			return false
		}
	}
	return true
}

func containsKeys(have, want reflect.Value) bool {
	// Nearly all maps are of texts: labels, annotations, data. Reflection makes a
	// copy of each key and value.
	if want, ok := reflect.TypeAssert[map[string]string](want); ok {
		if have, ok := reflect.TypeAssert[map[string]string](have); ok {
			return containsTexts(have, want)
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

func containsTexts(have, want map[string]string) bool {
	for key, value := range want {
		if there, ok := have[key]; !ok || there != value {
			return false
		}
	}
	return true
}

// containsList matches the elements of an associative list in any order, as
// server-side apply does, so that others may have added some. Any other list
// must be of the same length and order.
func containsList(have, want reflect.Value) bool {
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
		// Most stand where they are wanted. Some lists have a name in their
		// elements and may repeat it, such as httpHeaders, so the first of that
		// name is not the only one to ask.
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

// mergeKeys are the keys of the associative lists in the kinds that are
// applied. A list with one of them in all of its elements is one.
var mergeKeys = [][]string{
	{"uid"},                              // metadata.ownerReferences
	{"mountPath"},                        // volumeMounts
	{"devicePath"},                       // volumeDevices
	{"containerPort", "protocol"},        // ports of a container
	{"port", "protocol"},                 // ports of a Service
	{"topologyKey", "whenUnsatisfiable"}, // topologySpreadConstraints
	{"ip"},                               // hostAliases
	{"name"},                             // containers, env, volumes
}

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
		element := pointed(list.Index(i))
		if !element.IsValid() || slices.ContainsFunc(keys, func(at []int) bool { return !isSet(fieldAt(element, at)) }) {
			return false
		}
	}
	return true
}

// pointed is what a value points at, not valid for nothing.
func pointed(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

// isSet tells whether a field would be written into JSON. Those of apply
// configurations are pointers, or are left out when they are empty.
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

// isText tells of structs that write themselves down, such as quantities.
func isText(t reflect.Type) bool {
	if known, ok := knownTexts.Load(t); ok {
		return known.(bool)
	}
	text := t.PkgPath() != "" && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
	knownTexts.Store(t, text)
	return text
}

var knownTexts sync.Map // of reflect.Type to bool

func sameText(have, want reflect.Value) bool {
	return have.Type() == want.Type() && equality.Semantic.DeepEqual(have.Interface(), want.Interface())
}
