// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// maxImages and maxDigests bound the images in the status.
	maxImages  = 16
	maxDigests = 8
)

// runningImages returns the images that the ready pods of the current template run, ordered by container. While no such pod
// is ready, it returns those of the status.
func runningImages(in Inputs) []a2av1alpha1.AgentImage {
	byContainer := map[string]*a2av1alpha1.AgentImage{}
	for i := range in.Observed.Pods {
		pod := &in.Observed.Pods[i]
		if !takesCalls(pod) || !in.isCurrent(pod) {
			continue
		}
		collectImages(byContainer, pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
		collectImages(byContainer, pod.Spec.Containers, pod.Status.ContainerStatuses)
	}
	if len(byContainer) == 0 {
		return in.Observed.Agent.Status.Images
	}
	images := make([]a2av1alpha1.AgentImage, 0, len(byContainer))
	for _, image := range byContainer {
		slices.Sort(image.Digests)
		images = append(images, *image)
	}
	slices.SortFunc(images, func(a, b a2av1alpha1.AgentImage) int { return cmp.Compare(a.Container, b.Container) })
	return images[:min(len(images), maxImages)]
}

// collectImages adds the images of containers.
func collectImages(to map[string]*a2av1alpha1.AgentImage, containers []corev1.Container, statuses []corev1.ContainerStatus) {
	for i := range statuses {
		digest := digestOf(statuses[i].ImageID)
		if digest == "" {
			continue
		}
		name := statuses[i].Name
		image := to[name]
		if image == nil {
			image = &a2av1alpha1.AgentImage{Container: name}
			if j := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }); j >= 0 {
				image.Image = containers[j].Image
			}
			to[name] = image
		}
		if !slices.Contains(image.Digests, digest) && len(image.Digests) < maxDigests {
			image.Digests = append(image.Digests, digest)
		}
	}
}

// digestOf returns the digest in an image id of the kubelet, such as sha256:9f2c, docker.io/library/a@sha256:9f2c or
// docker-pullable://a@sha256:9f2c. It returns "" for another id.
func digestOf(id string) string {
	digest := id[strings.LastIndexByte(id, '@')+1:]
	if algorithm, _, found := strings.Cut(digest, ":"); !found || strings.ContainsAny(algorithm, "/.") || len(digest) > 256 {
		return ""
	}
	return digest
}
