// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdschema compares the schemas of the operator's CRDs in the cluster with those of this
// build. The API server drops the fields that a CRD lacks, so the operator must not reconcile
// against a CRD that is older than itself. From the digest of the fields that a spec sets, the operator
// knows whether the spec has lost fields. A spec may also have fields and values that only a newer
// operator knows.
//
// The package is pure.
package crdschema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// The names of the operator's CRDs.
const (
	Agents      = "agents.a2a-operator.dev"
	AgentSkills = "agentskills.a2a-operator.dev"
)

// Field is a field of a schema.
type Field struct {
	// Default is the default, nil for none.
	Default json.RawMessage `json:"default,omitempty"`
	// Enum has the values that the schema allows, nil for no restriction.
	Enum []string `json:"enum,omitempty"`
}

// Fields maps the path of each field of a schema to the field. A path such as spec.skills[].id names a
// field of all elements of a list.
type Fields map[string]Field

// FieldsOfCRD returns the fields of spec and status in the version v1alpha1 of a CRD. It returns none if
// the CRD does not serve the version.
func FieldsOfCRD(crd map[string]any) (Fields, error) {
	fields := Fields{}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	for _, each := range versions {
		version, _ := each.(map[string]any)
		if version["name"] != a2av1alpha1.GroupVersion.Version || version["served"] != true {
			continue
		}
		schema, _, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
		if err == nil {
			err = fields.addObject(schema)
		}
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
	}
	return fields, nil
}

// FieldsOfOpenAPI returns the fields of spec and status of a CRD from the OpenAPI document (version 3) that an API server
// has for the operator's group. Every user may read this document. FieldsOfOpenAPI returns none if the document lacks the
// CRD.
func FieldsOfOpenAPI(document map[string]any, crd string) (Fields, error) {
	fields := Fields{}
	schema, _, err := unstructured.NestedFieldNoCopy(document, "components", "schemas", openAPINames[crd])
	if err == nil {
		err = fields.addObject(schema)
	}
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return fields, nil
}

var openAPINames = map[string]string{Agents: "dev.a2a-operator.v1alpha1.Agent", AgentSkills: "dev.a2a-operator.v1alpha1.AgentSkill"}

// addObject adds spec and status of the schema of an object.
func (f Fields) addObject(schema any) error {
	object, _ := schema.(map[string]any)
	parts, _ := object["properties"].(map[string]any)
	for _, part := range []string{"spec", "status"} {
		if err := f.add(part, parts[part]); err != nil {
			return err
		}
	}
	return nil
}

// add adds a schema and the schemas below it.
func (f Fields) add(path string, schema any) error {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil // the CRD lacks the field, or additionalProperties is a bool
	}
	field := Field{}
	if value, found := object["default"]; found {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode default of %s: %w", path, err)
		}
		field.Default = encoded
	}
	values, _ := object["enum"].([]any)
	for _, value := range values {
		field.Enum = append(field.Enum, fmt.Sprint(value))
	}
	f[path] = field
	properties, _ := object["properties"].(map[string]any)
	for name, property := range properties {
		if err := f.add(path+"."+name, property); err != nil {
			return err
		}
	}
	if err := f.add(path+"[]", object["items"]); err != nil {
		return err
	}
	return f.add(path+"{}", object["additionalProperties"])
}

// Outdated returns the fields of own that installed lacks or for which it has another default,
// ordered by path. It omits the fields below a missing field. A CRD is older than a program if
// there are any. Fields that only installed has are no reason: the CRD is newer.
func Outdated(own, installed Fields) []string {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(own)) {
		field, found := installed[path]
		if found && string(field.Default) == string(own[path].Default) {
			continue
		}
		below := slices.ContainsFunc(paths, func(p string) bool {
			rest, ok := strings.CutPrefix(path, p)
			_, has := installed[p]
			return ok && !has && strings.ContainsAny(rest[:1], ".[{")
		})
		if !below {
			paths = append(paths, path)
		}
	}
	return paths
}

// Newer returns the fields of a spec that only installed has, by path with their defaults, and nil if there are
// none. A CRD is newer than a program if there are any.
func Newer(own, installed Fields) NewFields {
	var fields NewFields
	for path, field := range installed {
		if _, known := own[path]; known || !strings.HasPrefix(path, "spec.") {
			continue
		}
		if fields == nil {
			fields = NewFields{}
		}
		fields[path] = string(field.Default)
	}
	return fields
}

// own has a line for each field: the name of the CRD, the path, and the Field as JSON if it has a default or an
// enum. make generate writes it from config/crd/bases.
//
//go:embed fields.txt
var own string

var ownFields = sync.OnceValue(func() map[string]Fields {
	all := map[string]Fields{Agents: {}, AgentSkills: {}}
	for line := range strings.Lines(own) {
		if crd, rest, found := strings.Cut(strings.TrimSuffix(line, "\n"), " "); found {
			path, text, _ := strings.Cut(rest, " ")
			field := Field{}
			if text != "" {
				if err := json.Unmarshal([]byte(text), &field); err != nil {
					panic("crdschema: read fields.txt: " + err.Error()) // TestFieldsHaveMarks reads the file
				}
			}
			all[crd][path] = field
		}
	}
	return all
})

// Own returns the fields of a CRD of this build. The result must not be modified.
func Own(crd string) Fields { return ownFields()[crd] }

// Text returns the lines of Fields in the file of Own.
func (f Fields) Text(crd string) string {
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(f)) {
		text.WriteString(crd + " " + path)
		if encoded, err := json.Marshal(f[path]); err == nil && string(encoded) != "{}" {
			text.WriteString(" " + string(encoded))
		}
		text.WriteString("\n")
	}
	return text.String()
}
