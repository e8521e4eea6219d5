// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"
	"strings"
	"sync"

	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// fields are those of a struct by their names in JSON.
type fields struct {
	names []string
	index map[string][]int
	// keys are the mergeKeys that all are fields.
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

// fieldAt is a field, not valid behind an embedded pointer that is nil.
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

// pair is where a field of one struct stands, and in another one the field of
// the same name, nowhere if there is none.
type pair struct{ want, have []int }

var knownPairs sync.Map // of [2]reflect.Type to []pair

func pairsOf(have, want reflect.Type) []pair {
	types := [2]reflect.Type{have, want}
	if known, ok := knownPairs.Load(types); ok {
		return known.([]pair)
	}
	there, wanted := fieldsOf(have), fieldsOf(want)
	pairs := make([]pair, 0, len(wanted.names))
	for _, name := range wanted.names {
		pairs = append(pairs, pair{wanted.index[name], there.index[name]})
	}
	knownPairs.Store(types, pairs)
	return pairs
}
