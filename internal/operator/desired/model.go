// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// configModel returns the configuration of an agent without code.
func configModel(agent *a2av1alpha1.Agent, platform Platform) (m sidecarconfig.Model, err error) {
	spec := agent.Spec.Model
	if spec == nil {
		return m, nil
	}
	m.Name = spec.Name
	if platform.ClusterDomain != "cluster.local" { // the default of the member, which earlier sidecars do not know
		m.ClusterDomain = platform.ClusterDomain
	}
	m.Instructions = spec.Instructions
	m.Headers = configHeaders(spec.Headers)
	m.HidesSteps = spec.Steps == a2av1alpha1.StepsHide
	for _, host := range spec.FileHosts {
		m.FileHosts = append(m.FileHosts, string(host))
	}
	for i := range spec.Tools {
		switch tool := &spec.Tools[i]; {
		case tool.MCP != nil:
			server, err := configMCP(tool.MCP, fmt.Sprintf("spec.model.tools[%d].mcp", i))
			if err != nil {
				return m, err
			}
			m.MCP = append(m.MCP, server)
		case tool.Agent.Discover:
			m.Discover = &sidecarconfig.Discover{NeedsApproval: tool.Agent.Approval}
		default:
			m.Agents = append(m.Agents, sidecarconfig.AgentTool{
				Namespace: cmp.Or(tool.Agent.Namespace, agent.Namespace), Name: tool.Agent.Name, NeedsApproval: tool.Agent.Approval,
			})
		}
	}
	if approval := spec.Approval; approval != nil && approval.Timeout != "" {
		if m.Approval, err = parseDuration("spec.model.approval.timeout", approval.Timeout); err != nil {
			return m, err
		}
	}
	if limits := spec.Limits; limits != nil {
		m.Limits = sidecarconfig.ModelLimits{
			Steps: int(limits.Steps), ParallelCalls: int(limits.ParallelCalls), ResultBytes: int(limits.ResultBytes), TaskTokens: limits.TokensPerTask,
		}
	}
	if spec.Context != nil {
		m.Limits.ContextTokens = int(spec.Context.MaxTokens)
	}
	if spec.Output != nil && spec.Output.Schema != nil {
		m.Schema = spec.Output.Schema.Raw
	}
	for i := range spec.Fallbacks {
		fallback := &spec.Fallbacks[i]
		server := sidecarconfig.ModelServer{URL: fallback.URL, Name: fallback.Name, Headers: configHeaders(fallback.Headers)}
		if key := fallback.APIKeySecretRef; key != nil {
			server.KeyFile = secretFile(key.Name, cmp.Or(key.Key, modelKeyFile))
		}
		m.Fallbacks = append(m.Fallbacks, server)
	}
	return m, nil
}

func configHeaders(headers []a2av1alpha1.ModelHeader) (all []sidecarconfig.Header) {
	for _, h := range headers {
		all = append(all, sidecarconfig.Header{Name: h.Name, Value: h.Value})
	}
	return all
}

// configMCP returns the configuration of an MCP server, which field names.
func configMCP(mcp *a2av1alpha1.MCPTool, field string) (sidecarconfig.MCPServer, error) {
	server := sidecarconfig.MCPServer{
		URL: mcp.URL, Allow: patterns(mcp.Allow), Deny: patterns(mcp.Deny), Approval: patterns(mcp.Approval), ApproveWrites: mcp.ApproveWrites, Required: mcp.Required,
		ForwardCaller: mcp.ForwardCaller,
	}
	if mcp.URL == "" {
		server.URL = "http://127.0.0.1:" + strconv.Itoa(int(mcp.Port)) + cmp.Or(mcp.Path, "/mcp")
	}
	for _, h := range mcp.HeadersFrom {
		server.Headers = append(server.Headers, sidecarconfig.HeaderFile{Name: h.Name, File: secretFile(h.SecretRef.Name, h.SecretRef.Key)})
	}
	if mcp.Timeout == "" {
		return server, nil
	}
	timeout, err := parseDuration(field+".timeout", mcp.Timeout)
	server.Timeout = timeout
	return server, err
}

// patterns returns patterns as a list that is not nil: the sidecar refuses a configuration that lacks one.
func patterns(all []a2av1alpha1.ToolPattern) []string {
	texts := make([]string, 0, len(all))
	for _, pattern := range all {
		texts = append(texts, string(pattern))
	}
	return texts
}

// secretFile returns the file of a key of a Secret, below modelSecretsDir.
func secretFile(secret, key string) string { return secret + "/" + key }

// modelCredentials returns the credentials and files of an agent without code: the API key of the model server, the instructions, and the
// secrets of further servers.
func modelCredentials(agent *a2av1alpha1.Agent) (all []credential) {
	model := agent.Spec.Model
	if model == nil {
		return nil
	}
	if model.APIKeySecretRef != nil {
		all = append(all, modelKey(model.APIKeySecretRef))
	}
	if from := model.InstructionsFrom; from != nil {
		volume := corev1.Volume{Name: a2av1alpha1.VolumeInstructions}
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: from.Name}, Optional: new(true),
			Items: []corev1.KeyToPath{{Key: from.Key, Path: instructionsFile}},
		}
		all = append(all, credential{volume, instructionsDir, []string{"--instructions-file", instructionsDir + "/" + instructionsFile}})
	}
	if sources := modelSecrets(model); len(sources) > 0 {
		volume := corev1.Volume{Name: a2av1alpha1.VolumeModelSecrets}
		volume.Projected = &corev1.ProjectedVolumeSource{Sources: sources}
		all = append(all, credential{volume, modelSecretsDir, []string{"--model-secrets", modelSecretsDir}})
	}
	return all
}

// modelSecrets returns the keys of Secrets that the fallbacks and the MCP servers name, in the order of their names.
func modelSecrets(model *a2av1alpha1.AgentModel) (sources []corev1.VolumeProjection) {
	keys := map[string]map[string]bool{}
	add := func(secret, key string) {
		if keys[secret] == nil {
			keys[secret] = map[string]bool{}
		}
		keys[secret][key] = true
	}
	for i := range model.Fallbacks {
		if key := model.Fallbacks[i].APIKeySecretRef; key != nil {
			add(key.Name, cmp.Or(key.Key, modelKeyFile))
		}
	}
	for i := range model.Tools {
		if mcp := model.Tools[i].MCP; mcp != nil {
			for _, h := range mcp.HeadersFrom {
				add(h.SecretRef.Name, h.SecretRef.Key)
			}
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(keys)) {
		source := &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Optional: new(true)}
		for _, key := range slices.Sorted(maps.Keys(keys[secret])) {
			source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: secretFile(secret, key)})
		}
		sources = append(sources, corev1.VolumeProjection{Secret: source})
	}
	return sources
}
