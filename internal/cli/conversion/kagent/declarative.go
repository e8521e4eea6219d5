// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
)

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
	chat, reason := m.chat(k.ModelURL)
	if reason != "" {
		return reason, "run a gateway with the chat completions API in front of the model, and name its URL with --model-url", here("modelConfig")
	}
	k.Drop(here("modelConfig")...)
	k.to.Spec.Workload.Backend = a2av1alpha1.AgentBackend{Protocol: a2av1alpha1.BackendProtocolChatCompletions, Chat: chat}
	k.to.Spec.TrustBundle = m.trustBundle()
	k.prompt(d, chat)
	k.tools(d)
	k.runtime()
	if d.A2AConfig != nil {
		k.skills(d.A2AConfig.Skills, here("a2aConfig", "skills")...)
		k.Drop(here("a2aConfig")...)
	}
	if d.Deployment != nil {
		k.declarativePod(d.Deployment)
	}
	return "", "", nil
}

// prompt converts the system message to the system prompt of the chat backend.
func (k *conversionOf) prompt(d *declarativeAgent, chat *a2av1alpha1.AgentChat) {
	here := func(name string) []any { return []any{"spec", "declarative", name} }
	chat.SystemPrompt = d.SystemMessage
	if from := d.SystemMessageFrom; from != nil && from.Type == "ConfigMap" {
		if text := k.configMaps[k.from.Namespace+"/"+from.Name][from.Key]; text != "" {
			chat.SystemPrompt = text
			k.Check("the import copied the text of the ConfigMap, and an edit of the ConfigMap has no effect", "edit spec.workload.backend.chat.systemPrompt", here("systemMessageFrom")...)
			k.Drop(here("systemMessageFrom")...)
		}
	}
	k.LeftOut("the manifests do not have the text", "copy it into spec.workload.backend.chat.systemPrompt", here("systemMessageFrom")...)
	k.LeftOut("the sidecar sends the prompt as it is, and expands no template", "replace the directives in spec.workload.backend.chat.systemPrompt by their texts", here("promptTemplate")...)
	if clipped := conversion.Clip(chat.SystemPrompt, maxPrompt); clipped != chat.SystemPrompt {
		chat.SystemPrompt = clipped
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
			k.LeftOut("a model does not call agents by itself", "write the agent with a framework, as in examples/, and let it call "+
				gatewayPath(cmp.Or(tool.Agent.Namespace, k.from.Namespace), tool.Agent.Name), here()...)
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
		k.LeftOut(because, conversion.NothingToDo, append(append([]any{}, path...), name)...)
	}
	k.pod(&d.sharedDeployment, path)
	template := &k.to.Spec.Workload.Template
	if template.Spec.Containers == nil {
		template.Spec.Containers = []corev1.Container{} // the schema requires the field
	}
}
