// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdfields writes the fields of the generated CRDs to a file, which the manager compares
// with the CRDs in the cluster: crdfields FILE CRD...
package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "crdfields:", err)
		os.Exit(1)
	}
}

func run(target string, crds []string) error {
	var text strings.Builder
	for _, name := range crds {
		manifest, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read CRD: %w", err)
		}
		crd := map[string]any{}
		if err := yaml.Unmarshal(manifest, &crd); err != nil {
			return fmt.Errorf("decode %s: %w", name, err)
		}
		fields, err := crdschema.FieldsOfCRD(crd)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		metadata, _ := crd["metadata"].(map[string]any)
		text.WriteString(fields.Text(fmt.Sprint(metadata["name"])))
	}
	if err := os.WriteFile(target, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write fields: %w", err)
	}
	return nil
}
