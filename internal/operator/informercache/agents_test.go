// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestDefaultWorkload compares the workload of an agent without one with what the API server makes of an empty one.
func TestDefaultWorkload(t *testing.T) {
	text, err := os.ReadFile("../../../config/crd/bases/a2a-operator.dev_agents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		t.Fatal(err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{"spec": map[string]any{"model": map[string]any{}, "workload": map[string]any{}}}
	defaulting.Default(object, structural)
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	want := &a2av1alpha1.Agent{}
	if err := json.Unmarshal(encoded, want); err != nil {
		t.Fatal(err)
	}
	got, err := stripAgent(&a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Model: &a2av1alpha1.AgentModel{}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Spec.Workload, got.(*a2av1alpha1.Agent).Spec.Workload); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheStatusIsKept: the operator reads back every field of the status that it writes.
func TestTheStatusIsKept(t *testing.T) {
	agent := &a2av1alpha1.Agent{}
	budget := 1 << 10
	fillValue(reflect.ValueOf(&agent.Status).Elem(), "x", 8, 0, &budget)
	skill := &a2av1alpha1.AgentSkill{}
	fillValue(reflect.ValueOf(&skill.Status).Elem(), "x", 8, 0, &budget)
	kept, err := stripAgent(agent)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agent.Status, kept.(*a2av1alpha1.Agent).Status); diff != "" {
		t.Errorf("Agent (-want +got):\n%s", diff)
	}
	keptSkill, err := stripAgentSkill(skill)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(skill.Status, keptSkill.(*a2av1alpha1.AgentSkill).Status); diff != "" {
		t.Errorf("AgentSkill (-want +got):\n%s", diff)
	}
}
