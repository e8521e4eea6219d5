// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// gatewayURL is the URL of the sidecar's gateway for the agent's container.
var gatewayURL = "http://127.0.0.1:" + strconv.Itoa(sidecarconfig.GatewayPort)

// podTemplate returns the user's template with the operator's additions.
func podTemplate(in state.Agent, platform Platform) *corev1ac.PodTemplateSpecApplyConfiguration {
	agent := in.Agent
	template := agent.Spec.Workload.Template.DeepCopy()

	template.Labels = podLabels(agent.Name, template.Labels)
	template.Annotations = excludeFromMesh(template.Annotations)
	pod := &template.Spec
	// The API server copies serviceAccountName into the deprecated field serviceAccount,
	// so the operator applies only the former.
	pod.ServiceAccountName = names.ServiceAccountOfPods(agent)
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

	if len(pod.Containers) == 0 {
		// The model server is outside of the pod, so no container needs the sidecar to start
		// first.
		pod.Containers = []corev1.Container{sidecar(agent, platform)}
	} else {
		main := &pod.Containers[0]
		main.Env = append(agentEnv(agent, platform, main.Env), main.Env...)
		waitForTurns(agent, platform, main)
		// The sidecar is the first init container, so that it runs when the init
		// containers of the user call other agents.
		pod.InitContainers = slices.Insert(pod.InitContainers, 0, nativeSidecar(sidecar(agent, platform)))
	}
	pod.Volumes = append(pod.Volumes, sidecarVolumes(agent, platform)...)
	mountSkills(in, pod)
	return applyConfiguration[corev1ac.PodTemplateSpecApplyConfiguration](template)
}

// stampTemplate sets AnnotationTemplateDigest on a pod template, and returns the digest.
func stampTemplate(template *corev1ac.PodTemplateSpecApplyConfiguration) (string, error) {
	text, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encode pod template: %w", err)
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:8])
	template.WithAnnotations(map[string]string{a2av1alpha1.AnnotationTemplateDigest: digest})
	return digest, nil
}

// namePortProtocols sets the default protocol of ports. In a Deployment, the API server
// sets this default, and the protocol is part of the key by which server-side apply
// merges ports. In an Agent, the API server does not set it, because the schema has no
// defaults in lists.
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

// podLabels returns the operator's labels, overridden by the user's labels. The label of
// the selector always has the operator's value.
func podLabels(agent string, user map[string]string) map[string]string {
	labels := map[string]string(names.Labels(agent))
	maps.Copy(labels, user)
	maps.Copy(labels, names.Selector(agent))
	return labels
}

// spread adds soft topology spread constraints, unless the template has constraints. The
// constraints do not depend on the number of pods, because a changed constraint would
// restart the running pods.
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
			// Pods of an earlier spec do not count, because they are about to be deleted.
			MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
		})
	}
}

// agentEnv returns the operator's environment variables that the agent's container does
// not set. In the rendered container they come first, so that the container's own variables
// can refer to them.
func agentEnv(agent *a2av1alpha1.Agent, platform Platform, user []corev1.EnvVar) []corev1.EnvVar {
	ours := []corev1.EnvVar{{Name: a2av1alpha1.EnvPort, Value: strconv.Itoa(int(agent.Spec.Workload.Backend.Port))}}
	if platform.RegistryURL != "" {
		ours = append(ours, corev1.EnvVar{Name: a2av1alpha1.EnvGatewayURL, Value: gatewayURL})
	}
	if a2a := agent.Spec.Workload.Backend.A2A; a2a != nil && a2a.SessionAPI == a2av1alpha1.SessionAPIKagent {
		ours = append(ours, corev1.EnvVar{Name: "KAGENT_URL", Value: gatewayURL}, corev1.EnvVar{Name: "KAGENT_NAME", Value: agent.Name},
			corev1.EnvVar{Name: "KAGENT_NAMESPACE", Value: agent.Namespace})
	}
	return slices.DeleteFunc(ours, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(user, func(u corev1.EnvVar) bool { return u.Name == e.Name })
	})
}

var (
	initContainerField = regexp.MustCompile(`\bspec\.template\.spec\.initContainers\[(\d+)\]`)
	envField           = regexp.MustCompile(`\bspec\.template\.spec\.containers\[0\]\.env\[(\d+)\]`)
	containerField     = regexp.MustCompile(`\bspec\.template\.spec\.containers\[0\]`)
	metadataField      = regexp.MustCompile(`\bspec\.template\.(?:metadata\.)?(labels|annotations)\b`)
	podField           = regexp.MustCompile(`\bspec\.template\.spec\.`)
	egressField        = regexp.MustCompile(`\bspec\.egress\[`)
)

// TemplateFields replaces the names of Deployment fields in a message of the API server
// with the names of the Agent fields from which they were rendered. It marks fields that
// the operator added.
func TemplateFields(agent *a2av1alpha1.Agent, platform Platform, message string) string {
	if agent.Spec.Workload == nil {
		return message
	}
	const own = "the operator's "
	behind := func(first int, list string) func(string) string {
		return func(field string) string {
			n, err := strconv.Atoi(field[strings.LastIndex(field, "[")+1 : len(field)-1])
			if err != nil || n < first {
				return own + strings.TrimPrefix(field, "spec.template.")
			}
			return "spec.workload.template.spec." + list + "[" + strconv.Itoa(n-first) + "]"
		}
	}
	if containers := agent.Spec.Workload.Template.Spec.Containers; len(containers) == 0 {
		// The sidecar is the only container.
		message = containerField.ReplaceAllString(message, own+"spec.containers[0]")
	} else {
		// The indexes differ: in the Deployment, the sidecar precedes the user's init
		// containers, and the operator's variables precede the container's own variables.
		message = initContainerField.ReplaceAllStringFunc(message, behind(1, "initContainers"))
		message = envField.ReplaceAllStringFunc(message, behind(len(agentEnv(agent, platform, containers[0].Env)), "containers[0].env"))
	}
	message = metadataField.ReplaceAllString(message, "spec.workload.template.metadata.$1")
	return podField.ReplaceAllString(message, templateField+".")
}

// EgressFields replaces the names of NetworkPolicy fields in a message with the names of
// the Agent fields, like TemplateFields.
func EgressFields(message string) string {
	return egressField.ReplaceAllString(message, "spec.networkPolicy.egress[")
}
