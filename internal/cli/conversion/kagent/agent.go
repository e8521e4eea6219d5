// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

// agent converts an Agent of kagent.
func (c *conversions) agent(from *agent, source *conversion.Source) {
	k := c.begin(from, source)
	if from.APIVersion == nextVersion {
		k.port = 80 // the port of kagent 1.0
	}
	if because, do, path := k.workload(); because != "" {
		k.refuse(because, do, path)
		return
	}
	k.card()
	k.surroundings()
	k.finish()
}

// begin returns the conversion of an object to one Agent.
func (c *conversions) begin(from *agent, source *conversion.Source) *conversionOf {
	k := &conversionOf{conversions: c, Source: source, from: from, to: conversion.NewAgent(from.Namespace, conversion.AgentName(from.Name)), port: 8080}
	k.to.Spec.Workload = &a2av1alpha1.AgentWorkload{}
	return k
}

// refuse reports why the import creates no Agent.
func (k *conversionOf) refuse(because, do string, path []any) {
	k.Check(because, do, path...)
	k.LeftOut("the import creates no Agent from this object", "see the note above", "spec")
}

// finish completes an Agent, and adds it to the result.
func (k *conversionOf) finish() {
	from := k.from
	if w := k.to.Spec.Workload; k.to.Spec.Model != nil && w.Template.Spec.Containers == nil {
		if reflect.DeepEqual(*w, a2av1alpha1.AgentWorkload{}) {
			k.to.Spec.Workload = nil
		} else if !reflect.DeepEqual(w.Template, a2av1alpha1.AgentWorkload{}.Template) {
			w.Template.Spec.Containers = []corev1.Container{} // the schema requires the field
		}
	}
	k.Metadata()
	if k.to.Name != from.Name {
		k.Check("the name of an Agent is a label of at most 52 characters, and the import changed it to "+k.to.Name, "let callers use this name", "metadata", "name")
	} else {
		k.Check("the Deployment, the Service and the ServiceAccount of kagent have the names that the operator uses", "delete the object of kagent before you apply this Agent: kubectl delete "+strings.ToLower(from.Kind)+"s.kagent.dev "+from.Name, "metadata", "name")
	}
	k.Close()
	k.result.Agents = append(k.result.Agents, k.to)
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
	k.skills(from.Skills)
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
	k.Check("an image with an SDK of kagent stores its sessions, tasks and checkpoints at KAGENT_URL. With sessionAPI Kagent, the sidecar serves these paths, and the operator sets KAGENT_URL, KAGENT_NAME and KAGENT_NAMESPACE",
		"remove spec.workload.backend.a2a from the Agent for an image without an SDK of kagent", field("image")...)
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
	k.to.Spec.Workload.Backend = a2av1alpha1.AgentBackend{
		Protocol: a2av1alpha1.BackendProtocolA2A, Port: k.port, A2A: &a2av1alpha1.AgentA2A{SessionAPI: a2av1alpha1.SessionAPIKagent},
	}
}

// defaultModel is the name of the ModelConfig of Agents that name no ModelConfig.
const defaultModel = "default-model-config"

// modelOf returns the model of a ModelConfig, or the reason why there is none and an advice. It sets the trust bundle of the Agent.
func (k *conversionOf) modelOf(name string) (model *a2av1alpha1.AgentModel, because, do string) {
	m := k.models[k.from.Namespace+"/"+name]
	if m == nil {
		return nil, "the manifests have no ModelConfig " + name + " in namespace " + k.from.Namespace,
			"add the output of kubectl get modelconfigs.kagent.dev " + name + " -n " + k.from.Namespace + " -o yaml"
	}
	model, because = m.agentModel(k.ModelURL)
	if because != "" {
		return nil, because, "run a gateway with the chat completions API in front of the model, and name its URL with --model-url"
	}
	k.to.Spec.Model = model
	k.to.Spec.TrustBundle = m.trustBundle()
	return model, "", ""
}

// declarative converts an Agent that consists of a model, a prompt and tools.
func (k *conversionOf) declarative(d *declarativeAgent) (because, do string, path []any) {
	here := func(names ...any) []any { return append([]any{"spec", "declarative"}, names...) }
	model, because, do := k.modelOf(cmp.Or(d.ModelConfig, defaultModel))
	if because != "" {
		return because, do, here("modelConfig")
	}
	k.Drop(here("modelConfig")...)
	tools := k.tools(d, model)
	k.prompt(&promptFields{
		text: d.SystemMessage, from: d.SystemMessageFrom, template: d.PromptTemplate,
		textPath: here("systemMessage"), fromPath: here("systemMessageFrom"), tmplPath: here("promptTemplate"),
	}, model, tools)
	k.runtime(d, model)
	if d.A2AConfig != nil {
		k.to.Spec.Skills = k.Skills(d.A2AConfig.Skills, here("a2aConfig", "skills")...)
		k.Drop(here("a2aConfig")...)
	}
	if d.Deployment != nil {
		k.declarativePod(d.Deployment)
	}
	return "", "", nil
}

// minContext is the least spec.model.context.maxTokens.
const minContext = 1000

// runtime converts the size of the context, and reports the other settings of kagent's own agent runtime.
func (k *conversionOf) runtime(d *declarativeAgent, model *a2av1alpha1.AgentModel) {
	if c := d.Context; c != nil && c.Compaction != nil && c.Compaction.TokenThreshold != nil && *c.Compaction.TokenThreshold >= minContext && *c.Compaction.TokenThreshold <= 10*1000*1000 {
		model.Context = &a2av1alpha1.ModelContext{MaxTokens: int32(*c.Compaction.TokenThreshold)}
		k.Drop("spec", "declarative", "context", "compaction", "tokenThreshold")
	}
	for _, each := range []struct{ name, because, do string }{
		{"runtime", "no program of kagent runs the agent: the sidecar calls the model and the tools", conversion.NothingToDo},
		{"executeCodeBlocks", "the sidecar executes no code", "write the agent with a framework that has a sandbox"},
		{"memory", "the sidecar keeps tasks and contexts, and no memory across contexts", "give the model an MCP server with a memory, in spec.model.tools"},
		{"shareTools", "the sidecar has no links to sessions", conversion.NothingToDo},
		{"context", "the sidecar replaces the oldest results and messages above a number of tokens, and has no other settings for it", "set spec.model.context.maxTokens"},
	} {
		k.LeftOut(each.because, each.do, "spec", "declarative", each.name)
	}
	k.Drop("spec", "declarative", "stream") // the sidecar streams to each client that requests a stream
}

// declarativePod converts the settings of the pod, in which only the sidecar runs.
func (k *conversionOf) declarativePod(d *declarativeDeployment) {
	path := []any{"spec", "declarative", "deployment"}
	const because = "no container of kagent runs in the pod"
	for _, name := range []string{"imageRegistry", "imagePullPolicy", "env", "envFrom", "resources", "securityContext", "volumes", "volumeMounts", "extraContainers"} {
		k.LeftOut(because, conversion.NothingToDo, append(slices.Clone(path), name)...)
	}
	k.pod(&d.sharedDeployment, path)
}

const (
	typeBYO         = "BYO"
	typeDeclarative = "Declarative"
	// maxPrompt bounds spec.model.instructions, in characters.
	maxPrompt = 65536
)

// conversionOf is the conversion of one Agent.
type conversionOf struct {
	*conversions
	*conversion.Source
	from *agent
	to   *a2av1alpha1.Agent
	// port is the port at which kagent calls the container.
	port int32
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
	servers    map[string]*server
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
