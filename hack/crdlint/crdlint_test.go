// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdlint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestCRDs(t *testing.T) {
	paths, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("no CRDs")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, finding := range Lint(crd) {
			t.Error(finding)
		}
	}
}

func TestLint(t *testing.T) {
	tests := map[string]struct {
		version string
		want    []string
	}{
		"clean": {
			version: `
subresources: {status: {}}
schema:
  openAPIV3Schema:
    type: object
    properties:
      apiVersion: {type: string, description: d}
      metadata: {type: object}
      spec:
        type: object
        description: d
        properties:
          name: {type: string, description: d, maxLength: 63, pattern: '^[a-z]*$'}
          kind: {type: string, description: d, enum: [a]}
          ports: {type: array, description: d, maxItems: 4, x-kubernetes-list-type: set, items: {type: integer}}
          labels: {type: object, description: d, maxProperties: 3, additionalProperties: {type: string, maxLength: 3, x-kubernetes-validations: [{rule: "self.matches('^[a-z]$')"}]}}
          workload: {type: object, description: d, properties: {template: {type: object, properties: {any: {type: string}}}}}
      status:
        type: object
        description: d
        properties:
          conditions: {type: array, description: d, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type]}
`,
		},
		"all mistakes": {
			version: `
schema:
  openAPIV3Schema:
    type: object
    x-kubernetes-validations: [{rule: "has(self.spec)"}, {rule: "has(self.metadata)", fieldPath: .metadata}]
    properties:
      spec:
        type: object
        properties:
          f: {type: number, description: d}
          l: {type: array, description: d, items: {type: string}}
          m: {type: object, description: d, additionalProperties: {type: string}}
          s: {type: string, description: d}
      status:
        type: object
        description: d
        properties:
          phase: {type: string, description: d, maxLength: 1}
          conditions: {type: array, description: d, x-kubernetes-list-type: atomic}
`,
			want: []string{
				"Thing v1 .status: is not a subresource",
				"Thing v1 .status.phase: a phase is deprecated: use conditions",
				"Thing v1 .status.conditions: is not a map by type",
				"Thing v1 .: has a rule without fieldPath: has(self.spec)",
				"Thing v1 .spec: has no description",
				"Thing v1 .spec.f: is a float: use an integer, or a string with a pattern",
				"Thing v1 .spec.l: is a list without maxItems",
				"Thing v1 .spec.l: is a list without listType",
				"Thing v1 .spec.l[]: is a string without maxLength, enum or format",
				"Thing v1 .spec.l[]: is a text that may have control characters: add a pattern",
				"Thing v1 .spec.m: is a map without maxProperties",
				"Thing v1 .spec.m{}: is a string without maxLength, enum or format",
				"Thing v1 .spec.m{}: is a text that may have control characters: add a pattern",
				"Thing v1 .spec.s: is a string without maxLength, enum or format",
				"Thing v1 .spec.s: is a text that may have control characters: add a pattern",
			},
		},
		"a status without conditions": {
			version: `
subresources: {status: {}}
schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, description: d}}}}
`,
			want: []string{"Thing v1 .status: has no conditions"},
		},
		"no schema": {
			version: "served: true",
			want:    []string{"Thing v1 .: has no schema"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			version := apiextensionsv1.CustomResourceDefinitionVersion{}
			if err := yaml.UnmarshalStrict([]byte(test.version), &version); err != nil {
				t.Fatal(err)
			}
			version.Name = "v1"
			crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Names:    apiextensionsv1.CustomResourceDefinitionNames{Kind: "Thing"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
			}}
			if diff := cmp.Diff(test.want, Lint(crd)); diff != "" {
				t.Errorf("Lint() (-want +got):\n%s", diff)
			}
		})
	}
}
