// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"strings"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

const (
	typeBYO         = "BYO"
	typeDeclarative = "Declarative"
	// port is the port at which kagent calls containers.
	port = 8080
	// maxPrompt bounds spec.workload.backend.chat.systemPrompt, in characters.
	maxPrompt = 65536
)

// conversionOf is the conversion of one Agent.
type conversionOf struct {
	*conversions
	*conversion.Source
	from *agent
	to   *a2av1alpha1.Agent
}

// Options configure a conversion.
type Options struct {
	// Namespace is the namespace of objects without metadata.namespace.
	Namespace string
	// ModelURL is the URL of a server with the chat completions API, for models of providers without this API. If it is "",
	// the import leaves out the Agents of these models.
	ModelURL string
}

// conversions is the state of an import: the result, and the objects to which Agents refer, by namespace/name.
type conversions struct {
	Options
	result     *conversion.Result
	models     map[string]*model
	servers    map[string]string
	configMaps map[string]map[string]string
}

// pod converts the fields of a kagent deployment that concern the whole pod and not one container.
func (k *conversionOf) pod(d *sharedDeployment, path []any) {
	field := func(names ...any) []any { return append(append([]any{}, path...), names...) }
	template := &k.to.Spec.Workload.Template
	template.Labels, template.Annotations = d.Labels, d.Annotations
	k.Converted(template.Labels, field("labels")...)
	k.Converted(template.Annotations, field("annotations")...)
	pod := &template.Spec
	pod.ImagePullSecrets, pod.Tolerations, pod.Affinity, pod.NodeSelector = d.ImagePullSecrets, d.Tolerations, d.Affinity, d.NodeSelector
	pod.TopologySpreadConstraints = d.TopologySpreadConstraints
	pod.SecurityContext = d.PodSecurityContext
	k.Converted(pod.SecurityContext, field("podSecurityContext")...)
	if d.ServiceAccountName != nil {
		pod.ServiceAccountName = *d.ServiceAccountName
	}
	k.Converted(pod, path...)
	k.Replicas(k.to.Spec.Workload, d.Replicas, field("replicas")...)
	k.LeftOut("the operator makes the ServiceAccount of the Agent without labels and annotations", "make a ServiceAccount, and name it in serviceAccountName of the template", field("serviceAccountConfig")...)
	k.LeftOut("the operator makes the Deployment of the Agent", "set annotations of the pods in the template", field("deploymentAnnotations")...)
}

// skills converts the skills of the card.
func (k *conversionOf) skills(skills []agentSkill, path ...any) {
	texts := make([]conversion.SkillTexts, 0, len(skills))
	for i := range skills {
		texts = append(texts, conversion.SkillTexts(skills[i]))
	}
	k.to.Spec.Skills = k.Skills(texts, path...)
}

// gatewayPath is the path of an Agent at the gateway of a sidecar.
func gatewayPath(namespace, name string) string {
	return "$A2A_GATEWAY_URL/agents/" + strings.Join([]string{namespace, name}, "/") + "/"
}
