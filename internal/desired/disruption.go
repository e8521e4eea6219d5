// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// disruptionBudget returns the PodDisruptionBudget of an Agent, or nil for an Agent that
// never has more than one pod. The budget never blocks the drain of a node: at least one
// pod may be unavailable, and a pod that is not ready may always be evicted.
func disruptionBudget(agent *a2av1alpha1.Agent) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if mostReplicas(agent) <= 1 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(names.PodDisruptionBudget(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
			WithMaxUnavailable(intstr.FromInt32(max(1, agent.Spec.Workload.DisruptionBudget.MaxUnavailable))).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
