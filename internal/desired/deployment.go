// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

const (
	// progressDeadlineSeconds is when a rollout that stands still is called
	// so. Pulling a large image takes minutes.
	progressDeadlineSeconds = 300
	// revisionHistoryLimit is enough to look back at; the Agent is what is
	// rolled back, never its Deployment.
	revisionHistoryLimit = 3
	// defaultReplicas is the schema's default.
	defaultReplicas = 1
)

// deployment runs the pods of an Agent. A new pod must be ready before an old
// one goes, so that a spec that does not work takes nothing down.
func deployment(agent *a2av1alpha1.Agent, platform Platform) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(names.Deployment(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas(agent)).
			WithRevisionHistoryLimit(revisionHistoryLimit).
			WithProgressDeadlineSeconds(progressDeadlineSeconds).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromInt32(1)))).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
			WithTemplate(podTemplate(agent, platform)))
}

// replicas is the number of pods. The autoscaler writes it into the Agent, and
// the operator copies it. What the autoscaler would never choose was not
// written by it: it is the schema's default, or from before its limits changed,
// and pods should not have to wait for it to notice.
func replicas(agent *a2av1alpha1.Agent) int32 {
	if agent.Spec.Suspend {
		return 0
	}
	replicas := int32(defaultReplicas)
	if r := agent.Spec.Workload.Replicas; r != nil {
		replicas = *r
	}
	if a := agent.Spec.Workload.Autoscaling; a != nil && replicas > 0 {
		return min(max(replicas, a.MinReplicas), a.MaxReplicas)
	}
	return replicas
}

// mostReplicas is the number of pods that there may be.
func mostReplicas(agent *a2av1alpha1.Agent) int32 {
	if a := agent.Spec.Workload.Autoscaling; a != nil {
		return a.MaxReplicas
	}
	if r := agent.Spec.Workload.Replicas; r != nil {
		return *r
	}
	return defaultReplicas
}
