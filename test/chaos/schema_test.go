// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// schema is the schema of a field of a custom resource.
type schema = apiextensionsv1.JSONSchemaProps

// mutation is a value for a field.
type mutation struct {
	// path is the path of the field; 0 is the first element of a list. An empty path is the whole spec.
	path  []any
	value any
	// invalid reports that the schema does not allow the value.
	invalid bool
}

func (m mutation) String() string {
	var name strings.Builder
	for _, step := range m.path {
		fmt.Fprintf(&name, ".%v", step)
	}
	value := fmt.Sprintf("%v", m.value)
	if len(value) > 40 {
		value = value[:40] + "…"
	}
	return strings.TrimPrefix(name.String(), ".") + "=" + value
}

// specSchema returns the schema of a kind's spec as the API server has it.
func specSchema(t *testing.T, path string) *schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	return &spec
}

// mutations returns the mutations of every field below a path, except those that skip excludes.
func mutations(s *schema, path []any, skip func(path []any) bool) []mutation {
	if skip(path) {
		return nil
	}
	var all []mutation
	for _, v := range values(s) {
		v.path = path
		all = append(all, v)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		all = append(all, mutations(&child, append(slices.Clone(path), name), skip)...)
	}
	if s.Items != nil && len(s.Items.Schema.Properties) > 0 {
		all = append(all, mutations(s.Items.Schema, append(slices.Clone(path), 0), skip)...)
	}
	return all
}

// values returns the values for a field: the bounds of its schema, and values beyond them.
func values(s *schema) []mutation {
	valid := func(values ...any) (all []mutation) {
		for _, v := range values {
			all = append(all, mutation{value: v})
		}
		return all
	}
	switch {
	case len(s.Enum) > 0:
		var all []mutation
		for _, raw := range s.Enum {
			all = append(all, mutation{value: strings.Trim(string(raw.Raw), `"`)})
		}
		return append(all, mutation{value: "Nonsense", invalid: true})
	case s.XIntOrString:
		return valid(sample(s))
	}
	switch s.Type {
	case "boolean":
		return append(valid(true, false), mutation{value: "yes", invalid: true})
	case "integer":
		return integers(s)
	case "string":
		return texts(s)
	case "array":
		return lists(s)
	case "object":
		if s.AdditionalProperties != nil {
			return valid(map[string]any{}, map[string]any{"a": sample(s.AdditionalProperties.Schema)})
		}
		return []mutation{{value: sample(s)}, {value: "text", invalid: true}}
	}
	return nil
}

func integers(s *schema) []mutation {
	low := int64(0)
	all := []mutation{{value: "many", invalid: true}}
	if s.Minimum != nil {
		low = int64(*s.Minimum)
		all = append(all, mutation{value: low - 1, invalid: true})
	}
	high := low + 7
	if s.Maximum != nil {
		high = int64(*s.Maximum)
		all = append(all, mutation{value: high + 1, invalid: true})
	}
	return append(all, mutation{value: low}, mutation{value: min(low+1, high)}, mutation{value: high})
}

func texts(s *schema) []mutation {
	all := []mutation{{value: int64(7), invalid: true}}
	for _, candidate := range candidates {
		if allows(s, candidate) && len(all) < 4 {
			all = append(all, mutation{value: candidate})
		}
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		all = append(all, mutation{value: "", invalid: true})
	}
	if s.MaxLength != nil {
		all = append(all, mutation{value: strings.Repeat("x", int(*s.MaxLength)+1), invalid: true})
	}
	if s.Pattern != "" && !allows(s, "Not \x01 valid") {
		all = append(all, mutation{value: "Not \x01 valid", invalid: true})
	}
	return all
}

func lists(s *schema) []mutation {
	one := sample(s.Items.Schema)
	all := []mutation{{value: "text", invalid: true}, {value: []any{one}}}
	if s.MinItems == nil || *s.MinItems == 0 {
		all = append(all, mutation{value: []any{}})
	} else {
		all = append(all, mutation{value: []any{}, invalid: true})
	}
	if s.MaxItems != nil && *s.MaxItems <= 100 {
		all = append(all, mutation{value: slices.Repeat([]any{one}, int(*s.MaxItems)+1), invalid: true})
	}
	return all
}

// candidates are strings of many kinds, of which a pattern allows some.
var candidates = []string{
	"echo", "sing", "other-name", "https://example.com/a", "http://echo.example.svc/", "/a/path", "text/plain", "application/json",
	"10.0.0.0/8", "30s", "1m0s", "1.2.3", "example.com", "example.com/a", "*.example.com", "100m", "64Mi", "Some words.", "tls.key", "X-Key",
	"true", "urn:example:a", "2026-01-02T03:04:05Z", "8080",
}

func allows(s *schema, text string) bool {
	n := int64(len(text))
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return false
	}
	if s.Format == "date-time" {
		return strings.HasPrefix(text, "2026-")
	}
	if s.Pattern == "" {
		return true
	}
	matched, err := regexp.MatchString(s.Pattern, text)
	return err == nil && matched
}

// sample returns a small value that a schema allows.
func sample(s *schema) any {
	switch {
	case s.Default != nil:
		var value any
		if yaml.Unmarshal(s.Default.Raw, &value) == nil {
			return whole(value)
		}
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[0].Raw), `"`)
	case s.XIntOrString:
		return int64(1)
	}
	switch s.Type {
	case "boolean":
		return true
	case "integer", "number":
		if s.Minimum != nil {
			return int64(*s.Minimum)
		}
		return int64(1)
	case "array":
		var list []any
		for range max(1, deref(s.MinItems)) {
			list = append(list, sample(s.Items.Schema))
		}
		return list
	case "object":
		object := map[string]any{}
		for _, name := range s.Required {
			child := s.Properties[name]
			object[name] = sample(&child)
		}
		// A container needs an image, although its schema does not require one.
		if _, ok := s.Properties["imagePullPolicy"]; ok {
			object["image"] = "example/tool:1"
		}
		return object
	}
	for _, candidate := range candidates {
		if allows(s, candidate) {
			return candidate
		}
	}
	return "a"
}

// whole converts the numbers of a decoder to integers.
func whole(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case map[string]any:
		for name := range v {
			v[name] = whole(v[name])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return value
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// removed is the value of a mutation that removes the field.
type removed struct{}

// set returns a value with a changed field. It creates missing parents as the schema requires.
func set(s *schema, in any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch step := path[0].(type) {
	case string:
		object, ok := in.(map[string]any)
		if !ok {
			object, _ = sample(s).(map[string]any)
		}
		if object == nil {
			object = map[string]any{}
		}
		if len(path) == 1 && value == (removed{}) {
			delete(object, step)
			return object
		}
		child := s.Properties[step]
		object[step] = set(&child, object[step], path[1:], value)
		return object
	default:
		list, ok := in.([]any)
		if !ok || len(list) == 0 {
			list = []any{sample(s.Items.Schema)}
		}
		list[0] = set(s.Items.Schema, list[0], path[1:], value)
		return list
	}
}
