// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// stripPod is a transform for pods. It keeps the fields that show whether a pod serves, and
// why not.
func stripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: identity(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName:       cut(pod.Spec.NodeName, maxName),
			InitContainers: namesAndImages(pod.Spec.InitContainers),
			Containers:     namesAndImages(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                cut(pod.Status.Reason, maxName),
			Conditions:            podConditions(pod.Status.Conditions),
			InitContainerStatuses: containerStatuses(pod.Status.InitContainerStatuses),
			ContainerStatuses:     containerStatuses(pod.Status.ContainerStatuses),
		},
	}
	kept.Labels = only(pod.Labels, a2av1alpha1.LabelAgent)
	kept.Annotations = only(pod.Annotations, a2av1alpha1.AnnotationConfigDigest, a2av1alpha1.AnnotationTemplateDigest)
	if signatures := pod.Annotations[a2av1alpha1.AnnotationCardSignatures]; signatures != "" && len(signatures) <= sidecarconfig.MaxCardSignatures {
		metav1.SetMetaDataAnnotation(&kept.ObjectMeta, a2av1alpha1.AnnotationCardSignatures, signatures)
	}
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	if sizeOf(kept) > maxPod+sidecarconfig.MaxCardSignatures {
		// The rest shows whether the pod serves, and not why.
		kept.Spec = corev1.PodSpec{}
		kept.Status.InitContainerStatuses = nil
		kept.Status.ContainerStatuses = nil
	}
	return kept, nil
}

func podConditions(all []corev1.PodCondition) []corev1.PodCondition {
	return some(all, func(c corev1.PodCondition) (corev1.PodCondition, bool) {
		c.Status = cut(c.Status, maxName)
		c.Reason = cut(c.Reason, maxName)
		c.Message = cut(c.Message, maxMessage)
		return c, len(c.Type) <= maxName
	})
}

// containerStatuses returns the parts of statuses that show whether containers run, and why not.
func containerStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	return some(all, func(c corev1.ContainerStatus) (corev1.ContainerStatus, bool) {
		return corev1.ContainerStatus{
			Name: cut(c.Name, maxName), ImageID: imageDigest(c.ImageID), Ready: c.Ready, RestartCount: c.RestartCount,
			State: containerState(c.State), LastTerminationState: containerState(c.LastTerminationState),
		}, true
	})
}

// imageDigest returns an image id without the name of the image.
func imageDigest(id string) string { return cut(id[strings.LastIndexByte(id, '@')+1:], maxName) }

func containerState(s corev1.ContainerState) corev1.ContainerState {
	kept := corev1.ContainerState{Running: s.Running}
	if w := s.Waiting; w != nil {
		kept.Waiting = &corev1.ContainerStateWaiting{Reason: cut(w.Reason, maxName), Message: cut(w.Message, maxMessage)}
	}
	if t := s.Terminated; t != nil {
		kept.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: t.ExitCode, Reason: cut(t.Reason, maxName), Message: cut(t.Message, maxMessage), StartedAt: t.StartedAt, FinishedAt: t.FinishedAt,
		}
	}
	return kept
}

func namesAndImages(containers []corev1.Container) []corev1.Container {
	return some(containers, func(c corev1.Container) (corev1.Container, bool) {
		return corev1.Container{Name: cut(c.Name, maxName), Image: cut(c.Image, maxMessage)}, true
	})
}

// PodKeys returns the keys of a pod in the index names.PodsByAgent.
func PodKeys(obj client.Object) []string {
	if agent := obj.GetLabels()[a2av1alpha1.LabelAgent]; agent != "" {
		return []string{agent}
	}
	return nil
}
