// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AgentWorkload configures the pods of an agent, and how the sidecar calls the
// agent's container or the model server that takes its place.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) || (has(self.backend) && has(self.backend.chat) && has(self.backend.chat.url))",message="spec.workload.template is required unless spec.workload.backend.chat.url names a model server: add the template with the agent's container, or the url"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || (has(self.backend) && has(self.backend.chat) && has(self.backend.chat.url)) || (has(self.template.spec) && size(self.template.spec.containers) > 0)",message="spec.workload.template.spec.containers needs at least one container; the first one is the agent"
// +kubebuilder:validation:XValidation:rule="!has(self.template) || !has(self.backend) || !has(self.backend.chat) || !has(self.backend.chat.url) || !has(self.template.spec) || size(self.template.spec.containers) == 0",message="spec.workload.template.spec.containers must be empty with spec.workload.backend.chat.url: the sidecar calls the model server at that address and never a container of the pod; remove the containers, or the url"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.backend) || !has(self.backend.chat) || !has(self.backend.chat.url) || !self.autoscaling.metrics.exists(m, m.type == 'CPU')",message="spec.workload.autoscaling.metrics of type CPU needs a container in spec.workload.template, and spec.workload.backend.chat.url allows none: use InFlightTurns"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.autoscaling) || !has(self.replicas) || self.replicas <= 1 || (self.replicas >= self.autoscaling.minReplicas && self.replicas <= self.autoscaling.maxReplicas) || (oldSelf.hasValue() && has(oldSelf.value().replicas) && oldSelf.value().replicas == self.replicas)",message="spec.workload.replicas must not be outside of minReplicas and maxReplicas of spec.workload.autoscaling, whose autoscaler writes it: remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas <= 1 || (has(self.tasks) && has(self.tasks.store) && has(self.tasks.store.type) && self.tasks.store.type == 'Redis')",message="spec.workload.replicas above 1 needs spec.workload.tasks.store.type Redis: replicas cannot share tasks that are in memory"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || self.autoscaling.maxReplicas <= 1 || (has(self.tasks) && has(self.tasks.store) && has(self.tasks.store.type) && self.tasks.store.type == 'Redis')",message="spec.workload.autoscaling.maxReplicas above 1 needs spec.workload.tasks.store.type Redis: replicas cannot share tasks that are in memory"
type AgentWorkload struct {
	// template is the pod template of the agent. Its first container is the agent. The
	// operator adds the sidecar with its volumes, and the label that selects the pods.
	// Unless the template sets them, the operator also sets the other labels of its
	// objects, the ServiceAccount of the Agent without a mounted token, and a
	// termination grace period of 60 s. It also sets the restricted security context,
	// and topology spread constraints over nodes and zones, unless the template does.
	// On the first container, it sets the variables PORT and A2A_GATEWAY_URL and a
	// preStop hook, unless the container has them. It changes nothing else. A
	// fractional quantity must be a string, such as "0.5". A list or map has at most
	// 256 elements, and args, command, env, items and values have at most 1024.
	//
	// It is required, except with backend.chat.url. With backend.chat.url, the pod
	// runs only the sidecar, and the template may have other settings of the pod, such
	// as labels, nodeSelector and tolerations. If it has a spec, the spec needs
	// containers: [], because Kubernetes requires the field.
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.restartPolicy) || self.spec.restartPolicy == 'Always'",message="spec.workload.template.spec.restartPolicy must be Always or absent: remove it"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.hostNetwork) || !self.spec.hostNetwork",message="spec.workload.template.spec.hostNetwork must be absent, because the sidecar needs ports of the pod: remove it"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.shareProcessNamespace) || !self.spec.shareProcessNamespace",message="spec.workload.template.spec.shareProcessNamespace must be absent, because the agent could read the token of the sidecar: remove it"
	// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(self.spec.hostPID) || !self.spec.hostPID",message="spec.workload.template.spec.hostPID must be absent, because the agent could read the token of the sidecar: remove it"
	// +optional
	Template corev1.PodTemplateSpec `json:"template,omitempty,omitzero"`

	// replicas is the number of pods. It defaults to 1. More than one pod requires a
	// shared task store: tasks.store.type Redis.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling scales the number of pods with the load. Do not set replicas
	// together with autoscaling, because the autoscaler writes replicas. If replicas
	// is 0, autoscaling is paused.
	// +optional
	Autoscaling *AgentAutoscaling `json:"autoscaling,omitempty"`

	// strategy selects how a change replaces the pods.
	// +kubebuilder:default={}
	// +optional
	Strategy AgentStrategy `json:"strategy,omitempty,omitzero"`

	// restartOn lists Secrets and ConfigMaps of the namespace. Within two minutes after
	// one of them has changed, the operator replaces the pods, for programs that read a
	// key or a setting only when they start. Any write of the object counts as a
	// change. While an object does not exist, no pod is replaced. For Secrets, the
	// operator needs the right to get them (rbac.readSecrets of the chart, or a Role).
	// An edit of the list replaces the pods.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +optional
	RestartOn []RestartReference `json:"restartOn,omitempty"`

	// disruptionBudget limits how many pods may be unavailable at once. The operator
	// creates a PodDisruptionBudget if the Agent can have more than one pod.
	// +kubebuilder:default={}
	// +optional
	DisruptionBudget AgentDisruptionBudget `json:"disruptionBudget,omitempty,omitzero"`

	// revision is the number of a kept revision that runs in place of the spec: its pod
	// template, backend, task store, card and sidecar. Everything else comes from the
	// spec, such as access, limits, exposure and the number of pods. kubectl a2a history
	// lists the kept revisions, and kubectl a2a rollback sets the field. While it is set,
	// edits of the template, the backend and the card have no effect. If absent, the spec
	// runs.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// onFailure selects what happens if the pods of a new template do not become ready
	// within progressDeadline. With Keep, ready pods of the earlier template stay, and the
	// rollout waits. With RollBack, the last good revision runs in place of the spec,
	// until the pods that the spec describes change. It defaults to Keep.
	// +kubebuilder:default=Keep
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// progressDeadline is the time without progress after which a rollout has failed, as
	// a duration. It is rounded up to seconds. It defaults to "5m".
	// +kubebuilder:default="5m"
	// +optional
	ProgressDeadline Duration `json:"progressDeadline,omitempty"`

	// backend configures how the sidecar calls the agent's container or the model
	// server.
	// +kubebuilder:default={}
	// +optional
	Backend AgentBackend `json:"backend,omitempty,omitzero"`

	// sidecar configures the sidecar's container.
	// +optional
	Sidecar AgentSidecar `json:"sidecar,omitempty,omitzero"`

	// tasks configures the task store: its kind, retention and size.
	// +kubebuilder:default={}
	// +optional
	Tasks AgentTasks `json:"tasks,omitempty,omitzero"`
}

// BackendProtocol is the protocol of an agent's container.
//
// +kubebuilder:validation:Enum=Events;A2A;ChatCompletions
type BackendProtocol string

// The protocols.
const (
	// BackendProtocolEvents is one POST per turn, with a response of text, JSON or a
	// stream of A2A events.
	BackendProtocolEvents BackendProtocol = "Events"
	// BackendProtocolA2A is A2A, in any version.
	BackendProtocolA2A BackendProtocol = "A2A"
	// BackendProtocolChatCompletions is the chat completions API of language model
	// servers.
	BackendProtocolChatCompletions BackendProtocol = "ChatCompletions"
)

// AgentBackend configures how the sidecar calls the agent's container or the
// model server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || self.protocol == 'ChatCompletions'",message="spec.workload.backend.chat needs spec.workload.backend.protocol ChatCompletions; remove chat, or change the protocol"
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || !has(self.chat.url) || !has(self.port) || self.port == 8080",message="spec.workload.backend.port has no effect with spec.workload.backend.chat.url, which holds the port of the model server: remove port"
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || self.protocol == 'A2A'",message="spec.workload.backend.a2a needs spec.workload.backend.protocol A2A; remove a2a, or change the protocol"
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || !has(self.a2a.path) || !has(self.path)",message="spec.workload.backend.path and spec.workload.backend.a2a.path are one setting: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.chat) || !has(self.chat.url) || !has(self.path)",message="spec.workload.backend.path has no effect with spec.workload.backend.chat.url, which holds the path of the model server: remove path"
type AgentBackend struct {
	// protocol is the protocol of the container. Events is one POST per turn, with a
	// response of type text/plain, application/json, application/x-ndjson or
	// text/event-stream. A2A is for a container that speaks A2A, in any version from
	// 0.1 to 1.0, over JSON-RPC or HTTP+JSON. The sidecar reads the version and the
	// transport from the container's card. ChatCompletions is for language model
	// servers with the chat completions API of OpenAI, such as vLLM, Ollama and
	// llama.cpp. It defaults to Events.
	// +kubebuilder:default=Events
	// +optional
	Protocol BackendProtocol `json:"protocol,omitempty"`

	// port is the port on which the container listens, at 127.0.0.1 or at all
	// addresses. The operator sets the variable PORT of the container to it. It
	// defaults to 8080. It must not be set with chat.url, which contains the port of
	// the model server.
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self < 8641 || self > 8643",message="spec.workload.backend.port must not be 8641, 8642 or 8643, the ports of the sidecar: use another port"
	// +optional
	Port int32 `json:"port,omitempty"`

	// path is the path to which the sidecar posts a turn. It defaults to "/" for
	// Events, to "/v1/chat/completions" for ChatCompletions, and to the path on the
	// container's card for A2A. It must not be set with chat.url, which contains the
	// path.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	Path string `json:"path,omitempty"`

	// a2a configures calls to a container that speaks A2A. Set it if the container's
	// card is at another path than usual, or lacks what the sidecar needs. It requires
	// protocol A2A.
	// +optional
	A2A *AgentA2A `json:"a2a,omitempty"`

	// chat configures calls to the model. It requires protocol ChatCompletions.
	// +optional
	Chat *AgentChat `json:"chat,omitempty"`

	// timeouts limits the duration of a turn.
	// +kubebuilder:default={}
	// +optional
	Timeouts BackendTimeouts `json:"timeouts,omitempty,omitzero"`

	// onInterruption selects what happens to an interrupted turn. A turn is
	// interrupted if the sidecar cannot connect to the agent in time, if the agent or
	// its proxy answers 502 or 504, or if the connection breaks before the end of the
	// response. With tasks in Redis, it is also interrupted if the pod of the turn no
	// longer exists. Fail ends the task as failed. Retry sends the same request again,
	// to any replica, with at most three attempts in total. Use Retry only for agents
	// that can safely do the same work twice. It defaults to Fail.
	// +kubebuilder:default=Fail
	// +optional
	OnInterruption InterruptionPolicy `json:"onInterruption,omitempty"`
}

// InterruptionPolicy selects what happens to an interrupted turn.
// +kubebuilder:validation:Enum=Fail;Retry
type InterruptionPolicy string

const (
	// InterruptionFail ends the task as failed.
	InterruptionFail InterruptionPolicy = "Fail"
	// InterruptionRetry re-runs the turn.
	InterruptionRetry InterruptionPolicy = "Retry"
)

// A2AVersion is a version of A2A that a container can speak.
// +kubebuilder:validation:Enum="0.1";"0.2";"0.3";"1.0"
type A2AVersion string

// AgentA2A configures calls to a container that speaks A2A.
// +kubebuilder:validation:MinProperties=1
type AgentA2A struct {
	// version is the version of A2A that the container speaks. It overrides the
	// card. If version is set and cardPath is not, the sidecar reads no card: it
	// calls the container over JSON-RPC, and uses streams unless the container
	// rejects them. If absent, the sidecar uses the best version on the card.
	// +optional
	Version A2AVersion `json:"version,omitempty"`

	// cardPath is the path of the container's card. If absent, the sidecar tries
	// /.well-known/agent-card.json and /.well-known/agent.json: if path is set, first
	// below path, and then at the root.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.cardPath must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits: put a query into spec.workload.backend.a2a.query"
	// +optional
	CardPath string `json:"cardPath,omitempty"`

	// query is added to the URL of every request to the container, including the
	// request for its card, such as "assistant_id=agent". Omit the leading '?'. Do
	// not put secrets into it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})([A-Za-z0-9/._~!$&()*+,;=:@?-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.query must not start with '?' and hold no fragment or space, and '%' only before two hexadecimal digits, such as 'assistant_id=agent'"
	// +optional
	Query string `json:"query,omitempty"`

	// path is the path of the container's endpoint. It overrides the path on the
	// card. It is the same setting as spec.workload.backend.path; set at most one of
	// them.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.a2a.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits: put a query into spec.workload.backend.a2a.query"
	// +optional
	Path string `json:"path,omitempty"`

	// sessionAPI is the API at which the container stores its sessions. Kagent is for
	// images with an SDK of kagent 0.10 (ADK, LangGraph, CrewAI or OpenAI), which run
	// unchanged: the sidecar stores their sessions, tasks and checkpoints with the
	// tasks of the agent, and the operator sets the variables KAGENT_URL, KAGENT_NAME
	// and KAGENT_NAMESPACE of the container. If absent, there is no such API.
	// +optional
	SessionAPI SessionAPI `json:"sessionAPI,omitempty"`
}

// SessionAPI is an API at which a container stores its sessions.
// +kubebuilder:validation:Enum=Kagent
type SessionAPI string

// SessionAPIKagent is the API of the SDKs of kagent 0.10.
const SessionAPIKagent SessionAPI = "Kagent"

// AgentChat configures calls to a language model.
type AgentChat struct {
	// model is the name of the model at the server. If absent, the sidecar uses the
	// first model that the server lists.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Model string `json:"model,omitempty"`

	// systemPrompt is the first message, of role system, of every conversation with
	// the model.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	SystemPrompt string `json:"systemPrompt,omitempty"`

	// url is the URL of a model server outside of the pod: the base URL of its API,
	// such as http://vllm.models.svc:8000/v1, or the URL of its completions, which
	// ends in /chat/completions. Without a path, /v1 is added. The pod then runs only
	// the sidecar, and spec.workload.template must have no container: omit the
	// template, or set containers: [] in its spec for other settings of the pod. The
	// host may be a Service, a private or a public address. Loopback, link-local and
	// cloud metadata addresses are never allowed, nor are the pod itself and the API
	// server. The sidecar verifies an https server
	// with the public certificate authorities and those of spec.trustBundle. With
	// http, it sends everything unencrypted, including the API key. The URL is not
	// secret: do not put a key into it. An edit replaces the pods.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@') && !self.contains('#')",message="spec.workload.backend.chat.url must be an absolute http or https URL without credentials and fragment, such as http://vllm.models.svc:8000/v1; a key belongs in apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(localhost([:/?]|$)|127[.][0-9]|169[.]254[.]|0[.]0[.]0[.]0|[[]::1?[]])')",message="spec.workload.backend.chat.url must not name a loopback or link-local address: leave url out for a model server in the pod, and give its container in spec.workload.template"
	// +optional
	URL string `json:"url,omitempty"`

	// apiKeySecretRef names the API key for the model server. The sidecar sends it
	// as a bearer token in the header Authorization, without leading and trailing
	// white space. A changed key takes effect without a restart. If absent, none is
	// sent.
	// +optional
	APIKeySecretRef *ChatAPIKeyReference `json:"apiKeySecretRef,omitempty"`

	// headers are HTTP headers that the sidecar sends to the model server with each
	// request, such as those that a gateway uses for routing or billing. Their values
	// are not secret: the ConfigMap of the Agent contains them. An edit takes effect
	// without a restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name.lowerAscii() == b.name.lowerAscii()))",message="spec.workload.backend.chat.headers must name each header once, in upper or lower case: remove one of the two"
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []ChatHeader `json:"headers,omitempty"`

	// fileHosts are the hosts from which the model server may fetch the files of
	// callers. The sidecar passes the URL of an image on only if it is an https URL of
	// one of these hosts. It checks the name, or the literal address, and does not
	// resolve it, because the model server fetches the file. If absent, a message with
	// the URL of a file is rejected; images with their bytes and data: URLs always pass.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	FileHosts []FileHost `json:"fileHosts,omitempty"`
}

// FileHost is a DNS name, or *. followed by a DNS name for its subdomains.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",message="must be a DNS name in lower case, such as files.example.com or *.example.com"
// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a DNS name, not an address"
type FileHost string

// ChatAPIKeyReference names an API key in a Secret of the Agent's namespace.
type ChatAPIKeyReference struct {
	// name is the metadata.name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`

	// key is the key of the API key in the Secret. It defaults to "api-key".
	// +kubebuilder:default="api-key"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	// +optional
	Key string `json:"key,omitempty"`
}

// ChatHeader is an HTTP header that is sent to a model server.
type ChatHeader struct {
	// name is the name of the header. The API server rejects a header of the
	// connection or of the body, a header for credentials, and a header that the
	// sidecar sets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['authorization', 'proxy-authorization', 'cookie'])",message="spec.workload.backend.chat.headers must not hold credentials: values of headers are not secret; put the key of the model server into a Secret and name it in spec.workload.backend.chat.apiKeySecretRef"
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['host', 'connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect', 'accept', 'accept-encoding', 'traceparent', 'tracestate', 'baggage']) && !self.lowerAscii().startsWith('content-') && !self.lowerAscii().startsWith('a2a-')",message="spec.workload.backend.chat.headers must not name a header of the connection or the body, or one that the sidecar sets (Host, Connection, Content-*, Accept, A2A-*, traceparent and the like): remove it"
	// +required
	Name string `json:"name"`

	// value is the value of the header: visible ASCII characters, and spaces between
	// them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]([ -~]*[!-~])?$`
	// +required
	Value string `json:"value"`
}

// BackendTimeouts limits the duration of a turn.
//
// +kubebuilder:validation:XValidation:rule="!has(self.firstEvent) || !has(self.turn) || duration(self.firstEvent) <= duration(self.turn)",message="spec.workload.backend.timeouts.firstEvent must not be longer than turn; lower it or raise turn"
// +kubebuilder:validation:XValidation:rule="!has(self.idle) || !has(self.turn) || duration(self.idle) <= duration(self.turn)",message="spec.workload.backend.timeouts.idle must not be longer than turn; lower it or raise turn"
type BackendTimeouts struct {
	// connect is how long the sidecar tries to connect to the container or the model
	// server, as a duration. It defaults to "5s".
	// +kubebuilder:default="5s"
	// +optional
	Connect Duration `json:"connect,omitempty"`

	// firstEvent is the maximum time from the start of the turn to the first byte of
	// the response, as a duration. It defaults to "2m".
	// +kubebuilder:default="2m"
	// +optional
	FirstEvent Duration `json:"firstEvent,omitempty"`

	// idle is the maximum time without data from the agent during a response, as a
	// duration. It defaults to "5m".
	// +kubebuilder:default="5m"
	// +optional
	Idle Duration `json:"idle,omitempty"`

	// turn is the maximum duration of the whole turn, as a duration. It defaults to
	// "1h".
	// +kubebuilder:default="1h"
	// +optional
	Turn Duration `json:"turn,omitempty"`
}

// AgentTasks configures the task store.
type AgentTasks struct {
	// retention is how long a task is kept after it has ended, as a duration. It
	// defaults to "1h".
	// +kubebuilder:default="1h"
	// +optional
	Retention Duration `json:"retention,omitempty"`

	// maxTasks is the maximum number of tasks that are kept. It defaults to 10000.
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	MaxTasks int32 `json:"maxTasks,omitempty"`

	// store selects the task store. With Memory, the tasks of a pod are lost when it
	// ends. A change replaces the pods, which do not get the tasks of the previous
	// store. It defaults to Memory.
	// +kubebuilder:default={}
	// +optional
	Store AgentTaskStore `json:"store,omitempty,omitzero"`
}

// Duration is a duration such as "90s" or "1h30m": integers with the units h, m,
// s and ms.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') && duration(self) > duration('0s')",message="must be a duration longer than zero, such as 90s or 1h30m, in h, m, s and ms"
type Duration string
