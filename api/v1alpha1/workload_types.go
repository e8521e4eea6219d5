// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AgentWorkload configures the pods of an agent, and how the sidecar calls the
// agent's container or the model server.
//
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
	// It is required, except with spec.model.url. With spec.model.url, the pod runs the
	// sidecar and the MCP servers of spec.model.tools that name a port, if any. The
	// template may then have other settings of the pod, such as labels, nodeSelector
	// and tolerations. If it has a spec, the spec needs containers, because Kubernetes
	// requires the field: [] for none.
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
// +kubebuilder:validation:Enum=Events;A2A
type BackendProtocol string

// The protocols.
const (
	// BackendProtocolEvents is one POST per turn, with a response of text, JSON or a
	// stream of A2A events.
	BackendProtocolEvents BackendProtocol = "Events"
	// BackendProtocolA2A is A2A, in any version.
	BackendProtocolA2A BackendProtocol = "A2A"
)

// AgentBackend configures how the sidecar calls the agent's container or the
// model server.
//
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || self.protocol == 'A2A'",message="spec.workload.backend.a2a needs spec.workload.backend.protocol A2A; remove a2a, or change the protocol"
// +kubebuilder:validation:XValidation:rule="!has(self.a2a) || !has(self.a2a.path) || !has(self.path)",message="spec.workload.backend.path and spec.workload.backend.a2a.path are one setting: remove one of them"
type AgentBackend struct {
	// protocol is the protocol of the container. Events is one POST per turn, with a
	// response of type text/plain, application/json, application/x-ndjson or
	// text/event-stream. A2A is for a container that speaks A2A, in any version from
	// 0.1 to 1.0, over JSON-RPC or HTTP+JSON. The sidecar reads the version and the
	// transport from the container's card. With spec.model, the container is a model
	// server, and protocol must be absent. It defaults to Events.
	// +kubebuilder:default=Events
	// +optional
	Protocol BackendProtocol `json:"protocol,omitempty"`

	// port is the port on which the container listens, at 127.0.0.1 or at all
	// addresses. The operator sets the variable PORT of the container to it. It
	// defaults to 8080. It must not be set with spec.model.url, which contains the port
	// of the model server.
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self < 8641 || self > 8643",message="spec.workload.backend.port must not be 8641, 8642 or 8643, the ports of the sidecar: use another port"
	// +optional
	Port int32 `json:"port,omitempty"`

	// path is the path to which the sidecar posts a turn. It defaults to "/" for
	// Events, to the path on the container's card for A2A, and to
	// "/v1/chat/completions" with spec.model. It must not be set with spec.model.url,
	// which contains the path.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/([A-Za-z0-9/._~!$&()*+,;=:@-]|%[0-9A-Fa-f]{2})*$')",message="spec.workload.backend.path must start with '/' and hold no query, fragment or space, and '%' only before two hexadecimal digits"
	// +optional
	Path string `json:"path,omitempty"`

	// a2a configures calls to a container that speaks A2A. Set it if the container's
	// card is at another path than usual, or lacks what the sidecar needs. It requires
	// protocol A2A.
	// +optional
	A2A *AgentA2A `json:"a2a,omitempty"`

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
	// that can safely do the same work twice. With spec.model, it must be absent: a turn
	// always continues after its last step. It defaults to Fail.
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
	// unchanged. The sidecar stores their sessions, tasks and checkpoints with the
	// tasks of the agent. The operator sets the variables KAGENT_URL, KAGENT_NAME and
	// KAGENT_NAMESPACE of the container. If absent, there is no such API.
	// +optional
	SessionAPI SessionAPI `json:"sessionAPI,omitempty"`
}

// SessionAPI is an API at which a container stores its sessions.
// +kubebuilder:validation:Enum=Kagent
type SessionAPI string

// SessionAPIKagent is the API of the SDKs of kagent 0.10.
const SessionAPIKagent SessionAPI = "Kagent"

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
