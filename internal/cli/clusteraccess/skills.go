// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package clusteraccess

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// skillAccess describes a request for AgentSkills.
func skillAccess(verb, namespace, name string) Access {
	return Access{Verb: verb, Group: a2av1alpha1.GroupVersion.Group, Resource: "agentskills", Namespace: namespace, Name: name}
}

// AgentSkill returns an AgentSkill.
func (c *Cluster) AgentSkill(ctx context.Context, namespace, name string) (*a2av1alpha1.AgentSkill, error) {
	return request(ctx, c, skillAccess("get", namespace, name), func(ctx context.Context, all *clients) (*a2av1alpha1.AgentSkill, error) {
		skill := &a2av1alpha1.AgentSkill{}
		return skill, all.agents.Get().Namespace(namespace).Resource("agentskills").Name(name).Do(ctx).Into(skill)
	})
}

// DryRunSkill lets the API server validate the JSON of an AgentSkill and, unless it is nil, of a ConfigMap. It stores nothing.
func (c *Cluster) DryRunSkill(ctx context.Context, namespace, skill string, skillText []byte, configMap string, configMapText []byte) error {
	_, err := request(ctx, c, skillAccess("create, patch", namespace, skill), func(ctx context.Context, all *clients) (any, error) {
		return nil, all.agents.Patch(types.ApplyPatchType).Namespace(namespace).Resource("agentskills").Name(skill).
			Param("dryRun", metav1.DryRunAll).Param("fieldManager", fieldManager).Param("force", "true").Body(skillText).Do(ctx).Error()
	})
	if err != nil || configMapText == nil {
		return err
	}
	access := Access{Verb: "create, patch", Resource: "configmaps", Namespace: namespace, Name: configMap}
	_, err = request(ctx, c, access, func(ctx context.Context, all *clients) (*corev1.ConfigMap, error) {
		return all.CoreV1().ConfigMaps(namespace).Patch(ctx, configMap, types.ApplyPatchType, configMapText,
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager, Force: new(true)})
	})
	return err
}
