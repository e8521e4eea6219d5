// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crdbounds narrows the CRDs that controller-gen wrote, in place.
//
// A pod template has quantities and ports whose generated schema allows values that the Go types cannot
// decode: "1e1.5" is an error, 99999999999 overflows, and "1e-999999999" takes hours. One such object would stop
// the watch of every Agent in the cluster, so the API server must refuse it. The API server of Kubernetes 1.33 does
// not check the formats int32 and int64, so integers have bounds, too. The command also bounds lists and maps, see
// boundCollection, removes the defaults inside lists, see dropListDefaults, and the descriptions inside the types of Kubernetes,
// see dropDescriptions.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crdbounds:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("no CRD in %s", dir)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		narrowed, err := narrow(content)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.WriteFile(path, narrowed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// definition is a CRD without a status, as controller-gen writes it.
type definition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
}

// narrow returns the narrowed CRD. The encoder is the one of controller-gen, so all other lines stay the same.
func narrow(text []byte) ([]byte, error) {
	var crd definition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, err
	}
	for _, version := range crd.Spec.Versions {
		bound("", version.Schema.OpenAPIV3Schema)
		dropListDefaults(version.Schema.OpenAPIV3Schema, false, nil)
		for _, path := range kubernetesTypes {
			dropDescriptions(version.Schema.OpenAPIV3Schema, path)
		}
	}
	narrowed, err := yaml.Marshal(crd)
	return append([]byte("---\n"), narrowed...), err
}

type schema = apiextensionsv1.JSONSchemaProps

// visitChildren calls visit with each schema directly below a schema, and with the key that holds it.
func visitChildren(s *schema, visit func(key string, child *schema)) {
	for name, property := range s.Properties {
		visit(name, &property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		visit("items", s.Items.Schema)
	}
	if values := s.AdditionalProperties; values != nil && values.Schema != nil {
		visit("additionalProperties", values.Schema)
	}
}
