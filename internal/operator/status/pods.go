// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// container is a container of a pod. field is the field of the Agent from which the
// container comes, such as spec.workload.template.spec.containers[0]; "" for none.
type container struct {
	pod    *corev1.Pod
	name   string
	image  string
	field  string
	status corev1.ContainerStatus
}

// containersOf returns the containers of a pod that have a status: init containers
// first, each kind in the order of the pod's spec.
func containersOf(agent *a2av1alpha1.Agent, pod *corev1.Pod) []container {
	var containers []container
	collect := func(kind string, declared, written []corev1.Container, statuses []corev1.ContainerStatus) {
		for _, d := range declared {
			field := ""
			for i, w := range written {
				if w.Name == d.Name {
					field = fmt.Sprintf("%s.%s[%d]", template, kind, i)
				}
			}
			for _, s := range statuses {
				if s.Name == d.Name {
					containers = append(containers, container{pod, d.Name, d.Image, field, s})
				}
			}
		}
	}
	written := agent.Spec.Workload.Template.Spec
	collect("initContainers", pod.Spec.InitContainers, written.InitContainers, pod.Status.InitContainerStatuses)
	collect("containers", pod.Spec.Containers, written.Containers, pod.Status.ContainerStatuses)
	return containers
}

// injector is the origin, in messages, of a container that is in a pod and not in the
// template of the Agent.
const injector = "admission webhook or other program that added the container to the pod"

// action says where to correct a part of a container: in the Agent, in the installation
// of the operator, or in the webhook that added the container to the pod.
func (c container) action(part string) string {
	switch {
	case c.field != "":
		return "correct " + c.field + part
	case c.name == a2av1alpha1.ContainerSidecar:
		return "ask the administrator of the operator to correct its installation"
	default:
		return "correct the " + injector
	}
}

// template is the path of the pod spec in an Agent.
const template = "spec.workload.template.spec"

// takesCalls reports whether the Service routes calls to a pod.
func takesCalls(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && podReady(pod)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// diagnosis is the reason why a pod is not ready.
type diagnosis struct {
	reason  string
	message string
	// failing is true if reason is a failure and not a step of a normal start. Some failures
	// end without a change by the user.
	failing bool
	// recheckAfter is the delay after which a starting agent counts as failed, or a restarted
	// container as stable; 0 for neither.
	recheckAfter time.Duration
}

// failure returns the diagnosis of a failure. Its message has the format and the arguments of fmt.Sprintf.
func failure(reason, format string, args ...any) diagnosis {
	return diagnosis{reason: reason, message: fmt.Sprintf(format, args...), failing: true}
}
