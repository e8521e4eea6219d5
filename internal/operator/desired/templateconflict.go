// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// templateField is the field of an Agent with the pod spec of its template.
const templateField = "spec.workload.template.spec"

// templateConflicts returns a problem for each part of an Agent's template that conflicts
// with the operator's additions.
func templateConflicts(agent *a2av1alpha1.Agent) []state.Problem {
	var problems []state.Problem
	if port := agent.Spec.Workload.Backend.Port; sidecarPort(port) {
		problems = append(problems, portConflict("spec.workload.backend.port", port))
	}
	template := &agent.Spec.Workload.Template
	if value, set := template.Labels[a2av1alpha1.LabelAgent]; set && value != agent.Name {
		problems = append(problems, nameConflict("spec.workload.template.metadata.labels must not set %q: "+
			"the operator selects the pods with this label; remove it", a2av1alpha1.LabelAgent))
	}
	if _, set := template.Annotations[appArmorAnnotation]; set {
		problems = append(problems, nameConflict("spec.workload.template.metadata.annotations must not set %q: "+
			"the operator sets the profile of the sidecar; remove it", appArmorAnnotation))
	}
	problems = append(problems, exposures(&template.Spec)...)
	problems = append(problems, containerConflicts(templateField+".initContainers", template.Spec.InitContainers)...)
	problems = append(problems, containerConflicts(templateField+".containers", template.Spec.Containers)...)
	for i, volume := range template.Spec.Volumes {
		if sidecarVolume(volume.Name) {
			problems = append(problems, nameConflict("%s.volumes[%d].name must not be %q: the operator adds a volume of this name; rename it",
				templateField, i, volume.Name))
		}
	}
	return problems
}

// appArmorAnnotation is the deprecated annotation that sets the AppArmor profile of the
// sidecar.
const appArmorAnnotation = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + a2av1alpha1.ContainerSidecar

// exposures returns a problem for each field that gives the agent's container access to
// the sidecar. The CEL rules of the Agent reject these fields, too, but an Agent may have
// been created before the rules.
func exposures(pod *corev1.PodSpec) []state.Problem {
	var problems []state.Problem
	for _, each := range []struct {
		set        bool
		field, why string
	}{
		{pod.HostPID, "hostPID", "the agent could read the token of the sidecar"},
		{pod.HostNetwork, "hostNetwork", "the sidecar needs ports of the pod"},
		{pod.ShareProcessNamespace != nil && *pod.ShareProcessNamespace, "shareProcessNamespace", "the agent could read the token of the sidecar"},
	} {
		if each.set {
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonSidecarExposed,
				"%s.%s must be absent, because %s; remove it", templateField, each.field, each.why))
		}
	}
	return problems
}

func containerConflicts(field string, containers []corev1.Container) []state.Problem {
	var problems []state.Problem
	for i, c := range containers {
		if c.Name == a2av1alpha1.ContainerSidecar {
			problems = append(problems, nameConflict("%s[%d].name must not be %q: the operator adds a container of this name; rename it",
				field, i, c.Name))
		}
		for j, port := range c.Ports {
			if sidecarPort(port.ContainerPort) {
				problems = append(problems, portConflict(fmt.Sprintf("%s[%d].ports[%d].containerPort", field, i, j), port.ContainerPort))
			}
		}
		for j, mount := range c.VolumeMounts {
			if sidecarVolume(mount.Name) {
				problems = append(problems, nameConflict("%s[%d].volumeMounts[%d].name must not be %q: only the sidecar may mount this volume; remove the mount",
					field, i, j, mount.Name))
			}
		}
	}
	return problems
}

func sidecarPort(port int32) bool {
	return port == sidecarconfig.AgentPort || port == sidecarconfig.HealthPort || port == sidecarconfig.GatewayPort
}

func sidecarVolume(name string) bool {
	return slices.Contains([]string{
		a2av1alpha1.VolumeConfig, a2av1alpha1.VolumeToken, a2av1alpha1.VolumeCardSigning, a2av1alpha1.VolumeAPIKeys,
		a2av1alpha1.VolumeTLS, a2av1alpha1.VolumeClientCA, a2av1alpha1.VolumeTrust,
		a2av1alpha1.VolumeStorePassword, a2av1alpha1.VolumeStoreTLS,
		a2av1alpha1.VolumeModelKey, a2av1alpha1.VolumeModelSecrets, a2av1alpha1.VolumeInstructions, a2av1alpha1.VolumeEgressProxy, a2av1alpha1.VolumeHook, a2av1alpha1.VolumeClientCertificate,
		a2av1alpha1.VolumeSkillFiles, a2av1alpha1.VolumeSkills,
	}, name) || strings.HasPrefix(name, a2av1alpha1.VolumeSkillImage)
}

func portConflict(field string, port int32) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonPortConflict,
		"%s must not be %d: the sidecar listens on %d, %d and %d; use another port",
		field, port, sidecarconfig.AgentPort, sidecarconfig.HealthPort, sidecarconfig.GatewayPort)
}

func nameConflict(format string, args ...any) state.Problem {
	return state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonNameConflict, format, args...)
}
