// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AgentWorkload is the container that does the agent's work, or the model
// server that does, and how the sidecar reaches it.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) || (has(self.backend) && has(self.backend.chat) && has(self.backend.chat.url))",message="spec.workload.template is required unless spec.workload.backend.chat.url names a model server: add the template with the agent's container, or the url"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || (has(self.backend) && has(self.backend.chat) && has(self.backend.chat.url)) || (has(self.template.spec) && size(self.template.spec.containers) > 0)",message="spec.workload.template.spec.containers needs at least one container; the first one is the agent"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.backend) || !has(self.backend.chat) || !has(self.backend.chat.url) || !has(self.template.spec) || size(self.template.spec.containers) == 0",message="spec.workload.template.spec.containers must be empty with spec.workload.backend.chat.url: the sidecar calls the model server at that address and never a container of the pod; remove the containers, or the url"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.backend) || !has(self.backend.chat) || !has(self.backend.chat.url) || !self.autoscaling.metrics.exists(m, m.type == 'CPU')",message="spec.workload.autoscaling.metrics of type CPU needs a container in spec.workload.template, and there is none with spec.workload.backend.chat.url: use InFlightTurns"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.autoscaling) || !has(self.replicas) || self.replicas <= 1 || (self.replicas >= self.autoscaling.minReplicas && self.replicas <= self.autoscaling.maxReplicas) || (oldSelf.hasValue() && has(oldSelf.value().replicas) && oldSelf.value().replicas == self.replicas)",message="spec.workload.replicas belongs to the autoscaler while spec.workload.autoscaling is set: leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 1 || (has(self.tasks) && has(self.tasks.store) && has(self.tasks.store.type) && self.tasks.store.type == 'Redis')",message="spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis: what one pod keeps in its memory the others do not find"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || self.autoscaling.maxReplicas <= 1 || (has(self.tasks) && has(self.tasks.store) && has(self.tasks.store.type) && self.tasks.store.type == 'Redis')",message="spec.workload.autoscaling.maxReplicas above 1 needs spec.workload.tasks.store.type Redis: what one pod keeps in its memory the others do not find"
type AgentWorkload struct {
	// template is the pod of the agent. Its first container is the agent; the
	// operator adds the sidecar and leaves the rest as it is, except for
	// restricted security defaults, soft spreading over nodes and zones, the variables PORT and A2A_GATEWAY_URL and
	// a preStop hook on the first container, each only where the template says
	// nothing. A quantity with a fraction must be a string, such as "0.5".
	//
	// It is required, except with backend.chat.url: the pod then runs the sidecar
	// alone, and a template without containers may hold the settings of that pod,
	// such as labels, nodeSelector and tolerations.
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy == 'Always'",message="spec.workload.template.spec.restartPolicy must be Always, or absent"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.hostNetwork) || !self.spec.hostNetwork",message="spec.workload.template.spec.hostNetwork must be absent: the ports of the sidecar belong to the pod"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.shareProcessNamespace) || !self.spec.shareProcessNamespace",message="spec.workload.template.spec.shareProcessNamespace must be absent: the agent could read the token of the sidecar"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.hostPID) || !self.spec.hostPID",message="spec.workload.template.spec.hostPID must be absent: the agent could read the token of the sidecar"
	// +optional
	Template corev1.PodTemplateSpec `json:"template,omitempty,omitzero"`

	// replicas is the number of pods. It defaults to 1. More than one need a task
	// store that they share: tasks.store.type Redis.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling lets the number of pods follow the load. Leave replicas out
	// then: it belongs to the autoscaler, and 0 pauses both.
	// +optional
	Autoscaling *AgentAutoscaling `json:"autoscaling,omitempty"`

	// disruptionBudget says how many pods may be taken away at once. There is a
	// budget whenever there may be more than one pod.
	// +kubebuilder:default={}
	// +optional
	DisruptionBudget AgentDisruptionBudget `json:"disruptionBudget,omitempty,omitzero"`

	// backend says how the sidecar talks to the agent's container.
	// +kubebuilder:default={}
	// +optional
	Backend AgentBackend `json:"backend,omitempty,omitzero"`

	// tasks says where tasks are kept, how long and how many.
	// +kubebuilder:default={}
	// +optional
	Tasks AgentTasks `json:"tasks,omitempty,omitzero"`
}

// BackendProtocol is what an agent's container speaks.
//
// +kubebuilder:validation:Enum=Events;A2A;ChatCompletions
type BackendProtocol string

// The protocols.
const (
	// BackendProtocolEvents is one POST a turn, answered by text, by JSON or by a
	// stream of A2A events.
	BackendProtocolEvents BackendProtocol = "Events"
	// BackendProtocolA2A is A2A itself, in any version.
	BackendProtocolA2A BackendProtocol = "A2A"
	// BackendProtocolChatCompletions is the API of language model servers.
	BackendProtocolChatCompletions BackendProtocol = "ChatCompletions"
)

// AgentBackend says how the sidecar talks to the agent's container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || self.protocol == 'ChatCompletions'",message="spec.workload.backend.chat needs spec.workload.backend.protocol ChatCompletions; remove chat, or change the protocol"
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || !has(self.chat.url) || !has(self.port) || self.port == 8080",message="spec.workload.backend.port has no effect with spec.workload.backend.chat.url, which holds the port of the model server: remove port"
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || self.protocol == 'A2A'",message="spec.workload.backend.a2a needs spec.workload.backend.protocol A2A; remove a2a, or change the protocol"
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || !has(self.a2a.path) || !has(self.path)",message="spec.workload.backend.path and spec.workload.backend.a2a.path are one setting: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || !has(self.chat.url) || !has(self.path)",message="spec.workload.backend.path has no effect with spec.workload.backend.chat.url, which holds the path of the model server: remove path"
type AgentBackend struct {
	// protocol is what the container speaks. Events, the default, is one POST
	// a turn, answered by text/plain, application/json, application/x-ndjson
	// or text/event-stream. A2A is for a container that speaks A2A itself, in
	// any version from 0.1 to 1.0, over JSON-RPC or HTTP+JSON; its card says
	// which. ChatCompletions is for servers of language models with the API of
	// OpenAI, such as vLLM, Ollama and llama.cpp.
	// +kubebuilder:default=Events
	// +optional
	Protocol BackendProtocol `json:"protocol,omitempty"`

	// port is where the container listens, on 127.0.0.1 or on all addresses.
	// The container finds it in the variable PORT. It defaults to 8080. It is
	// not for chat.url, which holds the port of the model server.
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self < 8641 || self > 8643",message="spec.workload.backend.port must not be 8641, 8642 or 8643: the sidecar listens there"
	// +optional
	Port int32 `json:"port,omitempty"`

	// path is where a turn is posted. For Events it defaults to "/", for
	// ChatCompletions to "/v1/chat/completions", and for A2A to the path on the
	// container's card. It is not for chat.url, which holds the path.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	Path string `json:"path,omitempty"`

	// a2a says how to reach a container that speaks A2A whose card does not say
	// it, or is not at its usual place. It is for A2A only.
	// +optional
	A2A *AgentA2A `json:"a2a,omitempty"`

	// chat says how to talk to the model. It is for ChatCompletions only.
	// +optional
	Chat *AgentChat `json:"chat,omitempty"`

	// timeouts bound a turn.
	// +kubebuilder:default={}
	// +optional
	Timeouts BackendTimeouts `json:"timeouts,omitempty,omitzero"`

	// onInterruption says what becomes of a turn whose agent did not get to say
	// how it ends: the connection to it broke or, when tasks are in Redis, its
	// pod is gone. Fail, the default, ends the task as failed. Retry sends the
	// same request again, to any replica, at most three times in all; it is for
	// agents that may do the same thing twice.
	// +kubebuilder:default=Fail
	// +optional
	OnInterruption InterruptionPolicy `json:"onInterruption,omitempty"`
}

// InterruptionPolicy says what becomes of a turn that was interrupted.
// +kubebuilder:validation:Enum=Fail;Retry
type InterruptionPolicy string

const (
	// InterruptionFail ends the task as failed.
	InterruptionFail InterruptionPolicy = "Fail"
	// InterruptionRetry runs the turn again.
	InterruptionRetry InterruptionPolicy = "Retry"
)

// A2AVersion is a version of A2A that a container may speak.
// +kubebuilder:validation:Enum="0.1";"0.2";"0.3";"1.0"
type A2AVersion string

// AgentA2A says how to reach a container that speaks A2A.
// +kubebuilder:validation:MinProperties=1
type AgentA2A struct {
	// version is the version of A2A that the container speaks, whatever its card
	// says. Without cardPath the sidecar then reads no card: it calls the
	// container over JSON-RPC, and streams unless the container refuses it.
	// Without version the card says the versions, and the sidecar takes the best one.
	// +optional
	Version A2AVersion `json:"version,omitempty"`

	// cardPath is the path of the container's card. Without it the sidecar looks
	// for the card at /.well-known/agent-card.json and /.well-known/agent.json,
	// below path first.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.cardPath must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits: put a query into spec.workload.backend.a2a.query"
	// +optional
	CardPath string `json:"cardPath,omitempty"`

	// query is added to the URL of every request to the container, also of that
	// for its card, such as "assistant_id=agent". It begins without '?', and is
	// not a place for secrets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})([A-Za-z0-9/._~!$&()*+,;=:@?-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.query must not start with '?' and hold no fragment or space, and '%' only before two hexadecimal digits, such as 'assistant_id=agent'"
	// +optional
	Query string `json:"query,omitempty"`

	// path is the path of the container's endpoint, in the place of the one on
	// its card. It is spec.workload.backend.path by another name, so that the settings of A2A
	// stand together; one of the two may be set.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits: put a query into spec.workload.backend.a2a.query"
	// +optional
	Path string `json:"path,omitempty"`
}

// AgentChat says how to talk to a language model.
type AgentChat struct {
	// model is the name of the model, as the server knows it. Without it the
	// server is asked for its models, and the first one is taken.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Model string `json:"model,omitempty"`

	// systemPrompt opens every conversation with the model.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	SystemPrompt string `json:"systemPrompt,omitempty"`

	// url is the address of a model server outside the pod: the base of its API,
	// such as http://vllm.models.svc:8000/v1, or the address of its completions,
	// which ends in /chat/completions. Without a path /v1 is assumed. The pod
	// then runs the sidecar alone. The host may be a Service, a private address
	// or a public one; loopback, link-local and cloud metadata addresses are
	// never connected to. https is verified with the public authorities and those
	// of spec.trustBundle. With http everything, the API key included, is
	// sent unencrypted. The address is not secret: do not put a key into it. An
	// edit replaces the pods.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="spec.workload.backend.chat.url must be an absolute http or https URL without credentials and fragment, such as http://vllm.models.svc:8000/v1; a key belongs in apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(localhost([:/?]|$)|127[.][0-9]|169[.]254[.]|0[.]0[.]0[.]0|[[]::1?[]])')",message="spec.workload.backend.chat.url must not name a loopback or link-local address: leave url out for a model server in the pod, and give its container in spec.workload.template"
	// +optional
	URL string `json:"url,omitempty"`

	// apiKeySecretRef names the API key that is sent to the model server, in the
	// header Authorization as a bearer token. White space around it, such as a
	// newline at its end, is left out. A changed key is used without a restart.
	// Absent sends none.
	// +optional
	APIKeySecretRef *ChatAPIKeyReference `json:"apiKeySecretRef,omitempty"`

	// headers are sent to the model server with each request, such as those that
	// a gateway routes or bills by. Their values are not secret: they stand in
	// the ConfigMap of the Agent. An edit takes effect without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="spec.workload.backend.chat.headers must name each header once, in upper or lower case: remove one of the two"
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []ChatHeader `json:"headers,omitempty"`
}

// ChatAPIKeyReference names an API key in a Secret of the Agent's namespace.
type ChatAPIKeyReference struct {
	// name is the Secret's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// key is the key of the Secret under which the API key is. It defaults to
	// "api-key".
	// +kubebuilder:default="api-key"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// ChatHeader is an HTTP header that is sent to a model server.
type ChatHeader struct {
	// name is the name of the header. Those that belong to the connection, that
	// describe the body, that hold credentials or that the sidecar sets are
	// refused.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['authorization', 'proxy-authorization', 'cookie'])",message="spec.workload.backend.chat.headers must not hold credentials: values of headers are not secret; put the key of the model server into a Secret and name it in spec.workload.backend.chat.apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'accept', 'accept-encoding', 'traceparent']) && !self.lowerAscii().startsWith('content-') && !self.lowerAscii().startsWith('a2a-')",message="spec.workload.backend.chat.headers must not name a header of the connection or the body, or one that the sidecar sets (Host, Connection, Content-*, Accept, A2A-*, traceparent and the like): remove it"
	// +required
	Name string `json:"name"`

	// value is its value: visible ASCII, and blanks within.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	// +required
	Value string `json:"value"`
}

// BackendTimeouts bound a turn of the agent.
//
// +kubebuilder:validation:XValidation:rule="!has(self.firstEvent) || !has(self.turn) || duration(self.firstEvent) <= duration(self.turn)",message="spec.workload.backend.timeouts.firstEvent must not be longer than turn; lower it or raise turn"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || !has(self.turn) || duration(self.idle) <= duration(self.turn)",message="spec.workload.backend.timeouts.idle must not be longer than turn; lower it or raise turn"
type BackendTimeouts struct {
	// connect bounds the TCP connect to the container, as a duration such as
	// "5s", which is the default.
	// +kubebuilder:default="5s"
	// +optional
	Connect Duration `json:"connect,omitempty"`

	// firstEvent bounds the wait for the first byte of an answer, as a
	// duration. It defaults to "2m".
	// +kubebuilder:default="2m"
	// +optional
	FirstEvent Duration `json:"firstEvent,omitempty"`

	// idle bounds the silence between two events, as a duration. It defaults
	// to "5m".
	// +kubebuilder:default="5m"
	// +optional
	Idle Duration `json:"idle,omitempty"`

	// turn bounds the whole turn, as a duration. It defaults to "1h".
	// +kubebuilder:default="1h"
	// +optional
	Turn Duration `json:"turn,omitempty"`
}

// AgentTasks says where tasks are kept, and bounds them.
type AgentTasks struct {
	// retention is how long a task can be read after it has ended, as a
	// duration. It defaults to "1h".
	// +kubebuilder:default="1h"
	// +optional
	Retention Duration `json:"retention,omitempty"`

	// maxTasks is the number of tasks that are kept at most. It defaults to
	// 10000.
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxTasks int32 `json:"maxTasks,omitempty"`

	// store is where tasks are kept. Memory, the default, is that of the pod:
	// tasks are gone when it ends. Another choice begins with new pods.
	// +kubebuilder:default={}
	// +optional
	Store AgentTaskStore `json:"store,omitempty,omitzero"`
}

// Duration is a length of time such as "90s" or "1h30m": whole numbers with
// the units h, m, s and ms.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') && duration(self) > duration('0s')",message="must be a duration longer than zero, such as 90s or 1h30m, in h, m, s and ms"
type Duration string
