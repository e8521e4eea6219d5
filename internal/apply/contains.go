// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
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
	if isText(want.Type()) {
		return sameText(have, want)
	}
	switch want.Kind() {
	case reflect.Struct:
		return have.Kind() == reflect.Struct && containsFields(have, want)
	case reflect.Map:
		return have.Kind() == reflect.Map && containsKeys(have, want)
	case reflect.Slice:
		return have.Kind() == reflect.Slice && containsList(have, want)
	default:
		return have.Comparable() && want.Comparable() && have.CanConvert(want.Type()) && have.Kind() == want.Kind() &&
			have.Convert(want.Type()).Equal(want)
	}
}

func containsFields(have, want reflect.Value) bool {
	there, wanted := fieldsOf(have.Type()), fieldsOf(want.Type())
	for _, name := range wanted.names {
		value := wanted.of(want, name)
		if !isSet(value) {
			continue
		}
		if _, known := there.index[name]; !known || !contains(there.of(have, name), value) {
			return false
		}
	}
	return true
}

func containsKeys(have, want reflect.Value) bool {
	for entries := want.MapRange(); entries.Next(); {
		key := entries.Key()
		if !key.CanConvert(have.Type().Key()) || !contains(have.MapIndex(key.Convert(have.Type().Key())), entries.Value()) {
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
		// Some lists have a name in their elements and may repeat it, such as
		// httpHeaders, so the first of that name is not the only one to ask.
		found := false
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
	for _, keys := range mergeKeys {
		if list.Len() > 0 && allHave(list, keys) {
			return true
		}
	}
	return false
}

func allHave(list reflect.Value, keys []string) bool {
	for i := range list.Len() {
		element := pointed(list.Index(i))
		if !element.IsValid() || element.Kind() != reflect.Struct {
			return false
		}
		known := fieldsOf(element.Type())
		for _, key := range keys {
			if _, ok := known.index[key]; !ok || !isSet(known.of(element, key)) {
				return false
			}
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

// isText tells of types that write themselves down, such as quantities.
func isText(t reflect.Type) bool {
	if t.PkgPath() == "" || t.Kind() == reflect.Interface {
		return false // a type without a name has no methods
	}
	if known, ok := knownTexts.Load(t); ok {
		return known.(bool)
	}
	text := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
	knownTexts.Store(t, text)
	return text
}

var knownTexts sync.Map // of reflect.Type to bool

func sameText(have, want reflect.Value) bool {
	return have.Type() == want.Type() && equality.Semantic.DeepEqual(have.Interface(), want.Interface())
}

// fields are those of a struct by their names in JSON.
type fields struct {
	names []string
	index map[string][]int
}

// of is a field, not valid behind an embedded pointer that is nil.
func (f *fields) of(v reflect.Value, name string) reflect.Value {
	if at := f.index[name]; len(at) == 1 {
		return v.Field(at[0])
	}
	value, err := v.FieldByIndexErr(f.index[name])
	if err != nil {
		return reflect.Value{}
	}
	return value
}

var knownFields sync.Map // of reflect.Type to *fields

func fieldsOf(t reflect.Type) *fields {
	if known, ok := knownFields.Load(t); ok {
		return known.(*fields)
	}
	f := &fields{index: map[string][]int{}}
	f.add(t, nil)
	known, _ := knownFields.LoadOrStore(t, f)
	return known.(*fields)
}

func (f *fields) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		// A typed object from a client does not say what it is.
		if field.Type == reflect.TypeFor[metav1ac.TypeMetaApplyConfiguration]() {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		index := append(append([]int(nil), at...), i)
		inline := field.Type
		if inline.Kind() == reflect.Pointer {
			inline = inline.Elem()
		}
		switch {
		case name == "-" || !field.IsExported():
		case name == "" && (field.Anonymous || strings.Contains(options, "inline")) && inline.Kind() == reflect.Struct:
			f.add(inline, index)
		case name != "":
			f.names, f.index[name] = append(f.names, name), index
		}
	}
}
