// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestDescriptionsBelowAPathAreDropped(t *testing.T) {
	const crd = `description: all
properties:
  spec:
    description: spec
    properties:
      workload:
        description: workload
        properties:
          template:
            description: template
            properties:
              spec:
                additionalProperties:
                  description: value
                  type: string
                description: pod
                items:
                  description: item
                  properties:
                    description:
                      description: a property of this name
                      type: string
          replicas:
            description: replicas
`
	const want = `description: all
properties:
  spec:
    description: spec
    properties:
      workload:
        description: workload
        properties:
          template:
            description: template
            properties:
              spec:
                additionalProperties:
                  type: string
                items:
                  properties:
                    description:
                      type: string
          replicas:
            description: replicas
`
	checkChange(t, crd, want, func(s *schema) { dropDescriptions(s, kubernetesTypes[0]) })
	checkChange(t, "description: other\n", "description: other\n", func(s *schema) { dropDescriptions(s, kubernetesTypes[0]) })
}

// TestCRDsFitIntoAnAnnotation checks that a client-side apply can store each CRD, and that both are small enough for one
// request of a tool.
func TestCRDsFitIntoAnAnnotation(t *testing.T) {
	const (
		// maxAnnotations is the limit of the API server for the annotations of an object, in bytes.
		maxAnnotations = 262144
		maxAll         = 500_000
	)
	paths, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no CRDs: ", err)
	}
	all := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += len(text)
		var decoded any
		if err := yaml.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(decoded)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes of JSON, %d bytes of YAML", filepath.Base(path), len(encoded), len(text))
		if len(encoded) > maxAnnotations {
			t.Errorf("%s has %d bytes of JSON, and an annotation at most %d", path, len(encoded), maxAnnotations)
		}
	}
	if all > maxAll {
		t.Errorf("the CRDs have %d bytes, want at most %d", all, maxAll)
	}
}
