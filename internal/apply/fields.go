// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
)

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
	// keys contains the entries of mergeKeys whose keys are all fields of the type.
	keys [][][]int
}

var knownFields sync.Map // of reflect.Type to *fields

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
			f.names, f.index[name] = append(f.names, name), index
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

// fieldPair is the index of a field of one struct type, and the index of the field with the
// same JSON name in another type, or nil if that type has no such field. atomic is true if the
// field is wanted without entries of other field managers.
type fieldPair struct {
	want, have []int
	atomic     bool
}

var knownPairs sync.Map // of [2]reflect.Type to []fieldPair

func fieldPairsOf(have, want reflect.Type) []fieldPair {
	types := [2]reflect.Type{have, want}
	if known, ok := knownPairs.Load(types); ok {
		return known.([]fieldPair)
	}
	haveFields, wantFields := fieldsOf(have), fieldsOf(want)
	pairs := make([]fieldPair, 0, len(wantFields.names))
	for _, name := range wantFields.names {
		index := wantFields.index[name]
		pairs = append(pairs, fieldPair{index, haveFields.index[name], isAtomic(want, name, want.FieldByIndex(index).Type)})
	}
	knownPairs.Store(types, pairs)
	return pairs
}
