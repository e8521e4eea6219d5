// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crdschema compares the schemas of the operator's CRDs in the cluster with those of this
// build. The API server drops the fields that a CRD lacks, so the operator must not reconcile
// against a CRD that is older than itself. From the digest of the fields that a spec sets, the operator
// knows whether the spec has lost fields.
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

// Fields maps the path of each field of a schema to its default as JSON, "" for none. A path
// such as spec.skills[].id names a field of all elements of a list.
type Fields map[string]string

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
		properties, _, err := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema", "properties")
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		parts, _ := properties.(map[string]any)
		for _, part := range []string{"spec", "status"} {
			if err := fields.add(part, parts[part]); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

// add adds a schema and the schemas below it.
func (f Fields) add(path string, schema any) error {
	object, ok := schema.(map[string]any)
	if !ok {
		return nil // the CRD lacks the field, or additionalProperties is a bool
	}
	text := ""
	if value, found := object["default"]; found {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode default of %s: %w", path, err)
		}
		text = string(encoded)
	}
	f[path] = text
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
		value, found := installed[path]
		if found && value == own[path] {
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

// own has a line for each field: the name of the CRD, the path, and the default if there is one. make
// generate writes it from config/crd/bases.
//
//go:embed fields.txt
var own string

var ownFields = sync.OnceValue(func() map[string]Fields {
	all := map[string]Fields{Agents: {}, AgentSkills: {}}
	for line := range strings.Lines(own) {
		if crd, rest, found := strings.Cut(strings.TrimSuffix(line, "\n"), " "); found {
			path, value, _ := strings.Cut(rest, " ")
			all[crd][path] = value
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
		text.WriteString(strings.TrimRight(crd+" "+path+" "+f[path], " ") + "\n")
	}
	return text.String()
}
