// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import corev1 "k8s.io/api/core/v1"

// sidecarUser is the nonroot user of the sidecar's image.
const sidecarUser = 65532

// sidecarSecurity is the restricted Pod Security level, with a root file
// system that cannot be written, whatever a template says for its whole pod.
func sidecarSecurity(pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	own := &corev1.SecurityContext{
		RunAsNonRoot:             new(true),
		RunAsUser:                new(int64(sidecarUser)),
		RunAsGroup:               new(int64(sidecarUser)),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	// Nodes without AppArmor refuse a pod that names a profile, and OpenShift one
	// that names a label, so these two are only set where the pod's are others.
	if pod != nil && pod.AppArmorProfile != nil && pod.AppArmorProfile.Type != corev1.AppArmorProfileTypeRuntimeDefault {
		own.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	if pod != nil && pod.SELinuxOptions != nil && *pod.SELinuxOptions != (corev1.SELinuxOptions{Level: pod.SELinuxOptions.Level}) {
		own.SELinuxOptions = &corev1.SELinuxOptions{Type: "container_t", Level: pod.SELinuxOptions.Level}
	}
	return own
}

// secureContainers gives the user's containers the restricted Pod Security
// level wherever neither the container nor the pod says otherwise. The user
// and the root file system are theirs.
func secureContainers(pod *corev1.PodSpec) {
	shared := pod.SecurityContext
	if shared == nil {
		shared = &corev1.PodSecurityContext{}
	}
	for i := range pod.InitContainers {
		secureContainer(&pod.InitContainers[i], shared)
	}
	for i := range pod.Containers {
		secureContainer(&pod.Containers[i], shared)
	}
}

func secureContainer(c *corev1.Container, shared *corev1.PodSecurityContext) {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	own := c.SecurityContext
	if own.RunAsNonRoot == nil && shared.RunAsNonRoot == nil {
		own.RunAsNonRoot = new(true)
	}
	if own.SeccompProfile == nil && shared.SeccompProfile == nil {
		own.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	if own.Capabilities == nil {
		own.Capabilities = &corev1.Capabilities{}
	}
	if own.Capabilities.Drop == nil {
		own.Capabilities.Drop = []corev1.Capability{"ALL"}
	}
	if own.AllowPrivilegeEscalation == nil && !privileged(own) {
		own.AllowPrivilegeEscalation = new(false)
	}
}

// privileged tells whether the API server would refuse a container that may
// not escalate its privileges.
func privileged(own *corev1.SecurityContext) bool {
	if own.Privileged != nil && *own.Privileged {
		return true
	}
	for _, capability := range own.Capabilities.Add {
		if capability == "SYS_ADMIN" || capability == "CAP_SYS_ADMIN" {
			return true
		}
	}
	return false
}
