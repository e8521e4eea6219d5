// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applyConfiguration converts a typed object of the user into an apply configuration, whose
// fields have the same names in JSON. The result shares memory with the object. The result
// equals that of encoding the object as JSON and decoding it, with one exception: it omits
// the few empty structs that the JSON encoder always writes (alwaysWritten), because the user
// did not set them. Encoding and decoding the template took a third of the time of a reconcile.
func applyConfiguration[C, O any](object *O) *C {
	config := new(C)
	configure(reflect.ValueOf(config).Elem(), reflect.ValueOf(object).Elem())
	return config
}

// alwaysWritten are the JSON names of the struct fields that the JSON encoder writes even if
// they are empty.
var alwaysWritten = []string{"metadata", "resources"}

// configure copies the values of an object into an apply configuration.
func configure(config, object reflect.Value) {
	if object.Kind() == reflect.Pointer && config.Type() != object.Type() {
		object = object.Elem()
	}
	switch {
	case config.Type() == object.Type():
		config.Set(object)
	case config.Kind() == reflect.Pointer:
		config.Set(reflect.New(config.Type().Elem()))
		configure(config.Elem(), object)
	case config.Kind() == reflect.Struct:
		configureFields(config, object)
	case config.Kind() == reflect.Slice:
		config.Set(reflect.MakeSlice(config.Type(), object.Len(), object.Len()))
		for i := range object.Len() {
			configure(config.Index(i), object.Index(i))
		}
	case config.Kind() == reflect.Map:
		config.Set(reflect.MakeMapWithSize(config.Type(), object.Len()))
		for entries := object.MapRange(); entries.Next(); {
			value := reflect.New(config.Type().Elem()).Elem()
			configure(value, entries.Value())
			config.SetMapIndex(entries.Key().Convert(config.Type().Key()), value)
		}
	default:
		config.Set(object.Convert(config.Type()))
	}
}

func configureFields(config, object reflect.Value) {
	for _, pair := range pairsOf(config.Type(), object.Type()) {
		value := object.FieldByIndex(pair.from)
		if pair.omitEmpty && isEmpty(value) || isNull(value) {
			continue
		}
		field := config.FieldByIndex(pair.to)
		configure(field, value)
		if pair.alwaysWritten && field.Elem().IsZero() {
			field.SetZero()
		}
	}
}

// pair is a field of an apply configuration and the field of an object with the same
// name. Both may be fields of inlined structs.
type pair struct {
	to, from                 []int
	omitEmpty, alwaysWritten bool
}

var knownPairs sync.Map // maps the two types, a [2]reflect.Type, to their []pair

func pairsOf(config, object reflect.Type) []pair {
	types := [2]reflect.Type{config, object}
	if known, ok := knownPairs.Load(types); ok {
		return known.([]pair)
	}
	written := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(object) {
		if name, inline := jsonName(field); name != "" && !inline {
			written[name] = field
		}
	}
	pairs := pairsWith(written, config, nil)
	knownPairs.Store(types, pairs)
	return pairs
}

// pairsWith returns the pairs for the fields of a struct type. written has the fields of the
// object by their JSON names. at is the index of the struct in the apply configuration, as in
// reflect.Value.FieldByIndex.
func pairsWith(written map[string]reflect.StructField, config reflect.Type, at []int) []pair {
	var pairs []pair
	for i := range config.NumField() {
		field := config.Field(i)
		to := append(slices.Clone(at), i)
		name, inline := jsonName(field)
		if inline {
			pairs = append(pairs, pairsWith(written, field.Type, to)...)
			continue
		}
		if from, known := written[name]; known {
			pairs = append(pairs, pair{
				to: to, from: from.Index,
				omitEmpty:     strings.Contains(from.Tag.Get("json"), ",omitempty"),
				alwaysWritten: slices.Contains(alwaysWritten, name),
			})
		}
	}
	return pairs
}

// jsonName returns the name of a field in JSON. inline is true for an embedded struct whose
// fields the JSON encoder writes in place of the struct.
func jsonName(field reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, name == "" && (field.Anonymous || strings.Contains(options, "inline"))
}

// isEmpty reports whether the JSON encoder omits the value of a field with omitempty.
func isEmpty(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Slice, reflect.Map:
		return value.Len() == 0
	case reflect.Struct:
		return false
	default:
		return value.IsZero()
	}
}

// isNull reports whether the JSON encoder writes a value as null.
func isNull(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return value.IsNil()
	default:
		time, ok := reflect.TypeAssert[metav1.Time](value)
		return ok && time.IsZero()
	}
}
