// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversiontest checks that a conversion loses no field.
package conversiontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// Filler sets every field of a value. Each text and number that it sets is unique.
type Filler struct{ last int }

// Fill sets the fields of the value that a pointer points to.
func (f *Filler) Fill(pointer any) { f.fill(reflect.ValueOf(pointer).Elem()) }

func (f *Filler) fill(v reflect.Value) {
	f.last++
	switch value := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*value = resource.MustParse(fmt.Sprintf("%dMi", f.last))
		return
	case *metav1.Time:
		*value = metav1.Time{Time: time.Unix(int64(f.last), 0)}
		return
	case *intstr.IntOrString:
		*value = intstr.FromInt32(int32(f.last))
		return
	case *json.RawMessage:
		*value = json.RawMessage(fmt.Sprintf(`{"option":"text-%d"}`, f.last))
		return
	case *metav1.FieldsV1, *any:
		return
	}
	switch v.Kind() { //nolint:exhaustive // objects of Kubernetes have no others
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() || v.Type().Field(i).Anonymous {
				f.fill(addressable(v.Field(i)))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key := reflect.New(v.Type().Key()).Elem()
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text-%d", f.last))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(10000 + f.last))
	}
}

// addressable returns a field that can be set, even if it is an embedded struct of an unexported type.
func addressable(v reflect.Value) reflect.Value {
	if v.CanSet() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

// Check fails the test for each field of an object that is neither in the Agents of a result nor in its report. ignored
// are prefixes of the paths of fields that Check skips.
func Check(t *testing.T, name string, object any, result *conversion.Result, ignored ...string) {
	t.Helper()
	var agents []any
	for _, agent := range result.Agents {
		agents = append(agents, generic(t, agent))
	}
	values := map[string]bool{}
	flags := map[string]bool{}
	for path, value := range leaves(agents) {
		values[value] = true
		flags[lastName(path)] = flags[lastName(path)] || value == "true"
	}
	for path, value := range leaves(generic(t, object)) {
		if slices.ContainsFunc(ignored, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) || values[value] && value != "true" {
			continue
		}
		// Filler makes all texts and numbers unique, but not the value true, which alone does not prove a conversion.
		if value == "true" && flags[lastName(path)] || isReported(result.Report, name, path) {
			continue
		}
		t.Errorf("%s: %s (%s) is neither converted nor reported", name, path, value)
	}
	for _, note := range result.Report {
		if note.Object == name && note.Because == conversion.NoSuchField {
			t.Errorf("no rule for this field: %s", note)
		}
	}
}

// lastName returns the last name of a path.
func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func isReported(report []conversion.Note, object, path string) bool {
	return slices.ContainsFunc(report, func(n conversion.Note) bool {
		rest, ok := strings.CutPrefix(path, n.Field)
		return ok && n.Object == object && n.Action != conversion.Check && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func generic(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// leaves returns the texts, numbers and booleans of a value by their paths.
func leaves(value any, path ...any) map[string]string {
	all := map[string]string{}
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			maps.Copy(all, leaves(child, append(slices.Clone(path), name)...))
		}
	case []any:
		for i, child := range value {
			maps.Copy(all, leaves(child, append(slices.Clone(path), i)...))
		}
	case nil:
	default:
		all[conversion.Path(path...)] = fmt.Sprint(value)
	}
	return all
}
