// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// modelServer returns a workload whose agent is a model server at a URL, with further members of chat, of
// backend and of the workload.
func modelServer(chat, backend, workload string) string {
	return "{backend: {protocol: ChatCompletions, chat: {url: 'http://vllm.models.svc:8000/v1'" + chat + "}" + backend + "}" + workload + "}"
}

func header(name, value string) string {
	return modelServer(", headers: [{name: '"+name+"', value: '"+value+"'}]", "", "")
}

func address(url string) string {
	return "{backend: {protocol: ChatCompletions, chat: {url: '" + url + "'}}}"
}

var _ = DescribeTable("an Agent with a model server is accepted",
	func(ctx context.Context, workload string) {
		Expect(create(ctx, agent("spec.workload", workload))).To(Succeed())
	},
	Entry("without a template", modelServer("", "", "")),
	Entry("with all fields of chat", modelServer(", model: m, systemPrompt: Be brief., apiKeySecretRef: {name: key}, headers: [{name: X-Team, value: blue}, {name: OpenAI-Organization, value: 'org 1'}]", "", "")),
	Entry("with another key of the Secret", modelServer(", apiKeySecretRef: {name: key, key: OPENAI_API_KEY}", "", "")),
	Entry("of a host on the Internet, with a query", address("https://api.example.com/openai/deployments/x/chat/completions?api-version=2024-10-21")),
	Entry("at an IP address", address("http://10.1.2.3:11434")),
	Entry("at an IPv6 address", address("http://[fd00::1]:11434/v1")),
	Entry("with settings of the pod", modelServer("", "", ", template: {metadata: {labels: {team: blue}}, spec: {containers: [], nodeSelector: {pool: cpu}, priorityClassName: high}}")),
	Entry("with labels of the pod only", modelServer("", "", ", template: {metadata: {labels: {team: blue}}}")),
	Entry("with the default port, as it is stored", modelServer("", ", port: 8080", "")),
	Entry("with an autoscaler by turns", modelServer("", "", ", autoscaling: {maxReplicas: 1, metrics: [{type: InFlightTurns, target: 10}]}")),
	Entry("in the pod, with a key and headers", "{backend: {protocol: ChatCompletions, chat: {apiKeySecretRef: {name: key}, headers: [{name: X-Team, value: blue}]}}, template: {spec: {containers: [{name: agent, image: vllm}]}}}"),
)

var _ = DescribeTable("an Agent with a model server is refused",
	func(ctx context.Context, workload, message string) {
		Expect(create(ctx, agent("spec.workload", workload))).To(refusal(message))
	},
	Entry("with neither template nor address", "{backend: {protocol: ChatCompletions, chat: {model: m}}}", "spec.workload.template is required unless spec.workload.backend.chat.url names a model server"),
	Entry("with neither template nor backend", "{replicas: 1}", "spec.workload.template is required unless"),
	Entry("with a container", modelServer("", "", ", template: {spec: {containers: [{name: agent, image: echo}]}}"), "spec.workload.template.spec.containers must be empty with spec.workload.backend.chat.url"),
	Entry("with a port", modelServer("", ", port: 9000", ""), "spec.workload.backend.port has no effect with spec.workload.backend.chat.url"),
	Entry("with a path", modelServer("", ", path: /v1", ""), "spec.workload.backend.path has no effect with spec.workload.backend.chat.url"),
	Entry("with an autoscaler by CPU", modelServer("", "", ", autoscaling: {maxReplicas: 1, metrics: [{type: CPU, target: 80}]}"), "use InFlightTurns"),
	Entry("with another protocol", "{backend: {protocol: A2A, chat: {url: 'http://a:1'}}}", "spec.workload.backend.chat needs spec.workload.backend.protocol ChatCompletions"),
	Entry("with replicas and no store", modelServer("", "", ", replicas: 2"), "spec.workload.replicas above 1 needs"),
	Entry("at an address that is not a URL", address("vllm:8000"), "spec.workload.backend.chat.url must be an absolute http or https URL"),
	Entry("at a URL of another scheme", address("ftp://a.example/v1"), "spec.workload.backend.chat.url must be an absolute http or https URL"),
	Entry("at a URL without a host", address("http:///v1"), "spec.workload.backend.chat.url must be an absolute http or https URL"),
	Entry("at a URL with credentials", address("https://user:key@a.example/v1"), "a key belongs in apiKeySecretRef"),
	Entry("at a URL with a fragment", address("https://a.example/v1#x"), "spec.workload.backend.chat.url must be an absolute http or https URL"),
	Entry("at a URL that is too long", address("https://a.example/"+strings.Repeat("a", 2048)), "spec.workload.backend.chat.url"),
	Entry("on localhost", address("http://LocalHost:8000/v1"), "must not name a loopback or link-local address"),
	Entry("on loopback", address("http://127.9.9.9:8000/v1"), "must not name a loopback or link-local address"),
	Entry("on loopback of IPv6", address("http://[::1]:8000/v1"), "must not name a loopback or link-local address"),
	Entry("at the address of a cloud's metadata service", address("http://169.254.169.254/latest"), "must not name a loopback or link-local address"),
	Entry("with a key of an unnamed Secret", modelServer(", apiKeySecretRef: {}", "", ""), "spec.workload.backend.chat.apiKeySecretRef.name: Required value"),
	Entry("with a key under a path", modelServer(", apiKeySecretRef: {name: a, key: ../token}", "", ""), "spec.workload.backend.chat.apiKeySecretRef.key"),
	Entry("with a credential among the headers", header("authorization", "Bearer x"), "spec.workload.backend.chat.headers must not hold credentials"),
	Entry("with a cookie among the headers", header("Cookie", "a=b"), "spec.workload.backend.chat.headers must not hold credentials"),
	Entry("with the header Transfer-Encoding", header("Transfer-Encoding", "chunked"), "or one that the sidecar sets"),
	Entry("with the header Host", header("HOST", "x"), "or one that the sidecar sets"),
	Entry("with the header Content-Type", header("Content-Type", "text/plain"), "or one that the sidecar sets"),
	Entry("with a header that the sidecar sets", header("A2A-Principal", "root"), "or one that the sidecar sets"),
	Entry("with an invalid header name", header("X Team", "x"), "spec.workload.backend.chat.headers[0].name"),
	Entry("with a header value of two lines", modelServer(`, headers: [{name: X-Team, value: "a\nb"}]`, "", ""), "spec.workload.backend.chat.headers[0].value"),
	Entry("with a header value that ends with a space", header("X-Team", "a "), "spec.workload.backend.chat.headers[0].value"),
	Entry("with a header without a value", header("X-Team", ""), "spec.workload.backend.chat.headers[0].value"),
	Entry("with one header twice", modelServer(", headers: [{name: X-Team, value: a}, {name: x-team, value: b}]", "", ""), "spec.workload.backend.chat.headers must name each header once"),
	Entry("with too many headers", modelServer(", headers: ["+strings.Repeat("{name: a, value: b}, ", 17)+"]", "", ""), "must have at most 16 items"),
)
