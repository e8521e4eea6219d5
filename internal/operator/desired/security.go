// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// imageUser is the nonroot user of the sidecar's image.
const imageUser = 65532

// sidecarSecurity returns the security context of the sidecar: the restricted Pod
// Security level with a read-only root file system. It overrides the security context
// of the pod.
//
// It names no user, because some clusters choose the users of a namespace, as the security
// context constraints of OpenShift do, and refuse all others. The sidecar then has the user
// of the pod or of its image, and works with every user and group. user is the user that the
// installation names, 0 for none. Only a pod that runs as root needs another user.
func sidecarSecurity(pod *corev1.PodSecurityContext, user int64) *corev1.SecurityContext {
	own := &corev1.SecurityContext{
		RunAsNonRoot:             new(true),
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if pod != nil && pod.RunAsUser != nil && *pod.RunAsUser == 0 {
		user = cmp.Or(user, imageUser)
	}
	if user != 0 {
		own.RunAsUser = &user
	}
	// The AppArmor profile and the SELinux options are set only to override those of the
	// pod: nodes without AppArmor reject a pod with a profile, and OpenShift rejects
	// SELinux options.
	if pod != nil && pod.AppArmorProfile != nil && pod.AppArmorProfile.Type != corev1.AppArmorProfileTypeRuntimeDefault {
		own.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	if pod != nil && pod.SELinuxOptions != nil && *pod.SELinuxOptions != (corev1.SELinuxOptions{Level: pod.SELinuxOptions.Level}) {
		own.SELinuxOptions = &corev1.SELinuxOptions{Type: "container_t", Level: pod.SELinuxOptions.Level}
	}
	return own
}

// secureContainers applies the restricted Pod Security level to the user's containers: it
// sets the fields that neither the container nor the pod sets. It does not set runAsUser
// and readOnlyRootFilesystem.
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

// privileged reports whether the API server rejects allowPrivilegeEscalation false for a
// container.
func privileged(own *corev1.SecurityContext) bool {
	return ptr.Deref(own.Privileged, false) || slices.Contains(own.Capabilities.Add, "SYS_ADMIN") || slices.Contains(own.Capabilities.Add, "CAP_SYS_ADMIN")
}
