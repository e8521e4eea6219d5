// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/gather"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
)

const (
	// agentsBySkill indexes Agents by the skills that they name. Those that
	// select skills stand under anySkill of their namespace.
	agentsBySkill = "spec.skillRefs"
	// agentsByGateway indexes Agents by the Gateways that they name.
	agentsByGateway = "spec.exposure.parentRefs"
	// anySkill can be the name of no AgentSkill.
	anySkill = "*"
)

// indexAgents makes the cache find the Agents of a skill, of a Gateway or of an
// address at one, and the pods of an Agent, without looking at all of them.
func indexAgents(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsBySkill, skillKeys); err != nil {
		return fmt.Errorf("index Agents by skill: %w", err)
	}
	if err := indexer.IndexField(ctx, &a2av1alpha1.Agent{}, agentsByGateway, gatewayKeys); err != nil {
		return fmt.Errorf("index Agents by Gateway: %w", err)
	}
	if err := indexer.IndexField(ctx, &a2av1alpha1.Agent{}, gather.AgentsByAddress, gather.AddressKeys); err != nil {
		return fmt.Errorf("index Agents by address: %w", err)
	}
	if err := indexer.IndexField(ctx, &corev1.Pod{}, gather.PodsByAgent, gather.PodKeys); err != nil {
		return fmt.Errorf("index Pods by Agent: %w", err)
	}
	return nil
}

func gatewayKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok || agent.Spec.Exposure == nil {
		return nil
	}
	var keys []string
	for _, ref := range agent.Spec.Exposure.ParentRefs {
		keys = append(keys, names.Gateway(agent, ref).String())
	}
	return keys
}

func skillKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	var keys []string
	for _, ref := range agent.Spec.SkillRefs {
		target := skillsharing.Target(agent, ref)
		keys = append(keys, skillKey(target.Namespace, target.Name))
	}
	if agent.Spec.SkillSelector != nil {
		keys = append(keys, skillKey(agent.Namespace, anySkill))
	}
	return keys
}

func skillKey(namespace, name string) string { return namespace + "/" + name }
