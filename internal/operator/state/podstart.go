// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// StartGrace is how long a pod may need to start its first container, and a container to become
// ready, before the operator looks for the cause.
const StartGrace = 20 * time.Second

// NotStarted returns the time since which a pod is scheduled, if none of its containers has started
// and none shows why. An example is a volume that the kubelet cannot mount: only the events of the pod
// have the cause.
func NotStarted(pod *corev1.Pod) (since time.Time, ok bool) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			since = c.LastTransitionTime.Time
		}
	}
	started := func(c corev1.ContainerStatus) bool {
		waits := c.State.Waiting
		return waits == nil && c.State != (corev1.ContainerState{}) || c.LastTerminationState.Terminated != nil ||
			waits != nil && !slices.Contains([]string{"", "ContainerCreating", "PodInitializing"}, waits.Reason)
	}
	return since, !since.IsZero() && !slices.ContainsFunc(pod.Status.InitContainerStatuses, started) && !slices.ContainsFunc(pod.Status.ContainerStatuses, started)
}

// FormerServes reports whether pods of earlier templates take calls, and none of the template with a digest does.
func FormerServes(pods []corev1.Pod, digest string) bool {
	former := false
	for i := range pods {
		pod := &pods[i]
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready || pod.DeletionTimestamp != nil {
			continue
		}
		if pod.Annotations[a2av1alpha1.AnnotationTemplateDigest] == digest {
			return false
		}
		former = true
	}
	return former
}
