// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// gatewayURL is the URL of the sidecar's gateway for the agent's container.
var gatewayURL = "http://127.0.0.1:" + strconv.Itoa(sidecarconfig.GatewayPort)

// podTemplate returns the user's template with the operator's additions.
func podTemplate(agent *a2av1alpha1.Agent, platform Platform) *corev1ac.PodTemplateSpecApplyConfiguration {
	template := agent.Spec.Workload.Template.DeepCopy()

	template.Labels = podLabels(agent.Name, template.Labels)
	pod := &template.Spec
	// The API server sets the deprecated name of the field to the same value.
	pod.ServiceAccountName = cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, names.ServiceAccount(agent.Name))
	pod.DeprecatedServiceAccount = ""
	if pod.AutomountServiceAccountToken == nil {
		pod.AutomountServiceAccountToken = new(false)
	}
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = new(int64(defaultGracePeriodSeconds))
	}
	namePortProtocols(pod)
	secureContainers(pod)
	spread(agent.Name, pod)

	if externalModelServer(agent) != "" {
		// The agent is outside of the pod, so nothing needs the sidecar to start first.
		pod.Containers = []corev1.Container{sidecar(agent, platform)}
	} else {
		main := &pod.Containers[0]
		main.Env = append(agentEnv(agent, platform, main.Env), main.Env...)
		waitForTurns(main)
		// The first one, so that it runs when the user's init containers call others.
		pod.InitContainers = slices.Insert(pod.InitContainers, 0, nativeSidecar(sidecar(agent, platform)))
	}
	pod.Volumes = append(pod.Volumes, sidecarVolumes(agent)...)
	return applyTemplate(template)
}

// namePortProtocols gives ports their default protocol. The API server does so in
// a Deployment, where it is part of the key by which ports are merged. It does not
// in an Agent, whose schema has no defaults in lists.
func namePortProtocols(pod *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			for j := range containers[i].Ports {
				port := &containers[i].Ports[j]
				port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
			}
		}
	}
}

// podLabels returns the operator's labels, overridden by the user's, and then the label
// of the selector.
func podLabels(agent string, user map[string]string) map[string]string {
	labels := map[string]string(names.Labels(agent))
	maps.Copy(labels, user)
	maps.Copy(labels, names.Selector(agent))
	return labels
}

// spread adds soft topology spread constraints. They do not depend on the number of
// pods: otherwise a second pod would restart the first one.
func spread(agent string, pod *corev1.PodSpec) {
	if len(pod.TopologySpreadConstraints) > 0 {
		return
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		pod.TopologySpreadConstraints = append(pod.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector:     &metav1.LabelSelector{MatchLabels: names.Selector(agent)},
			// Pods of an earlier spec are about to be deleted.
			MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
		})
	}
}

// agentEnv returns the operator's variables that the agent's container does not set.
// They come first, so that the variables of the container can refer to them.
func agentEnv(agent *a2av1alpha1.Agent, platform Platform, user []corev1.EnvVar) []corev1.EnvVar {
	ours := []corev1.EnvVar{{Name: a2av1alpha1.EnvPort, Value: strconv.Itoa(int(agent.Spec.Workload.Backend.Port))}}
	if platform.RegistryURL != "" {
		ours = append(ours, corev1.EnvVar{Name: a2av1alpha1.EnvGatewayURL, Value: gatewayURL})
	}
	return slices.DeleteFunc(ours, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(user, func(u corev1.EnvVar) bool { return u.Name == e.Name })
	})
}
