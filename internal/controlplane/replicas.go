// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// oneReplica is part of the messages of the rules that want a shared task store
// for more than one pod.
const oneReplica = "needs spec.workload.tasks.store.type Redis"

// AdmitReplicas takes the rules from the CRD of Agents that want a shared task
// store for more than one pod, for tests of everything else about their number.
func AdmitReplicas(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("build scheme: %w", err)
	}
	cluster, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("build client: %w", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: "agents." + a2av1alpha1.GroupVersion.Group}, crd); err != nil {
		return fmt.Errorf("get CRD of Agents: %w", err)
	}
	dropRules(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err := cluster.Update(ctx, crd); err != nil {
		return fmt.Errorf("update CRD of Agents: %w", err)
	}
	// The API server takes a moment to use the schema.
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return cluster.Create(ctx, agentOfTwo(), client.DryRunAll) == nil, nil
	})
}

func agentOfTwo() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": a2av1alpha1.GroupVersion.String(),
		"kind":       a2av1alpha1.AgentKind,
		"metadata":   map[string]any{"namespace": "default", "name": "two"},
		"spec": map[string]any{"description": "Two pods.", "workload": map[string]any{
			"replicas": int64(2),
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "agent", "image": "example/echo:1"}}}},
		}},
	}}
}

func dropRules(schema *apiextensionsv1.JSONSchemaProps) {
	var kept apiextensionsv1.ValidationRules
	for _, rule := range schema.XValidations {
		if !strings.Contains(rule.Message, oneReplica) {
			kept = append(kept, rule)
		}
	}
	schema.XValidations = kept
	for name, property := range schema.Properties {
		dropRules(&property)
		schema.Properties[name] = property
	}
}
