// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// Scale returns an apply configuration that changes only the number of pods of the
// Deployment, or nil if the Deployment already has the number. The operator applies it
// while the spec has a mistake, so that users can still stop an agent and the autoscaler
// can still scale it.
func Scale(in clusterstate.Agent) *appsv1ac.DeploymentApplyConfiguration {
	current := in.Children.Deployment
	if in.Agent.Spec.Workload == nil || current == nil || !metav1.IsControlledBy(current, in.Agent) {
		return nil
	}
	wanted, has := replicas(in.Agent), int32(defaultReplicas)
	if current.Spec.Replicas != nil {
		has = *current.Spec.Replicas
	}
	// More than one pod needs a shared task store. The current Deployment may lack it,
	// because the spec is not applied.
	if wanted == has || wanted > 1 && !sharesTasks(current) {
		return nil
	}
	return appsv1ac.Deployment(names.Deployment(in.Agent.Name), in.Agent.Namespace).
		WithUID(current.UID).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(wanted))
}

// sharesTasks reports whether the pods of a Deployment share a task store.
func sharesTasks(d *appsv1.Deployment) bool {
	pod := &d.Spec.Template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if c := &containers[i]; c.Name == a2av1alpha1.ContainerSidecar {
				return slices.Contains(c.Args, storeFlag)
			}
		}
	}
	return false
}
