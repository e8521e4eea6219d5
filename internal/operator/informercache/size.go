// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"reflect"
	"strings"
	"time"
)

// mapEntryOverhead is the number of bytes of a map entry in addition to its key and value: the control
// bytes and the free slots of the map.
const mapEntryOverhead = 32

// sizeOf returns the approximate number of bytes of memory that a pointer to an object keeps in use.
func sizeOf(object any) int {
	v := reflect.ValueOf(object).Elem()
	return int(v.Type().Size()) + referencedBy(v)
}

// referencedBy returns the number of bytes to which a value refers, without the value itself.
func referencedBy(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*time.Location]() { // locations are shared
			return 0
		}
		return int(v.Type().Elem().Size()) + referencedBy(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int(v.Elem().Type().Size()) + referencedBy(v.Elem())
	case reflect.Slice:
		size := v.Cap() * int(v.Type().Elem().Size())
		if isScalar(v.Type().Elem()) {
			return size
		}
		for i := range v.Len() {
			size += referencedBy(v.Index(i))
		}
		return size
	case reflect.Map:
		size := 0
		for entries := v.MapRange(); entries.Next(); {
			size += int(v.Type().Key().Size()+v.Type().Elem().Size()) + mapEntryOverhead + referencedBy(entries.Key()) + referencedBy(entries.Value())
		}
		return size
	case reflect.Struct:
		size := 0
		for _, field := range v.Fields() {
			size += referencedBy(field)
		}
		return size
	default:
		return 0
	}
}

// isScalar reports whether values of a type refer to no other values.
func isScalar(t reflect.Type) bool { return t.Kind() < reflect.Array && t.Kind() > reflect.Invalid }

// cut returns a text of at most limit bytes: the beginning of a longer text, in memory of its own.
func cut[T ~string](text T, limit int) T {
	if len(text) <= limit {
		return text
	}
	return T(strings.ToValidUTF8(strings.Clone(string(text[:limit])), ""))
}
