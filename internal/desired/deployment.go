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
func deployment(agent *a2av1alpha1.Agent, platform Platform) (*appsv1ac.DeploymentApplyConfiguration, error) {
	template, err := podTemplate(agent, platform)
	if err != nil {
		return nil, err
	}
	replicas := int32(defaultReplicas)
	if r := agent.Spec.Workload.Replicas; r != nil {
		replicas = *r
	}
	if agent.Spec.Suspend {
		replicas = 0
	}
	return appsv1ac.Deployment(names.Deployment(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas).
			WithRevisionHistoryLimit(revisionHistoryLimit).
			WithProgressDeadlineSeconds(progressDeadlineSeconds).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromInt32(1)))).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
			WithTemplate(template)), nil
}
