// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// StrategyType selects how a change replaces the pods of an agent.
// +kubebuilder:validation:Enum=RollingUpdate;Recreate
type StrategyType string

const (
	// StrategyRollingUpdate replaces the pods one after another.
	StrategyRollingUpdate StrategyType = "RollingUpdate"
	// StrategyRecreate deletes all pods before it creates new ones.
	StrategyRecreate StrategyType = "Recreate"
)

// AgentStrategy selects how a change of the pods replaces them: a change of the
// template, or of the sidecar by an upgrade of the operator.
//
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",message="spec.workload.strategy.rollingUpdate needs spec.workload.strategy.type RollingUpdate: with Recreate, no old pod runs beside a new one; remove rollingUpdate, or change the type"
type AgentStrategy struct {
	// type is RollingUpdate or Recreate. RollingUpdate starts a new pod before an old
	// one is deleted, so the cluster needs room for a second pod. Recreate deletes the
	// old pods first, and the agent does not serve until a new pod is ready. Use
	// Recreate if the pods need something of which there is only one, such as a GPU or
	// a ReadWriteOnce volume. It defaults to RollingUpdate.
	// +kubebuilder:default=RollingUpdate
	// +optional
	Type StrategyType `json:"type,omitempty"`

	// rollingUpdate has the numbers of RollingUpdate.
	// +optional
	RollingUpdate *AgentRollingUpdate `json:"rollingUpdate,omitempty"`
}

// AgentRollingUpdate has the numbers of a rolling update.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !(string(self.maxSurge) in ['0', '0%']) || (has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%']))",message="spec.workload.strategy.rollingUpdate.maxSurge of 0 needs maxUnavailable of at least 1: a rolling update must add a pod or remove one"
type AgentRollingUpdate struct {
	// maxSurge is how many pods an update may add, as a number or as a percentage of
	// the replicas, such as "25%". With 0, an update needs no room for another pod. It
	// defaults to 1.
	// +kubebuilder:validation:XValidation:rule="type(self) == int || self.matches('^(100|[0-9]{1,2})%$')",message="spec.workload.strategy.rollingUpdate.maxSurge must be a number, or a percentage from 0% to 100%"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// maxUnavailable is how many pods an update may remove before their successors are
	// ready, as a number or as a percentage of the replicas. It defaults to 0.
	// +kubebuilder:validation:XValidation:rule="type(self) == int || self.matches('^(100|[0-9]{1,2})%$')",message="spec.workload.strategy.rollingUpdate.maxUnavailable must be a number, or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
