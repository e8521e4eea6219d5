// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestListsAndMapsGetTheBoundsThatTheyLack(t *testing.T) {
	const crd = `properties:
  env:
    items:
      properties:
        name:
          type: string
      required:
      - name
      type: object
    type: array
    x-kubernetes-list-type: atomic
  labels:
    additionalProperties:
      type: string
    type: object
  bounded:
    items:
      type: string
    maxItems: 7
    minItems: 1
    type: array
  notEmpty:
    description: |-
      Two lines.

      maxItems: none
    items:
      additionalProperties:
        type: string
      maxProperties: 2
      type: object
    minItems: 1
    type: array
type: object
`
	const want = `properties:
  env:
    items:
      properties:
        name:
          type: string
      required:
      - name
      type: object
    maxItems: 1024
    type: array
    x-kubernetes-list-type: atomic
  labels:
    additionalProperties:
      type: string
    maxProperties: 256
    type: object
  bounded:
    items:
      type: string
    maxItems: 7
    minItems: 1
    type: array
  notEmpty:
    description: |-
      Two lines.

      maxItems: none
    items:
      additionalProperties:
        type: string
      maxProperties: 2
      type: object
    maxItems: 256
    minItems: 1
    type: array
type: object
`
	checkChange(t, crd, want, func(s *schema) { bound("", s) })
}

// TestListsAndMapsOfTheCRDsAreBounded reads the CRDs, because the schemas of Kubernetes types have most of the lists and maps.
func TestListsAndMapsOfTheCRDsAreBounded(t *testing.T) {
	for _, text := range generated(t) {
		var crd definition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			checkBounded(t, crd.Spec.Names.Kind, version.Schema.OpenAPIV3Schema)
		}
	}
}

// generated returns the texts of the generated CRDs, by path.
func generated(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no CRD: %v", err)
	}
	texts := map[string][]byte{}
	for _, path := range paths {
		if texts[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func checkBounded(t *testing.T, path string, schema *schema) {
	t.Helper()
	if schema.Type == "array" {
		if schema.MaxItems == nil {
			t.Errorf("%s has no maxItems", path)
		}
		checkBounded(t, path+"[]", schema.Items.Schema)
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		if schema.MaxProperties == nil {
			t.Errorf("%s has no maxProperties", path)
		}
		checkBounded(t, path+"{}", values.Schema)
	}
	for name, property := range schema.Properties {
		checkBounded(t, path+"."+name, &property)
	}
}
