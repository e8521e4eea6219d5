// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package informercache configures the manager's informer caches, so that their memory depends on
// the number of Agents, and little on the number of other objects.
//
// The kinds that Agents own are cached for all owners, because the operator must detect an
// object of another owner that has an Agent's name. Transforms remove the parts that the
// operator does not read, and bound the rest: whatever a user writes into an object, its memory
// in the caches is at most what the page on tenancy says. Equal parts of objects are stored once. No
// cached object may therefore be modified.
package informercache

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Options returns the options of a cache of the given namespaces, or of all namespaces if
// none is given. rbac is the transform of roles and bindings, which only the registry reads.
func Options(namespaces []string, rbac toolscache.TransformFunc) (cache.Options, error) {
	ofAgents, err := labels.NewRequirement(a2av1alpha1.LabelAgent, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	interning := newInterner()
	bindings := cache.ByObject{Transform: rbac}
	owned := cache.ByObject{Transform: interning.after(StripForeign)}
	return cache.Options{
		NewInformer:       newInformer,
		DefaultTransform:  cache.TransformStripManagedFields(), // no kind needs it: each has a transform below
		DefaultNamespaces: Namespaces(namespaces),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                     owned,
			&corev1.Service{}:                        owned,
			&corev1.ServiceAccount{}:                 owned,
			&corev1.ConfigMap{}:                      owned,
			&networkingv1.NetworkPolicy{}:            owned,
			&autoscalingv2.HorizontalPodAutoscaler{}: owned,
			&policyv1.PodDisruptionBudget{}:          owned,
			&a2av1alpha1.Agent{}:                     {Transform: interning.after(stripAgent)},
			&a2av1alpha1.AgentSkill{}:                {Transform: interning.after(stripAgentSkill)},
			&rbacv1.Role{}:                           bindings,
			&rbacv1.ClusterRole{}:                    bindings,
			&rbacv1.RoleBinding{}:                    bindings,
			&rbacv1.ClusterRoleBinding{}:             bindings,
			&corev1.Namespace{}:                      {Transform: interning.after(stripNamespace)},
			&corev1.Pod{}: {
				Label:     labels.NewSelector().Add(*ofAgents),
				Transform: interning.after(stripPod),
			},
		},
	}, nil
}

// Namespaces returns the configuration of the namespaces of a cache, or nil for all
// namespaces if names is empty.
func Namespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	configs := map[string]cache.Config{}
	for _, name := range names {
		configs[name] = cache.Config{}
	}
	return configs
}

// OptionalOptions returns the options of a cache of one optional kind in the given namespaces, or in all
// namespaces if none is given.
func OptionalOptions(namespaces []string) cache.Options {
	return cache.Options{NewInformer: newInformer, DefaultNamespaces: Namespaces(namespaces)}
}
