// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/desired"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/skillsharing"
)

const (
	// agentsBySkill is the index of Agents by the skills to which they refer. An Agent that
	// selects skills has the key of anySkill in its namespace.
	agentsBySkill = "spec.skillRefs"
	// agentsByGateway is the index of Agents by the Gateways to which they refer.
	agentsByGateway = "spec.exposure.parentRefs"
	// agentsByAddress is the index of Agents by the addresses that they request at Gateways. Two
	// Agents with the same key may be in conflict.
	agentsByAddress = "spec.exposure.addresses"
	// anySkill is the name in the key of Agents that select skills. It is not a valid name
	// of an AgentSkill.
	anySkill = "*"
)

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

func addressKeys(obj client.Object) []string {
	agent, ok := obj.(*a2av1alpha1.Agent)
	if !ok {
		return nil
	}
	return keysOf(desired.Addresses(agent))
}

// keysOf returns the keys of addresses in the index agentsByAddress, without repetitions. The
// listener is no part of a key, because one of two Agents in conflict may refer to all listeners.
func keysOf(addresses []clusterstate.Address) []string {
	var keys []string
	for _, at := range addresses {
		keys = append(keys, fmt.Sprintf("%s %s %s%s", at.Gateway, at.Kind, at.Host, at.Path))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
