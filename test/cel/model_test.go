// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// modelServer returns the spec of an Agent whose model is at a URL, with further members of model, and with those of the workload.
func modelServer(model, workload string) string {
	spec := "{description: x, model: {url: 'http://vllm.models.svc:8000/v1'" + model + "}"
	if workload != "" {
		spec += ", workload: {" + workload + "}"
	}
	return spec + "}"
}

func header(name, value string) string {
	return modelServer(", headers: [{name: '"+name+"', value: '"+value+"'}]", "")
}

func address(url string) string { return "{description: x, model: {url: '" + url + "'}}" }

const container = "template: {spec: {containers: [{name: agent, image: vllm}]}}"

// tool returns the spec of an Agent whose model has tools.
func tool(tools string) string { return modelServer(", tools: ["+tools+"]", "") }

// approvers returns the spec of an Agent with rules that say who may approve its calls.
func approvers(rules string) string {
	return modelServer(", tools: [{mcp: {url: 'http://a/mcp', approveWrites: true}}], approval: {approvers: "+rules+"}", "")
}

var _ = DescribeTable("an Agent with a model server is accepted",
	func(ctx context.Context, spec string) {
		Expect(create(ctx, agent("spec", spec))).To(Succeed())
	},
	Entry("without a template", modelServer("", "")),
	Entry("with all settings of the server", modelServer(", name: m, instructions: Be brief., apiKeySecretRef: {name: key}, headers: [{name: X-Team, value: blue}, {name: OpenAI-Organization, value: 'org 1'}]", "")),
	Entry("with another key of the Secret", modelServer(", apiKeySecretRef: {name: key, key: OPENAI_API_KEY}", "")),
	Entry("of a host on the Internet, with a query", address("https://api.example.com/openai/deployments/x/chat/completions?api-version=2024-10-21")),
	Entry("at an IP address", address("http://10.1.2.3:11434")),
	Entry("at an IPv6 address", address("http://[fd00::1]:11434/v1")),
	Entry("with settings of the pod", modelServer("", "template: {metadata: {labels: {team: blue}}, spec: {containers: [], nodeSelector: {pool: cpu}, priorityClassName: high}}")),
	Entry("with labels of the pod only", modelServer("", "template: {metadata: {labels: {team: blue}}}")),
	Entry("with the default port, as it is stored", modelServer("", "backend: {port: 8080}")),
	Entry("with an autoscaler by turns", modelServer("", "autoscaling: {maxReplicas: 1, metrics: [{type: InFlightTurns, target: 10}]}")),
	Entry("with tools", tool("{mcp: {url: 'http://grafana-mcp.tools/mcp', headersFrom: [{name: Authorization, secretRef: {name: grafana, key: token}}], allow: ['get_*', update_x], deny: [get_secret], approval: ['update_*'], approveWrites: true, timeout: 30s, required: true}}, {agent: {name: researcher}}, {agent: {name: researcher, namespace: other, approval: true}}, {agent: {discover: true}}")),
	Entry("with an MCP server in the pod", modelServer(", tools: [{mcp: {port: 9000, path: /sse}}]", container)),
	Entry("with limits", modelServer(", limits: {steps: 5, parallelCalls: 2, resultBytes: 4096, tokensPerTask: 100000}, context: {maxTokens: 8000}, approval: {timeout: 24h}, steps: Hide", "")),
	Entry("with approvers", approvers(`['caller.namespace == "oncall" && !caller.ownsTask', '"leads" in caller.claims.groups']`)),
	Entry("with a schema of the answer", modelServer(", output: {schema: {type: object, properties: {n: {type: integer}}}}", "")),
	Entry("with fallbacks", modelServer(", fallbacks: [{url: 'https://other.example/v1', name: m, apiKeySecretRef: {name: other}, headers: [{name: X-Team, value: blue}]}]", "")),
	Entry("with instructions in a ConfigMap", modelServer(", instructionsFrom: {name: prompts, key: oncall}", "")),
	Entry("in the pod, with a key and headers", "{description: x, model: {apiKeySecretRef: {name: key}, headers: [{name: X-Team, value: blue}]}, workload: {"+container+"}}"),
)

var _ = DescribeTable("an Agent with a model server is refused",
	func(ctx context.Context, spec, message string) {
		Expect(create(ctx, agent("spec", spec))).To(refusal(message))
	},
	Entry("with neither template nor address", "{description: x, model: {name: m}}", "spec.workload.template is required unless spec.model.url names a model server"),
	Entry("with neither template nor backend", "{description: x, workload: {replicas: 1}}", "spec.workload.template is required unless"),
	Entry("with a container", modelServer("", "template: {spec: {containers: [{name: agent, image: echo}]}}"), "spec.workload.template.spec.containers must be empty with spec.model.url"),
	Entry("with a port", modelServer("", "backend: {port: 9000}"), "spec.workload.backend.port and path have no effect with spec.model.url"),
	Entry("with a path", modelServer("", "backend: {path: /v1}"), "spec.workload.backend.port and path have no effect with spec.model.url"),
	Entry("with an autoscaler by CPU", modelServer("", "autoscaling: {maxReplicas: 1, metrics: [{type: CPU, target: 80}]}"), "use InFlightTurns"),
	Entry("with another protocol", modelServer("", "backend: {protocol: A2A}"), "spec.workload.backend.protocol, a2a and onInterruption have no effect with spec.model"),
	Entry("with two kinds of instructions", modelServer(", instructions: a, instructionsFrom: {name: prompts, key: oncall}", ""), "spec.model.instructions and spec.model.instructionsFrom are one setting"),
	Entry("with a retry", modelServer("", "backend: {onInterruption: Retry}"), "onInterruption have no effect with spec.model"),
	Entry("with an empty tool", tool("{}"), "each entry of spec.model.tools needs either mcp or agent"),
	Entry("with a tool of two kinds", tool("{mcp: {url: 'http://a/mcp'}, agent: {name: b}}"), "each entry of spec.model.tools needs either mcp or agent"),
	Entry("with an MCP server without an address", tool("{mcp: {required: true}}"), "spec.model.tools[].mcp needs either url, or port"),
	Entry("with an MCP server in a pod without a container", tool("{mcp: {port: 9000}}"), "spec.model.tools[].mcp.port needs a container with the MCP server"),
	Entry("with an MCP server at a port of the sidecar", modelServer(", tools: [{mcp: {port: 8642}}]", container), "the ports of the sidecar"),
	Entry("with an MCP server on loopback", tool("{mcp: {url: 'http://127.0.0.1:9000/mcp'}}"), "spec.model.tools[].mcp.url must not name a loopback"),
	Entry("with one MCP server twice", tool("{mcp: {url: 'http://a/mcp'}}, {mcp: {url: 'http://a/mcp', required: true}}"), "spec.model.tools must name each MCP server once"),
	Entry("with a header of the protocol", tool("{mcp: {url: 'http://a/mcp', headersFrom: [{name: MCP-Session-Id, secretRef: {name: a, key: b}}]}}"), "headersFrom must not name a header of the connection"),
	Entry("with a pattern of another kind", tool("{mcp: {url: 'http://a/mcp', allow: ['get_[ab]']}}"), "spec.model.tools[0].mcp.allow[0]"),
	Entry("with an agent without a name", tool("{agent: {approval: true}}"), "spec.model.tools[].agent needs either name, or discover: true"),
	Entry("with an agent and discovery in one", tool("{agent: {name: a, discover: true}}"), "spec.model.tools[].agent needs either name, or discover: true"),
	Entry("with one agent twice", tool("{agent: {name: a}}, {agent: {name: a, approval: true}}"), "spec.model.tools must name each agent once"),
	Entry("with discovery twice", tool("{agent: {discover: true}}, {agent: {discover: true, approval: true}}"), "have discover in one entry at most"),
	Entry("without an approver in the list", approvers("[]"), "spec.model.approval.approvers"),
	Entry("with an empty approver", approvers("['']"), "spec.model.approval.approvers[0]"),
	Entry("with an approver that is too long", approvers("['"+strings.Repeat("x", 1025)+"']"), "spec.model.approval.approvers[0]"),
	Entry("with a control character in an approver", approvers(`["true \u0007"]`), "spec.model.approval.approvers[0]"),
	Entry("with too many approvers", approvers("["+strings.Repeat("'true', ", 17)+"]"), "spec.model.approval.approvers"),
	Entry("without a setting of approvals", modelServer(", approval: {}", ""), "spec.model.approval"),
	Entry("with a context that is too small", modelServer(", context: {maxTokens: 10}", ""), "spec.model.context.maxTokens"),
	Entry("with a fallback on loopback", modelServer(", fallbacks: [{url: 'http://localhost/v1'}]", ""), "spec.model.fallbacks[].url must not name a loopback"),
	Entry("with a remote agent", "{remote: {url: 'https://a.example'}, model: {url: 'https://b.example'}}", "remove remote, or the two others"),
	Entry("with replicas and no store", modelServer("", "replicas: 2"), "spec.workload.replicas above 1 needs"),
	Entry("at an address that is not a URL", address("vllm:8000"), "spec.model.url must be an absolute http or https URL"),
	Entry("at a URL of another scheme", address("ftp://a.example/v1"), "spec.model.url must be an absolute http or https URL"),
	Entry("at a URL without a host", address("http:///v1"), "spec.model.url must be an absolute http or https URL"),
	Entry("at a URL with credentials", address("https://user:key@a.example/v1"), "a key belongs in apiKeySecretRef"),
	Entry("at a URL with a fragment", address("https://a.example/v1#x"), "spec.model.url must be an absolute http or https URL"),
	Entry("at a URL that is too long", address("https://a.example/"+strings.Repeat("a", 2048)), "spec.model.url"),
	Entry("on localhost", address("http://LocalHost:8000/v1"), "must not name a loopback or link-local address"),
	Entry("on loopback", address("http://127.9.9.9:8000/v1"), "must not name a loopback or link-local address"),
	Entry("on loopback of IPv6", address("http://[::1]:8000/v1"), "must not name a loopback or link-local address"),
	Entry("at the address of a cloud's metadata service", address("http://169.254.169.254/latest"), "must not name a loopback or link-local address"),
	Entry("with a key of an unnamed Secret", modelServer(", apiKeySecretRef: {}", ""), "spec.model.apiKeySecretRef.name: Required value"),
	Entry("with a key under a path", modelServer(", apiKeySecretRef: {name: a, key: ../token}", ""), "spec.model.apiKeySecretRef.key"),
	Entry("with a credential among the headers", header("authorization", "Bearer x"), "headers of a model server must not hold credentials"),
	Entry("with a cookie among the headers", header("Cookie", "a=b"), "headers of a model server must not hold credentials"),
	Entry("with the header Transfer-Encoding", header("Transfer-Encoding", "chunked"), "or one that the sidecar sets"),
	Entry("with the header Host", header("HOST", "x"), "or one that the sidecar sets"),
	Entry("with the header Content-Type", header("Content-Type", "text/plain"), "or one that the sidecar sets"),
	Entry("with a header that the sidecar sets", header("A2A-Principal", "root"), "or one that the sidecar sets"),
	Entry("with an invalid header name", header("X Team", "x"), "spec.model.headers[0].name"),
	Entry("with a header value of two lines", modelServer(`, headers: [{name: X-Team, value: "a\nb"}]`, ""), "spec.model.headers[0].value"),
	Entry("with a header value that ends with a space", header("X-Team", "a "), "spec.model.headers[0].value"),
	Entry("with a header without a value", header("X-Team", ""), "spec.model.headers[0].value"),
	Entry("with one header twice", modelServer(", headers: [{name: X-Team, value: a}, {name: x-team, value: b}]", ""), "spec.model.headers must name each header once"),
	Entry("with too many headers", modelServer(", headers: ["+strings.Repeat("{name: a, value: b}, ", 17)+"]", ""), "must have at most 16 items"),
)
