// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
)

// inSync reports whether every desired field has its value in the current object. It
// ignores all other fields, and other entries of fields that are not atomic, because they
// belong to other field managers.
func inSync(desired runtime.ApplyConfiguration, current client.Object) bool {
	return contains(reflect.ValueOf(current), reflect.ValueOf(desired))
}

// contains reports whether have has every value that is set in want. have is an object, and
// want an apply configuration whose fields have the same names in JSON. contains compares the
// Go values, because encoding both as JSON for every object in every reconcile was most of
// the cost of an Agent that is in sync.
func contains(have, want reflect.Value) bool {
	want = dereferenced(want)
	have = dereferenced(have)
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
		// Most elements are at the wanted index. If the element there differs, search all
		// elements for an equal one: the keys do not suffice, because in lists such as
		// httpHeaders, several elements may have the same name.
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

// associative reports whether there is an entry of mergeKeys whose keys are set in each element
// of a list. An empty list is not associative.
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

var marshalers sync.Map // maps a reflect.Type to a bool

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

// mergeKeys lists the keys of the associative lists in the kinds that the operator applies.
// A list is associative if there is an entry whose keys are set in each element of the
// list.
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

// atomicElements are the types of elements whose lists server-side apply replaces as a whole,
// although the elements have the keys of an entry of mergeKeys.
var atomicElements = []reflect.Type{
	reflect.TypeFor[networkingv1ac.NetworkPolicyPortApplyConfiguration](),
	reflect.TypeFor[corev1ac.SysctlApplyConfiguration](),
	reflect.TypeFor[gatewayv1ac.ParentReferenceApplyConfiguration](),
	reflect.TypeFor[gatewayv1ac.HTTPBackendRefApplyConfiguration](),
	reflect.TypeFor[gatewayv1ac.GRPCBackendRefApplyConfiguration](),
}

// isAtomic reports whether server-side apply replaces a field of a struct type as a whole: a
// label selector, or the selector of a Service. Other maps and structs may have entries of
// other field managers.
func isAtomic(structType reflect.Type, name string, fieldType reflect.Type) bool {
	if fieldType.Kind() == reflect.Pointer {
		fieldType = fieldType.Elem()
	}
	return fieldType == reflect.TypeFor[metav1ac.LabelSelectorApplyConfiguration]() ||
		structType == reflect.TypeFor[corev1ac.ServiceSpecApplyConfiguration]() && name == "selector"
}

// fields holds the fields of a struct type by their names in JSON.
type fields struct {
	names []string
	index map[string][]int
	// keys contains the entries of mergeKeys whose keys are all fields of the type, as indexes of
	// these fields. It is nil for a type of atomicElements.
	keys [][][]int
}

var knownFields sync.Map // maps a reflect.Type to its *fields

func fieldsOf(t reflect.Type) *fields {
	if known, ok := knownFields.Load(t); ok {
		return known.(*fields)
	}
	f := &fields{index: map[string][]int{}}
	f.add(t, nil)
	for _, names := range mergeKeys {
		if slices.Contains(atomicElements, t) {
			break
		}
		var at [][]int
		for _, name := range names {
			if index, ok := f.index[name]; ok {
				at = append(at, index)
			}
		}
		if len(at) == len(names) {
			f.keys = append(f.keys, at)
		}
	}
	known, _ := knownFields.LoadOrStore(t, f)
	return known.(*fields)
}

func (f *fields) add(t reflect.Type, at []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		// Typed objects from a client lack kind and apiVersion.
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
			f.names = append(f.names, name)
			f.index[name] = index
		}
	}
}

// fieldAt returns a field, or the zero Value if an embedded pointer on the way is nil.
func fieldAt(v reflect.Value, at []int) reflect.Value {
	if len(at) == 1 {
		return v.Field(at[0])
	}
	value, err := v.FieldByIndexErr(at)
	if err != nil {
		return reflect.Value{}
	}
	return value
}

// fieldPair has the indexes of a field of the apply configuration (want) and of the field with the
// same JSON name in the object (have). have is nil if the object has no such field. atomic is true
// if the field of the object must have no entries of other field managers.
type fieldPair struct {
	want, have []int
	atomic     bool
}

var knownPairs sync.Map // maps the two types, a [2]reflect.Type, to their []fieldPair

func fieldPairsOf(have, want reflect.Type) []fieldPair {
	types := [2]reflect.Type{have, want}
	if known, ok := knownPairs.Load(types); ok {
		return known.([]fieldPair)
	}
	haveFields := fieldsOf(have)
	wantFields := fieldsOf(want)
	pairs := make([]fieldPair, 0, len(wantFields.names))
	for _, name := range wantFields.names {
		index := wantFields.index[name]
		pairs = append(pairs, fieldPair{index, haveFields.index[name], isAtomic(want, name, want.FieldByIndex(index).Type)})
	}
	knownPairs.Store(types, pairs)
	return pairs
}
