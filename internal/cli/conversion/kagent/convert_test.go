// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kagent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/cli/conversion"
	"github.com/a2a-operator/a2a-operator/test/conversiontest"
)

// serverOwned are the fields that users do not set.
var serverOwned = []string{
	"apiVersion", "kind", "status", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
	"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.managedFields", "metadata.selfLink",
}

// full returns an Agent of a type with every field set.
func full(kind string, filler *conversiontest.Filler) *agent {
	a := &agent{}
	filler.Fill(a)
	a.APIVersion, a.Kind, a.Name, a.Namespace, a.Status, a.Spec.Type = version, "Agent", "helper", "team", nil, kind
	a.Spec.IconURL, a.Spec.DocumentationURL, a.Spec.Provider.URL = "https://example.com/icon", "https://example.com/docs", "https://example.com/"
	a.Spec.Declarative.ModelConfig = "gpt"
	tool := &a.Spec.Declarative.Tools[0]
	tool.Type = "McpServer"
	tool.McpServer.Kind = kindRemoteServer
	tool.McpServer.Name = "tools"
	tool.McpServer.Namespace = "team"
	skill := &a.Spec.Declarative.A2AConfig.Skills[0]
	skill.InputModes, skill.OutputModes = []string{"text/x-in"}, []string{"text/x-out"}
	return a
}

// fullModel returns a ModelConfig of a provider with every field set.
func fullModel(provider string, filler *conversiontest.Filler) *modelConfig {
	m := &modelConfig{}
	filler.Fill(m)
	m.APIVersion, m.Kind, m.Name, m.Namespace, m.Status, m.Spec.Provider = version, "ModelConfig", "gpt", "team", nil, provider
	m.Spec.OpenAI.BaseURL, m.Spec.Anthropic.BaseURL, m.Spec.Ollama.Host = "https://models.example.com/v1", "https://claude.example.com", "ollama.models:11434"
	m.Spec.DefaultHeaders["Cookie"] = "secret"
	return m
}

// fullServer returns a RemoteMCPServer with every field set.
func fullServer(filler *conversiontest.Filler) *remoteServer {
	s := &remoteServer{}
	filler.Fill(s)
	s.APIVersion = version
	s.Kind = kindRemoteServer
	s.Name = "tools"
	s.Namespace = "team"
	s.Status = nil
	s.Spec.URL = "https://tools.example.com/mcp"
	s.Spec.Protocol = ""
	s.Spec.Timeout.Duration = 45 * time.Second
	s.Spec.HeadersFrom[0].Value = "" // a header has a value or a reference
	s.Spec.HeadersFrom[0].ValueFrom.Type = "Secret"
	return s
}

// convertObjects converts objects as the documents of one file.
func convertObjects(t *testing.T, o Options, objects ...any) *conversion.Result {
	t.Helper()
	var text []byte
	for _, object := range objects {
		document, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text = fmt.Appendf(text, "---\n%s\n", document)
	}
	result, err := Convert(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestEveryFieldOfKagentIsConvertedOrReported(t *testing.T) {
	for _, kind := range []string{typeBYO, typeDeclarative} {
		for _, provider := range []string{providerOpenAI, providerOllama, providerAnthropic, providerGemini, "Bedrock"} {
			t.Run(kind+" "+provider, func(t *testing.T) {
				filler := &conversiontest.Filler{}
				from, model := full(kind, filler), fullModel(provider, filler)
				server := fullServer(filler)
				result := convertObjects(t, Options{ModelURL: "https://gateway.example.com/v1"}, from, model, server)
				if len(result.Agents) != 1 {
					t.Fatalf("%d Agents", len(result.Agents))
				}
				conversiontest.Check(t, "Agent team/helper", from, result, append([]string{
					// The type selects the backend, the next checks cover the model and the server, and the sidecar always streams.
					"spec.type", "spec.declarative.modelConfig", "spec.declarative.stream", "spec.declarative.tools[0].type",
					"spec.declarative.tools[0].mcpServer.kind", "spec.declarative.tools[0].mcpServer.apiGroup", "spec.declarative.tools[0].mcpServer.name", "spec.declarative.tools[0].mcpServer.namespace",
					"spec.declarative.systemMessage", // systemMessageFrom names a ConfigMap or a Secret, as the next test shows
				}, serverOwned...)...)
				ignoredOfServer := append([]string{"spec.description", "spec.timeout", "spec.terminateOnClose", "spec.headersFrom[0].valueFrom.type"}, serverOwned...)
				conversiontest.Check(t, "RemoteMCPServer team/tools", server, result, ignoredOfServer...)
				ignored := append([]string{"spec.provider"}, serverOwned...)
				if kind == typeDeclarative { // URLs of providers other than the provider of the ModelConfig have no effect
					ignored = append(ignored, "spec.openAI.baseUrl", "spec.anthropic.baseUrl", "spec.ollama.host")
				}
				conversiontest.Check(t, "ModelConfig team/gpt", model, result, ignored...)
			})
		}
	}
}

func TestAModelWithoutAnAPINeedsAnotherURL(t *testing.T) {
	filler := &conversiontest.Filler{}
	from, model := full(typeDeclarative, filler), fullModel("Bedrock", filler)
	byo := full(typeBYO, filler)
	byo.Name = "other"
	result := convertObjects(t, Options{}, from, model, byo)
	if len(result.Agents) != 1 || result.Agents[0].Name != "other" {
		t.Fatalf("%d Agents", len(result.Agents))
	}
	conversiontest.Check(t, "Agent team/helper", from, result, append([]string{"metadata"}, serverOwned...)...) // no Agent results, so its metadata is not reported
	conversiontest.Check(t, "ModelConfig team/gpt", model, result, serverOwned...)
	if !strings.Contains(lines(result), "--model-url") {
		t.Error(lines(result))
	}
}

func lines(result *conversion.Result) string {
	var out strings.Builder
	for _, note := range result.Report {
		out.WriteString(note.String() + "\n")
	}
	return out.String()
}

const smallAgent = `apiVersion: kagent.dev/v1alpha2
kind: Agent
metadata: {name: a}
spec: {type: BYO, description: d, byo: {deployment: {image: i}}}
`

func TestHostileManifestsAreRejectedWithALine(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "no Agent of kagent"},
		"comments only":         {"# a\n---\n# b\n", "no Agent of kagent"},
		"64 MiB":                {strings.Repeat("x", 64<<20), "more than 8 MiB"},
		"aliases that multiply": {bomb, "document 1"},
		"deep nesting":          {strings.Repeat("[", 100000), "document 1"},
		"no object":             {"- a\n- b\n", "document 1 is not a Kubernetes object"},
		"a text":                {"hello", "document 1 is not a Kubernetes object"},
		"no YAML":               {smallAgent + "---\n\t{", "document 2"},
		"a key twice":           {smallAgent + "kind: Agent\n", `key "kind" already set`},
		"an object twice":       {smallAgent + "---\n" + smallAgent, "Agent default/a twice"},
		"no name":               {"apiVersion: v1\nkind: Pod\n", "metadata.name"},
		"a wrong type":          {strings.Replace(smallAgent, "image: i", "image: [1]", 1), "Agent default/a is invalid"},
		"other kinds":           {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n", "no Agent of kagent"},
		"an older version":      {strings.Replace(smallAgent, "v1alpha2", "v1alpha1", 1), "no Agent of kagent"},
		"many objects":          {strings.Repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n", 2001), "more than 2000 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Convert([]byte(c.text), Options{Namespace: "default"}); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
				t.Errorf("%.600v", err)
			}
		})
	}
}

func TestALongDocumentIsRejected(t *testing.T) {
	text := strings.Replace(smallAgent, "description: d", "description: "+strings.Repeat("d", 5<<20), 1)
	if _, err := Convert([]byte(text), Options{}); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("%.300v", err)
	}
}

// A model has at most 32 tools and each server once, whatever the manifests list.
func TestToolsAreBounded(t *testing.T) {
	var tools strings.Builder
	for i := range 40 {
		fmt.Fprintf(&tools, "\n    - {type: Agent, agent: {name: a%d}}\n    - {type: Agent, agent: {name: a%d}}", i, i)
	}
	names := "x,"
	for i := range 100 {
		names += fmt.Sprintf("n%d,", i)
	}
	manifests := `apiVersion: kagent.dev/v1alpha2
kind: Agent
metadata: {name: a, namespace: team}
spec:
  type: Declarative
  description: d
  declarative:
    modelConfig: gpt
    systemMessage: '{{range $i := 1000000000000}}{{end}}'
    promptTemplate: {dataSources: [{name: x}]}
    tools:
    - {type: McpServer, mcpServer: {name: s, toolNames: [` + names + `"bad name"]}}
    - {type: McpServer, mcpServer: {name: s}}` + tools.String() + `
---
apiVersion: kagent.dev/v1alpha2
kind: RemoteMCPServer
metadata: {name: s, namespace: team}
spec: {description: d, url: "http://s.team/mcp"}
---
apiVersion: kagent.dev/v1alpha2
kind: ModelConfig
metadata: {name: gpt, namespace: team}
spec: {provider: OpenAI, model: m}
`
	result, err := Convert([]byte(manifests), Options{})
	if err != nil || len(result.Agents) != 1 {
		t.Fatal(err)
	}
	model := result.Agents[0].Spec.Model
	if len(model.Tools) != maxModelTools || len(model.Tools[0].MCP.Allow) != 0 {
		t.Errorf("%d tools, the first allows %v", len(model.Tools), model.Tools[0].MCP.Allow)
	}
	for _, want := range []string{"at most 32 tools", "loops over other lists", "a server has at most 64", "toolNames[101]"} {
		if !strings.Contains(lines(result), want) {
			t.Errorf("no %q in\n%s", want, lines(result))
		}
	}
}
