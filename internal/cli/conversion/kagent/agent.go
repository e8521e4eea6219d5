// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// agent converts an Agent of kagent.
func (c *conversions) agent(from *agent, source *conversion.Source) {
	k := &conversionOf{conversions: c, Source: source, from: from, to: conversion.NewAgent(from.Namespace, conversion.AgentName(from.Name))}
	k.to.Spec.Workload = &a2av1alpha1.AgentWorkload{}
	if because, do, path := k.workload(); because != "" {
		k.Check(because, do, path...)
		k.LeftOut("the import creates no Agent from this object", "see the note above", "spec")
		return
	}
	k.card()
	k.Metadata()
	if k.to.Name != from.Name {
		k.Check("the name of an Agent is a label of at most 52 characters, and the import changed it to "+k.to.Name, "let callers use this name", "metadata", "name")
	} else {
		k.Check("the Deployment, the Service and the ServiceAccount of kagent have the names that the operator uses", "delete the object of kagent before you apply this Agent: kubectl delete "+strings.ToLower(from.Kind)+"s.kagent.dev "+from.Name, "metadata", "name")
	}
	k.surroundings()
	k.Close()
	c.result.Agents = append(c.result.Agents, k.to)
}

// workload converts the part of the spec that spec.type selects. If it cannot, it returns the reason, the advice and the
// path of the field.
func (k *conversionOf) workload() (because, do string, path []any) {
	spec := &k.from.Spec
	switch {
	case spec.Type == typeBYO && spec.BYO != nil && spec.BYO.Deployment != nil && spec.BYO.Deployment.Image != "":
		k.LeftOut("spec.type is BYO", conversion.NothingToDo, "spec", "declarative")
		k.byo(spec.BYO.Deployment)
	case spec.Type == typeBYO:
		return "the container has no image", "set it", []any{"spec", "byo", "deployment", "image"}
	case (spec.Type == typeDeclarative || spec.Type == "") && spec.Declarative != nil:
		k.LeftOut("spec.type is Declarative", conversion.NothingToDo, "spec", "byo")
		return k.declarative(spec.Declarative)
	default:
		return "it must be BYO or Declarative, with the settings in the field of that name", "correct it", []any{"spec", "type"}
	}
	return "", "", nil
}

// card converts the texts of the card.
func (k *conversionOf) card() {
	from := &k.from.Spec
	to := &k.to.Spec
	k.Drop("spec", "type")
	to.Description = k.Description(from.Description, k.from.Name+" of kagent.", "spec", "description")
	if conversion.IsWebURL(from.IconURL) {
		to.IconURL = from.IconURL
		k.Drop("spec", "iconUrl")
	}
	if conversion.IsWebURL(from.DocumentationURL) {
		to.DocumentationURL = from.DocumentationURL
		k.Drop("spec", "documentationUrl")
	}
	if p := from.Provider; p != nil && p.Organization != "" && conversion.IsWebURL(p.URL) {
		to.Provider = &a2av1alpha1.AgentProvider{Organization: conversion.Clip(p.Organization, 256), URL: p.URL}
		k.Converted(to.Provider, "spec", "provider")
	}
	to.Version = conversion.Clip(from.Version, 64)
	k.Converted(to.Version, "spec", "version")
	const form = "an Agent has absolute http and https URLs and texts within the limits of " +
		"https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/api-reference.md"
	for _, name := range []string{"iconUrl", "documentationUrl", "provider", "version"} {
		k.LeftOut(form, "correct it, and set it in the Agent", "spec", name)
	}
}

// surroundings reports the fields outside of spec.byo and spec.declarative that an Agent of the operator does not have.
func (k *conversionOf) surroundings() {
	from := &k.from.Spec
	k.LeftOut("the operator loads no files into the pod", "copy the skills into the image, or mount a volume with them", "spec", "skills")
	k.LeftOut("a NetworkPolicy filters by address, not by domain", "set spec.networkPolicy.egress, or let an egress gateway check domains", "spec", "sandbox")
	k.LeftOut("the operator runs agents in Deployments only", "set runtimeClassName in the template for a sandboxed container", "spec", "platform")
	k.LeftOut("the operator runs agents in Deployments only", "set runtimeClassName in the template for a sandboxed container", "spec", "substrate")
	if a := from.AllowedNamespaces; a == nil || (a.From == "" || a.From == "Same") && a.Selector == nil {
		k.Drop("spec", "allowedNamespaces") // kagent and the operator have the same default
	}
	k.LeftOut("an Agent admits the callers of its own namespace, and others by rules", "set spec.access.authorization", "spec", "allowedNamespaces")
}

// byo converts a container that speaks A2A.
func (k *conversionOf) byo(d *byoDeployment) {
	path := []any{"spec", "byo", "deployment"}
	field := func(names ...any) []any { return slices.Concat(path, names) }
	c := corev1.Container{
		Name: "agent", Image: d.Image, Args: d.Args, Env: d.Env, EnvFrom: d.EnvFrom, ImagePullPolicy: d.ImagePullPolicy,
		VolumeMounts: d.VolumeMounts, SecurityContext: d.SecurityContext,
	}
	if d.Cmd != nil && *d.Cmd != "" {
		c.Command = []string{*d.Cmd}
	}
	k.Drop(field("cmd")...)
	if d.WorkingDir != nil {
		c.WorkingDir = *d.WorkingDir
	}
	if d.Resources != nil {
		c.Resources = *d.Resources
	} else {
		k.Check("kagent requests 100m CPU and 384Mi memory, with limits of 2 CPUs and 1Gi, if the manifest has no resources", "set resources in the Agent", field("resources")...)
	}
	k.Check("kagent sets KAGENT_URL, KAGENT_NAME and KAGENT_NAMESPACE. An image with the SDK of kagent does not start without them, and keeps its tasks and sessions at KAGENT_URL (/api/tasks, /api/sessions), which the sidecar does not serve",
		"build the image with the A2A server of its framework and without the SDK of kagent, or keep the controller of kagent and set the three variables", field("image")...)
	k.Converted(c, path...)
	pod := &k.to.Spec.Workload.Template.Spec
	pod.Containers = append([]corev1.Container{c}, d.ExtraContainers...)
	for i := range d.ExtraContainers {
		k.Container(&pod.Containers[i+1], field("extraContainers", i)...)
	}
	k.Converted(pod.Containers[1:], field("extraContainers")...)
	k.Volumes(d.Volumes, field("volumes")...)
	pod.Volumes = d.Volumes
	k.Converted(d.Volumes, field("volumes")...)
	k.pod(&d.sharedDeployment, path)
	k.to.Spec.Workload.Backend = a2av1alpha1.AgentBackend{Protocol: a2av1alpha1.BackendProtocolA2A, Port: port}
}

// defaultModel is the name of the ModelConfig of Agents that name no ModelConfig.
const defaultModel = "default-model-config"

// declarative converts an Agent that consists of a model and a prompt to an Agent whose sidecar calls the model.
func (k *conversionOf) declarative(d *declarativeAgent) (because, do string, path []any) {
	here := func(names ...any) []any { return append([]any{"spec", "declarative"}, names...) }
	name := cmp.Or(d.ModelConfig, defaultModel)
	m := k.models[k.from.Namespace+"/"+name]
	if m == nil {
		return "the manifests have no ModelConfig " + name + " in namespace " + k.from.Namespace,
			"add the output of kubectl get modelconfigs.kagent.dev " + name + " -n " + k.from.Namespace + " -o yaml", here("modelConfig")
	}
	model, reason := m.agentModel(k.ModelURL)
	if reason != "" {
		return reason, "run a gateway with the chat completions API in front of the model, and name its URL with --model-url", here("modelConfig")
	}
	k.Drop(here("modelConfig")...)
	k.to.Spec.Model = model
	k.to.Spec.TrustBundle = m.trustBundle()
	k.prompt(d, model)
	k.tools(d)
	k.runtime()
	if d.A2AConfig != nil {
		k.to.Spec.Skills = k.Skills(d.A2AConfig.Skills, here("a2aConfig", "skills")...)
		k.Drop(here("a2aConfig")...)
	}
	if d.Deployment != nil {
		k.declarativePod(d.Deployment)
	}
	return "", "", nil
}

// prompt converts the system message to the instructions of the model.
func (k *conversionOf) prompt(d *declarativeAgent, model *a2av1alpha1.AgentModel) {
	here := func(name string) []any { return []any{"spec", "declarative", name} }
	model.Instructions = d.SystemMessage
	if from := d.SystemMessageFrom; from != nil && from.Type == "ConfigMap" {
		if text := k.configMaps[k.from.Namespace+"/"+from.Name][from.Key]; text != "" {
			model.Instructions = text
			k.Check("the import copied the text of the ConfigMap, and an edit of the ConfigMap has no effect", "edit spec.model.instructions", here("systemMessageFrom")...)
			k.Drop(here("systemMessageFrom")...)
		}
	}
	k.LeftOut("the manifests do not have the text", "copy it into spec.model.instructions", here("systemMessageFrom")...)
	k.LeftOut("the sidecar sends the prompt as it is, and expands no template", "replace the directives in spec.model.instructions by their texts", here("promptTemplate")...)
	if clipped := conversion.Clip(model.Instructions, maxPrompt); clipped != model.Instructions {
		model.Instructions = clipped
		k.Changed("a prompt has at most 65536 characters", "shorten it", here("systemMessage")...)
	}
	k.Drop(here("systemMessage")...)
}

// tools reports the tools of the Agent, because the sidecar does not run tools.
func (k *conversionOf) tools(d *declarativeAgent) {
	for i := range d.Tools {
		tool := &d.Tools[i]
		here := func(names ...any) []any { return append([]any{"spec", "declarative", "tools", i}, names...) }
		k.LeftOut("the sidecar calls no tools", "let the program end the turn with input-required, and go on when the client has approved", here("mcpServer", "requireApproval")...)
		k.LeftOut("the sidecar calls no tools", "let the program send the headers: it gets the caller in A2A-Principal", here("mcpServer", "allowedHeaders")...)
		k.LeftOut("the sidecar calls no tools", "let the program send the headers, from variables or files", here("headersFrom")...)
		switch {
		case tool.Agent != nil:
			k.LeftOut("a model does not call agents by itself", "write the agent with a framework, as in examples/, and let it call $A2A_GATEWAY_URL/agents/"+
				cmp.Or(tool.Agent.Namespace, k.from.Namespace)+"/"+tool.Agent.Name+"/", here()...)
		case tool.McpServer != nil:
			server := tool.McpServer
			do := "write the agent with a framework, as in examples/, and connect it to the MCP server " + server.Name
			if url := k.servers[cmp.Or(server.Namespace, k.from.Namespace)+"/"+server.Name]; url != "" {
				do += " at " + url
			}
			k.LeftOut("the sidecar calls no tools: a tool call of the model is data for the client", do, here()...)
		default:
			k.LeftOut("the sidecar calls no tools", conversion.NothingToDo, here()...)
		}
	}
	k.LeftOut("the sidecar calls no tools", conversion.NothingToDo, "spec", "declarative", "tools")
}

// runtime reports the settings of kagent's own agent runtime.
func (k *conversionOf) runtime() {
	for _, each := range []struct{ name, because, do string }{
		{"runtime", "no program of kagent runs the agent: the sidecar calls the model", conversion.NothingToDo},
		{"executeCodeBlocks", "the sidecar executes no code", "write the agent with a framework that has a sandbox"},
		{"memory", "the sidecar keeps tasks and contexts, and no memory across contexts", "write the agent with a framework that has a memory"},
		{"shareTools", "the sidecar has no links to sessions", conversion.NothingToDo},
		{"context", "the sidecar sends the newest 64 messages or 256 KiB of a context, and summarizes none", "write the agent with a framework that does"},
	} {
		k.LeftOut(each.because, each.do, "spec", "declarative", each.name)
	}
	k.Drop("spec", "declarative", "stream") // the sidecar streams to each client that requests a stream
}

// declarativePod converts the settings of the pod, in which only the sidecar runs.
func (k *conversionOf) declarativePod(d *declarativeDeployment) {
	path := []any{"spec", "declarative", "deployment"}
	const because = "the sidecar is the only container of the pod"
	for _, name := range []string{"imageRegistry", "imagePullPolicy", "env", "envFrom", "resources", "securityContext", "volumes", "volumeMounts", "extraContainers"} {
		k.LeftOut(because, conversion.NothingToDo, append(slices.Clone(path), name)...)
	}
	k.pod(&d.sharedDeployment, path)
	template := &k.to.Spec.Workload.Template
	if template.Spec.Containers == nil {
		template.Spec.Containers = []corev1.Container{} // the schema requires the field
	}
}

const (
	typeBYO         = "BYO"
	typeDeclarative = "Declarative"
	// port is the port at which kagent calls containers.
	port = 8080
	// maxPrompt bounds spec.model.instructions, in characters.
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
	field := func(names ...any) []any { return slices.Concat(path, names) }
	template := &k.to.Spec.Workload.Template
	template.Labels = d.Labels
	template.Annotations = d.Annotations
	k.Converted(template.Labels, field("labels")...)
	k.Converted(template.Annotations, field("annotations")...)
	pod := &template.Spec
	pod.ImagePullSecrets = d.ImagePullSecrets
	pod.Tolerations = d.Tolerations
	pod.Affinity = d.Affinity
	pod.NodeSelector = d.NodeSelector
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
