// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Agent is a container that serves the A2A protocol.
//
// The operator runs the container of spec.workload in a Deployment, together
// with a sidecar that speaks every version of the protocol, keeps the tasks,
// authenticates callers and publishes the Agent Card. The card is made from
// this resource and from the AgentSkills that it names or selects.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.workload.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:categories=a2a
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Skills",type=integer,JSONPath=`.status.skills`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="External",type=string,priority=1,JSONPath=`.status.externalURL`
// +kubebuilder:printcolumn:name="Card",type=string,priority=1,JSONPath=`.status.cardDigest`
// +kubebuilder:printcolumn:name="Replicas",type=integer,priority=1,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="self.metadata.name != 'default' || oldSelf.hasValue()",message="metadata.name must not be default: the ServiceAccount of that name is the namespace's own, and an Agent has one of its name; choose another"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name names a Service too: use at most 52 lower case letters, digits and '-', starting with a letter and ending with a letter or digit"
type Agent struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard object metadata. The name is an RFC 1035 label of
	// at most 52 characters, because it names a Service and a Deployment too. It
	// is not default, which names the ServiceAccount of the namespace.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the agent should be.
	// +required
	Spec AgentSpec `json:"spec"`
	// status is what the agent is.
	// +kubebuilder:default={conditions: {{type: "Accepted", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "SkillsResolved", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Programmed", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Available", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "CardPublished", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Exposed", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Ready", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	// +optional
	Status AgentStatus `json:"status,omitempty,omitzero"`
}

// AgentSpec is what an agent should be: who it is, what it can do, what runs
// it and who may call it.
//
// +kubebuilder:validation:XValidation:rule="has(self.workload) != has(self.remote)",message="exactly one of spec.workload and spec.remote must be set: the container of the agent, or where it runs already"
// +kubebuilder:validation:XValidation:rule="has(self.workload) == has(oldSelf.workload)",message="an Agent cannot change from spec.workload to spec.remote or back; delete it and create another"
// +kubebuilder:validation:XValidation:rule="has(self.remote) || has(self.description)",message="spec.description is required: it stands on the card"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !(has(self.provider) || has(self.iconURL) || has(self.documentationURL) || self.defaultInputModes != ['text/plain'] || self.defaultOutputModes != ['text/plain'] || has(self.extensions) || has(self.skills) || has(self.skillRefs) || has(self.skillSelector) || has(self.cardSigning))",message="the card of an agent with spec.remote is its own: remove spec.provider, iconURL, documentationURL, defaultInputModes, defaultOutputModes, extensions, skills, skillRefs, skillSelector and cardSigning"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !(has(self.pushNotifications) || has(self.limits) || has(self.exposure))",message="an agent with spec.remote has no sidecar: remove spec.pushNotifications, limits and exposure"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.access.authentication.all(a, a.type == 'Kubernetes') && !has(self.access.authorization) && !has(self.access.cors) && !has(self.access.tls)) || (oldSelf.hasValue() && oldSelf.value().access == self.access)",message="spec.access has no effect with spec.remote, which has no sidecar that checks who calls: remove its authentication, authorization, cors and tls, and guard the agent where it runs"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || !has(self.trustBundle) || (oldSelf.hasValue() && has(oldSelf.value().trustBundle) && oldSelf.value().trustBundle == self.trustBundle)",message="spec.trustBundle has no effect with spec.remote: remove it; its card is read with the authorities of the manager's --remote-ca-file, and an Agent that calls it trusts those of its own spec.trustBundle"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.protocol.cardProfile == 'Union' && self.protocol.errorProfile == '1.0.1' && self.protocol.versionCheck == 'Lenient' && self.protocol.finishedTasks == 'Final' && duration(self.protocol.messageDeduplication) == duration('60s') && self.protocol.contextReplies == 'NewTask' && self.protocol.bindings == ['JSONRPC', 'HTTPJSON']) || (oldSelf.hasValue() && oldSelf.value().protocol == self.protocol)",message="spec.protocol has no effect with spec.remote: remove it; the agent chooses where it runs"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.networkPolicy.management == 'Managed' && !has(self.networkPolicy.egress)) || (oldSelf.hasValue() && oldSelf.value().networkPolicy == self.networkPolicy)",message="spec.networkPolicy has no effect with spec.remote, which has no pod: remove it"
type AgentSpec struct {
	// displayName is the name on the card. It defaults to metadata.name. That of
	// a remote agent, its description and its version stand in the registry until
	// its own card was read.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +optional
	DisplayName string `json:"displayName,omitempty"`

	// description says what the agent does, for people and for other agents
	// that look for one. It stands on the card, and is required but for a
	// remote agent, which describes itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Description string `json:"description,omitempty"`

	// version is the agent's own version, as it stands on the card.
	// It defaults to "0.0.0".
	// +kubebuilder:default="0.0.0"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Version string `json:"version,omitempty"`

	// provider is the organization behind the agent. Absent means that the
	// card names none.
	// +optional
	Provider *AgentProvider `json:"provider,omitempty"`

	// iconURL is an http or https address of a picture of the agent.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.iconURL must be an absolute http or https URL"
	// +optional
	IconURL string `json:"iconURL,omitempty"`

	// documentationURL is an http or https address of the agent's documentation.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.documentationURL must be an absolute http or https URL"
	// +optional
	DocumentationURL string `json:"documentationURL,omitempty"`

	// defaultInputModes are the media types that every skill takes unless it
	// says otherwise. They default to text/plain.
	// +kubebuilder:default={"text/plain"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DefaultInputModes []MediaType `json:"defaultInputModes,omitempty"`

	// defaultOutputModes are the media types that every skill gives unless it
	// says otherwise. They default to text/plain.
	// +kubebuilder:default={"text/plain"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DefaultOutputModes []MediaType `json:"defaultOutputModes,omitempty"`

	// extensions are the protocol extensions that the agent understands. The
	// card declares them; clients that do not know them are still served.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=uri
	// +optional
	Extensions []AgentExtension `json:"extensions,omitempty"`

	// skills are the things that this agent can do, written in place. With no
	// skill here, in skillRefs or by skillSelector, the card lists a single
	// one that is made from the agent's own name and description.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	// +optional
	Skills []Skill `json:"skills,omitempty"`

	// skillRefs name AgentSkills. They stand on the card after skills, in this
	// order.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name == b.name && (has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '')))",message="spec.skillRefs must name each AgentSkill once"
	// +listType=atomic
	// +optional
	SkillRefs []AgentSkillRef `json:"skillRefs,omitempty"`

	// skillSelector selects AgentSkills in the Agent's namespace by their
	// labels. They stand on the card after skillRefs, ordered by name, each
	// once. Absent selects none; an empty selector selects all of the namespace.
	// +optional
	SkillSelector *metav1.LabelSelector `json:"skillSelector,omitempty"`

	// workload is the container that does the agent's work.
	// +optional
	Workload *AgentWorkload `json:"workload,omitempty"`

	// remote is an agent that runs elsewhere and speaks A2A. It gets no pod:
	// the operator reads its card, and the registry lists it. What is about a
	// card, a pod or a sidecar of its own is refused beside it.
	// +optional
	Remote *AgentRemote `json:"remote,omitempty"`

	// access says who may call. It defaults to ServiceAccounts of the Agent's
	// own namespace.
	// +kubebuilder:default={}
	// +optional
	Access AgentAccess `json:"access,omitempty,omitzero"`

	// trustBundle holds PEM certificates of authorities that the sidecar trusts
	// beside the public ones: for agents that are served with TLS, which this
	// agent calls through its gateway, and for the issuer of JWTs. Those of the
	// Secret of access.tls, under ca.crt, need not be named again. Absent adds
	// none. An edit takes effect without a restart.
	// +optional
	TrustBundle *CABundleReference `json:"trustBundle,omitempty"`

	// cardSigning says how the card is signed. Absent leaves it unsigned.
	// +optional
	CardSigning *AgentCardSigning `json:"cardSigning,omitempty"`

	// protocol holds choices that the A2A protocol leaves open.
	// +kubebuilder:default={}
	// +optional
	Protocol AgentProtocol `json:"protocol,omitempty,omitzero"`

	// networkPolicy says what the network lets through. It defaults to a policy
	// that admits callers to the sidecar only and lets the pods connect anywhere.
	// +kubebuilder:default={}
	// +optional
	NetworkPolicy AgentNetworkPolicy `json:"networkPolicy,omitempty,omitzero"`

	// pushNotifications lets clients have the events of their tasks posted to
	// webhooks, at the places that are allowed here. Absent turns them off.
	// +optional
	PushNotifications *AgentPushNotifications `json:"pushNotifications,omitempty"`

	// exposure serves the agent outside the cluster, through Gateways of the
	// Gateway API. Absent keeps it inside.
	// +optional
	Exposure *AgentExposure `json:"exposure,omitempty"`

	// limits bounds what callers use. Absent means the defaults.
	// +optional
	Limits *AgentLimits `json:"limits,omitempty"`

	// suspend stops the agent: no pod runs, whatever replicas says, while the
	// resource, its card in the registry and its objects stay.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AgentProvider is the organization behind an agent. The protocol wants both
// fields.
type AgentProvider struct {
	// organization is its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +required
	Organization string `json:"organization"`

	// url is its http or https address.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.provider.url must be an absolute http or https URL"
	// +required
	URL string `json:"url"`
}

// AgentExtension declares a protocol extension on the card.
type AgentExtension struct {
	// uri names the extension.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	URI string `json:"uri"`

	// description says how the agent uses the extension.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Description string `json:"description,omitempty"`

	// params is any JSON object; the extension defines what stands in it. It
	// is published as it is.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Params *runtime.RawExtension `json:"params,omitempty"`
}

// AgentSkillRef names an AgentSkill.
type AgentSkillRef struct {
	// namespace is the AgentSkill's. It defaults to the Agent's own; an
	// AgentSkill of another one must admit the Agent by its
	// spec.allowedAgents.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the AgentSkill's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// AgentStatus is what an agent is. The card itself is not part of it.
type AgentStatus struct {
	// conditions are Accepted, SkillsResolved, Programmed, Available,
	// CardPublished, Exposed and their summary, Ready. All are always present.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// url is where the agent is served inside the cluster.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	URL string `json:"url,omitempty"`

	// externalURL is where the agent is served outside the cluster, once a
	// Gateway leads to it.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ExternalURL string `json:"externalURL,omitempty"`

	// cardDigest names the content of the published card. It changes whenever
	// the card does.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	CardDigest string `json:"cardDigest,omitempty"`

	// skills is the number of skills on the card.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Skills *int32 `json:"skills,omitempty"`

	// replicas is the number of pods that run for this agent. One that starts
	// is counted when there is more to tell of it, or after ten seconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas"`

	// selector selects the agent's pods, in the string form that the scale
	// subresource reads.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Selector string `json:"selector,omitempty"`

	// observedGeneration is the metadata.generation that this status is about.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// AgentList is a list of Agents.
//
// +kubebuilder:object:root=true
type AgentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Agent `json:"items"`
}
