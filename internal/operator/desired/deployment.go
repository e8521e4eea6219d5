// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

const (
	// defaultProgressDeadlineSeconds is the default of the schema. Pulling a large image takes minutes.
	defaultProgressDeadlineSeconds = 300
	// revisionHistoryLimit is enough for inspection. Users roll back the Agent, and never
	// its Deployment.
	revisionHistoryLimit = 3
	// defaultReplicas is the default number of replicas in the schema.
	defaultReplicas = 1
)

// deployment returns the Deployment of an Agent.
func deployment(agent *a2av1alpha1.Agent, template *corev1ac.PodTemplateSpecApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(names.Deployment(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas(agent)).
			WithRevisionHistoryLimit(revisionHistoryLimit).
			WithProgressDeadlineSeconds(progressDeadlineSeconds(agent)).
			WithStrategy(strategy(&agent.Spec.Workload.Strategy)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
			WithTemplate(template))
}

// strategy returns the strategy of a Deployment. By default, a new pod must be ready before an
// old one is deleted, so that a failing spec does not interrupt the service.
func strategy(of *a2av1alpha1.AgentStrategy) *appsv1ac.DeploymentStrategyApplyConfiguration {
	if of.Type == a2av1alpha1.StrategyRecreate {
		return appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	}
	var numbers a2av1alpha1.AgentRollingUpdate
	if of.RollingUpdate != nil {
		numbers = *of.RollingUpdate
	}
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(ptr.Deref(numbers.MaxUnavailable, intstr.FromInt32(0))).
			WithMaxSurge(ptr.Deref(numbers.MaxSurge, intstr.FromInt32(1))))
}

// youngerAccount returns the value of AnnotationServiceAccountUID, "" for none. Usually, the
// ServiceAccount is older than the Deployment. If it is younger, pods may have tokens of a deleted
// ServiceAccount of the same name, which the API server no longer accepts. While there is no
// ServiceAccount, the annotation stays as it is.
func youngerAccount(in state.Agent) string {
	d := in.Children.Deployment
	account := in.Account
	switch {
	case d == nil || !metav1.IsControlledBy(d, in.Agent):
		return ""
	case account == nil:
		return d.Spec.Template.Annotations[a2av1alpha1.AnnotationServiceAccountUID]
	case d.CreationTimestamp.Before(&account.CreationTimestamp):
		return string(account.UID)
	default:
		return ""
	}
}

// replicas returns the number of pods. The autoscaler writes the number into the Agent,
// and the operator copies it into the Deployment. The number in the Agent is outside of the
// autoscaler's limits if it is the default of the schema, or if a user changed the limits.
// replicas then returns the nearest limit.
func replicas(agent *a2av1alpha1.Agent) int32 {
	if agent.Spec.Suspend {
		return 0
	}
	replicas := ptr.Deref(agent.Spec.Workload.Replicas, defaultReplicas)
	if a := agent.Spec.Workload.Autoscaling; a != nil && replicas > 0 {
		return min(max(replicas, a.MinReplicas), a.MaxReplicas)
	}
	return replicas
}

// mostReplicas returns the maximum number of pods.
func mostReplicas(agent *a2av1alpha1.Agent) int32 {
	if a := agent.Spec.Workload.Autoscaling; a != nil {
		return a.MaxReplicas
	}
	return ptr.Deref(agent.Spec.Workload.Replicas, defaultReplicas)
}

// serviceAccount returns the ServiceAccount of an Agent, the identity with which its
// sidecar calls the registry and other agents. It returns nil if the template names one.
func serviceAccount(agent *a2av1alpha1.Agent) *corev1ac.ServiceAccountApplyConfiguration {
	if names.HasOwnServiceAccount(agent) {
		return nil
	}
	return corev1ac.ServiceAccount(names.ServiceAccount(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithAutomountServiceAccountToken(false)
}

// progressDeadlineSeconds returns the time after which a rollout without progress counts as failed.
func progressDeadlineSeconds(agent *a2av1alpha1.Agent) int32 {
	deadline, err := time.ParseDuration(string(agent.Spec.Workload.ProgressDeadline))
	if err != nil {
		return defaultProgressDeadlineSeconds // the field is absent: the API server refuses others
	}
	return int32(min(math.Ceil(deadline.Seconds()), math.MaxInt32))
}
