// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// takesCalls reports whether the Service routes calls to a pod.
func takesCalls(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && podReady(pod)
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// diagnosis is the reason why a pod is not ready.
type diagnosis struct {
	reason       string
	message      string
	failing      bool
	recheckAfter time.Duration
}
