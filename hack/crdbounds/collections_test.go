// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestListsAndMapsGetTheBoundsThatTheyLack(t *testing.T) {
	const crd = `spec:
  properties:
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
	const want = `spec:
  properties:
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
	if diff := cmp.Diff(want, boundCollections(crd)); diff != "" {
		t.Errorf("boundCollections() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, boundCollections(want)); diff != "" {
		t.Errorf("boundCollections() again (-want +got):\n%s", diff)
	}
}

// TestListsAndMapsOfTheCRDsAreBounded reads the CRDs, in which controller-gen may write a schema in another form than
// boundCollections expects.
func TestListsAndMapsOfTheCRDsAreBounded(t *testing.T) {
	paths, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no CRD: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			checkBounded(t, crd.Spec.Names.Kind, version.Schema.OpenAPIV3Schema)
		}
	}
}

func checkBounded(t *testing.T, path string, schema *apiextensionsv1.JSONSchemaProps) {
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
