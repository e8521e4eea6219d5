// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Agent is an A2A agent: a container behind a sidecar (spec.workload), a language
// model with instructions and tools (spec.model), or an agent that runs elsewhere
// (spec.remote).
//
// The operator runs the container of spec.workload in a Deployment, together
// with a sidecar that speaks every version of the protocol, keeps the tasks,
// authenticates callers and publishes the Agent Card. The operator makes the
// card from this resource and from the AgentSkills that it names or selects.
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
// +kubebuilder:printcolumn:name="Operator",type=string,priority=1,JSONPath=`.status.operator`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:fieldPath=".metadata",optionalOldSelf=true,rule="self.metadata.name != 'default' || oldSelf.hasValue()",message="metadata.name must not be default: the ServiceAccount of the Agent has the same name, and ServiceAccount default belongs to the namespace; choose another name"
// +kubebuilder:validation:XValidation:fieldPath=".metadata",rule="self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name is also the name of a Service: use at most 52 lower case letters, digits and '-', starting with a letter and ending with a letter or digit"
type Agent struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is standard object metadata. The name is an RFC 1035 label of at most
	// 52 characters, because a Service and a Deployment have the same name. It must
	// not be default, because the Agent's ServiceAccount has the name of the Agent,
	// and each namespace has a ServiceAccount default.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the agent.
	// +required
	Spec AgentSpec `json:"spec"`
	// status is the observed state of the agent.
	// +kubebuilder:default={conditions: {{type: "Accepted", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "SkillsResolved", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Programmed", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Available", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "CardPublished", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Exposed", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}, {type: "Ready", status: "Unknown", reason: "Pending", message: "Waiting for the operator", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	// +optional
	Status AgentStatus `json:"status,omitempty,omitzero"`
}

// AgentSpec is the desired state of an agent: its card, its skills, its workload
// and its access rules.
//
// +kubebuilder:validation:XValidation:rule="has(self.remote) != (has(self.workload) || has(self.model))",message="spec needs workload or model, which run the agent, or remote, which refers to an agent that runs elsewhere: remove remote, or the two others"
// +kubebuilder:validation:XValidation:rule="has(self.remote) == has(oldSelf.remote)",message="spec.remote cannot be added or removed: delete the Agent and create another"
// +kubebuilder:validation:XValidation:rule="has(self.remote) || has(self.description)",message="spec.description is required, except with spec.remote: the card needs it"
// +kubebuilder:validation:XValidation:rule="has(self.remote) || (has(self.model) && has(self.model.url)) || (has(self.workload) && has(self.workload.template))",message="spec.workload.template is required unless spec.model.url names a model server: add the template with the agent's container, or the url"
// +kubebuilder:validation:XValidation:rule="(has(self.model) && has(self.model.url)) || !has(self.workload) || !has(self.workload.template) || (has(self.workload.template.spec) && size(self.workload.template.spec.containers) > 0)",message="spec.workload.template.spec.containers needs at least one container; the first one is the agent"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !has(self.model.url) || !has(self.workload) || !has(self.workload.template) || !has(self.workload.template.spec) || size(self.workload.template.spec.containers) == 0 || (has(self.model.tools) && self.model.tools.exists(t, has(t.mcp) && has(t.mcp.port)))",message="spec.workload.template.spec.containers must be empty with spec.model.url, unless spec.model.tools names the port of an MCP server in the pod: remove the containers, or the url"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !has(self.model.tools) || !self.model.tools.exists(t, has(t.mcp) && has(t.mcp.port)) || (has(self.workload) && has(self.workload.template) && has(self.workload.template.spec) && size(self.workload.template.spec.containers) > 0)",message="spec.model.tools[].mcp.port needs a container with the MCP server in spec.workload.template.spec.containers: add it, or use url"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !has(self.model.url) || !has(self.workload) || !has(self.workload.autoscaling) || !self.workload.autoscaling.metrics.exists(m, m.type == 'CPU')",message="spec.workload.autoscaling.metrics of type CPU needs the container of an agent, and spec.model.url allows none: use InFlightTurns"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !has(self.workload) || !has(self.workload.backend) || (self.workload.backend.protocol == 'Events' && self.workload.backend.onInterruption == 'Fail' && !has(self.workload.backend.a2a))",message="spec.workload.backend.protocol, a2a and onInterruption have no effect with spec.model: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.model) || !has(self.model.url) || !has(self.workload) || !has(self.workload.backend) || (self.workload.backend.port == 8080 && !has(self.workload.backend.path))",message="spec.workload.backend.port and path have no effect with spec.model.url, which holds port and path of the model server: remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !(has(self.provider) || has(self.iconURL) || has(self.documentationURL) || self.defaultInputModes != ['text/plain'] || self.defaultOutputModes != ['text/plain'] || has(self.extensions) || has(self.skills) || has(self.skillRefs) || has(self.skillSelector) || has(self.cardSigning))",message="a remote agent has its own card: remove spec.provider, iconURL, documentationURL, defaultInputModes, defaultOutputModes, extensions, skills, skillRefs, skillSelector and cardSigning"
// +kubebuilder:validation:XValidation:rule="!has(self.remote) || !(has(self.pushNotifications) || has(self.limits) || has(self.exposure))",message="a remote agent has no sidecar: remove spec.pushNotifications, limits and exposure"
// +kubebuilder:validation:XValidation:rule="!(has(self.remote) && has(self.service))",message="a remote agent has no Service: remove spec.service"
// +kubebuilder:validation:XValidation:rule="!has(self.service) || !has(self.service.grpcPort) || !has(self.protocol) || !has(self.protocol.bindings) || 'GRPC' in self.protocol.bindings",message="spec.service.grpcPort needs GRPC in spec.protocol.bindings: add it, or remove the port"
// +kubebuilder:validation:XValidation:rule="!(has(self.remote) && has(self.egress))",message="a remote agent has no sidecar: remove spec.egress"
// +kubebuilder:validation:XValidation:rule="!(has(self.remote) && has(self.observability))",message="a remote agent has no sidecar: remove spec.observability"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.access.authentication.all(a, a.type == 'Kubernetes') && !has(self.access.authorization) && !has(self.access.cors) && !has(self.access.tls)) || (oldSelf.hasValue() && oldSelf.value().access == self.access)",message="spec.access has no effect with spec.remote, because a remote agent has no sidecar: remove its authentication, authorization, cors and tls, and configure access at the agent itself"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || !has(self.trustBundle) || (oldSelf.hasValue() && has(oldSelf.value().trustBundle) && oldSelf.value().trustBundle == self.trustBundle)",message="spec.trustBundle has no effect with spec.remote: remove it. The operator reads the card with the certificate authorities of --remote-ca-file, and an Agent that calls the remote agent uses its own spec.trustBundle"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.protocol.cardProfile == 'Union' && self.protocol.errorProfile == '1.0.1' && self.protocol.versionCheck == 'Lenient' && self.protocol.finishedTasks == 'Final' && duration(self.protocol.messageDeduplication) == duration('60s') && duration(self.protocol.keepAlive) == duration('10s') && self.protocol.contextReplies == 'NewTask' && self.protocol.bindings == ['JSONRPC', 'HTTPJSON']) || (oldSelf.hasValue() && oldSelf.value().protocol == self.protocol)",message="spec.protocol has no effect with spec.remote: remove it, and configure the agent itself"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.remote) || (self.networkPolicy.management == 'Managed' && !has(self.networkPolicy.egress)) || (oldSelf.hasValue() && oldSelf.value().networkPolicy == self.networkPolicy)",message="spec.networkPolicy has no effect with spec.remote, because a remote agent has no pod: remove it"
type AgentSpec struct {
	// displayName is the name on the card. It defaults to metadata.name. For a
	// remote agent, the registry shows displayName, description and version until
	// the operator has read its card.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	DisplayName string `json:"displayName,omitempty"`

	// description describes what the agent does, for people and for other agents
	// that search the registry. It is part of the card. It is required, except for a
	// remote agent, whose own card has it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	Description string `json:"description,omitempty"`

	// version is the version of the agent on the card. It defaults to "0.0.0".
	// +kubebuilder:default="0.0.0"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	Version string `json:"version,omitempty"`

	// provider is the organization that provides the agent. If absent, the card
	// names none.
	// +optional
	Provider *AgentProvider `json:"provider,omitempty"`

	// iconURL is the http or https URL of an icon of the agent.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.iconURL must be an absolute http or https URL"
	// +optional
	IconURL string `json:"iconURL,omitempty"`

	// documentationURL is the http or https URL of the agent's documentation.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.documentationURL must be an absolute http or https URL"
	// +optional
	DocumentationURL string `json:"documentationURL,omitempty"`

	// defaultInputModes are the media types that a skill accepts, unless the skill
	// has its own inputModes. They default to text/plain.
	// +kubebuilder:default={"text/plain"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DefaultInputModes []MediaType `json:"defaultInputModes,omitempty"`

	// defaultOutputModes are the media types that a skill produces, unless the skill
	// has its own outputModes. They default to text/plain.
	// +kubebuilder:default={"text/plain"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	DefaultOutputModes []MediaType `json:"defaultOutputModes,omitempty"`

	// extensions are the protocol extensions that the agent supports. The card
	// declares them. Clients that do not support them can still call the agent.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=uri
	// +optional
	Extensions []AgentExtension `json:"extensions,omitempty"`

	// skills are the skills of this agent, defined inline. If skills, skillRefs and
	// skillSelector yield no skill, the card lists one that is made from the name
	// and description of the agent.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	// +optional
	Skills []Skill `json:"skills,omitempty"`

	// skillRefs name AgentSkills. The card lists them in this order, after the skills
	// of spec.skills.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name == b.name && (has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '')))",message="spec.skillRefs must name each AgentSkill once"
	// +listType=atomic
	// +optional
	SkillRefs []AgentSkillRef `json:"skillRefs,omitempty"`

	// skillSelector selects AgentSkills in the Agent's namespace by their labels. The
	// card lists them after those of spec.skillRefs, ordered by metadata.name. An
	// AgentSkill that spec.skillRefs also names is listed once. If skillSelector is
	// absent, no AgentSkill is selected. An empty selector selects all AgentSkills of
	// the namespace. It selects at most 64 AgentSkills.
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || self.matchLabels.size() <= 32",message="spec.skillSelector.matchLabels must have at most 32 labels"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.size() <= 32 && self.matchExpressions.all(e, !has(e.values) || e.values.size() <= 32)",message="spec.skillSelector.matchExpressions must have at most 32 requirements with 32 values each"
	// +optional
	SkillSelector *metav1.LabelSelector `json:"skillSelector,omitempty"`

	// model makes the agent from a language model, instructions and tools, without a
	// program. With model, workload is optional.
	// +optional
	Model *AgentModel `json:"model,omitempty"`

	// workload configures the pods of the agent, such as the container of the agent. At
	// least one of model and workload must be set, or remote.
	// +optional
	Workload *AgentWorkload `json:"workload,omitempty"`

	// remote is an agent that runs outside of the operator's control and speaks A2A.
	// The operator creates no pod for it: it reads the card of the agent, and the
	// registry lists the card. Fields that configure a card, a pod or a sidecar are
	// rejected together with remote.
	// +optional
	Remote *AgentRemote `json:"remote,omitempty"`

	// access configures which callers are admitted. By default, the ServiceAccounts of
	// the Agent's own namespace are admitted.
	// +kubebuilder:default={}
	// +optional
	Access AgentAccess `json:"access,omitempty,omitzero"`

	// trustBundle references PEM certificates of certificate authorities. The sidecar
	// uses them when it verifies a server: an agent with TLS that this agent calls
	// through its gateway, the issuer of JWTs, the model server, or a webhook. The sidecar also
	// trusts the public certificate authorities, and ca.crt of the Secret of
	// access.tls. If trustBundle is absent, it trusts only those. An edit takes effect
	// without a restart.
	// +optional
	TrustBundle *CABundleReference `json:"trustBundle,omitempty"`

	// cardSigning configures the signature of the card. If absent, the card is not
	// signed.
	// +optional
	CardSigning *AgentCardSigning `json:"cardSigning,omitempty"`

	// protocol configures behavior that the A2A protocol leaves open, or that differs
	// between its versions.
	// +kubebuilder:default={}
	// +optional
	Protocol AgentProtocol `json:"protocol,omitempty,omitzero"`

	// networkPolicy configures the NetworkPolicy of the pods. By default it admits
	// ingress to the ports of the sidecar only, and any egress.
	// +kubebuilder:default={}
	// +optional
	NetworkPolicy AgentNetworkPolicy `json:"networkPolicy,omitempty,omitzero"`

	// egress configures the connections of the sidecar to servers outside of the
	// cluster. If absent, the defaults of the installation apply.
	// +optional
	Egress *AgentEgress `json:"egress,omitempty"`

	// pushNotifications allows clients to register webhooks for the events of their
	// tasks, at the targets listed here. If absent, push notifications are off.
	// +optional
	PushNotifications *AgentPushNotifications `json:"pushNotifications,omitempty"`

	// service configures the ports of the Service of the agent. If absent, the defaults
	// apply.
	// +optional
	Service *AgentService `json:"service,omitempty"`

	// exposure makes the agent reachable from outside the cluster, through Gateways
	// of the Gateway API. If absent, it is reachable inside the cluster only.
	// +optional
	Exposure *AgentExposure `json:"exposure,omitempty"`

	// discovery configures who finds the agent in the registry. By default, only
	// callers whose RBAC lets them see the Agent's namespace find it.
	// +kubebuilder:default={}
	// +optional
	Discovery AgentDiscovery `json:"discovery,omitempty,omitzero"`

	// limits bounds the resources that callers use. If absent, the defaults apply.
	// +optional
	Limits *AgentLimits `json:"limits,omitempty"`

	// observability configures what the sidecar reports: its log, profiles of its
	// process, and traces. If absent, the defaults apply.
	// +optional
	Observability *AgentObservability `json:"observability,omitempty"`

	// suspend stops the agent: no pod runs, regardless of replicas. The resource,
	// its card in the registry and its objects remain. It defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AgentProvider is the organization that provides an agent. A2A requires both
// fields.
type AgentProvider struct {
	// organization is the name of the organization.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Organization string `json:"organization"`

	// url is the http or https URL of the organization.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != ''",message="spec.provider.url must be an absolute http or https URL"
	// +required
	URL string `json:"url"`
}

// AgentExtension declares a protocol extension on the card.
type AgentExtension struct {
	// uri identifies the extension.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	URI string `json:"uri"`

	// description describes how the agent uses the extension.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]*$`
	// +optional
	Description string `json:"description,omitempty"`

	// params is a JSON object that the extension defines. The card has it unchanged.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Params *runtime.RawExtension `json:"params,omitempty"`
}

// AgentSkillRef names an AgentSkill.
type AgentSkillRef struct {
	// namespace is the namespace of the AgentSkill. It defaults to the namespace of
	// the Agent. An AgentSkill of another namespace must admit the Agent by its
	// spec.allowedAgents.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the metadata.name of the AgentSkill.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`
}

// AgentStatus is the observed state of an agent. It does not contain the card.
type AgentStatus struct {
	// conditions are Accepted, SkillsResolved, Programmed, Available, CardPublished,
	// Exposed and Ready, which are always present. Ready summarizes the others.
	// ToolsAvailable is present if spec.model.tools names an MCP server, Stalled only
	// while a user must change something, and ManagedByAnotherOperator while a second
	// operator watches the Agent.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// operator names the operator that manages the Agent, as NAMESPACE/NAME. Another
	// operator that watches the Agent leaves it alone.
	// +kubebuilder:validation:MaxLength=127
	// +optional
	Operator string `json:"operator,omitempty"`

	// url is the URL of the agent inside the cluster.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	URL string `json:"url,omitempty"`

	// externalURL is the URL of the agent outside the cluster. It is set once a
	// Gateway routes to the agent.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ExternalURL string `json:"externalURL,omitempty"`

	// cardDigest is a digest of the published card. It changes whenever the card
	// changes.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	CardDigest string `json:"cardDigest,omitempty"`

	// skills is the number of skills on the card.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Skills *int32 `json:"skills,omitempty"`

	// revisions describes the kept revisions of the agent. It is absent before the agent
	// is ready for the first time, and for a remote agent.
	// +optional
	Revisions *AgentRevisions `json:"revisions,omitempty"`

	// images are the images that the ready pods of the current template run, ordered by
	// container.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=container
	// +optional
	Images []AgentImage `json:"images,omitempty"`

	// replicas is the number of pods of the agent. A new pod is counted as soon as
	// another part of the status changes, and after 10 s at the latest.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas int32 `json:"replicas"`

	// selector is the label selector of the agent's pods, in the string form of the
	// scale subresource.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Selector string `json:"selector,omitempty"`

	// observedGeneration is the metadata.generation that this status describes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedSpecDigest is a digest of the fields that the spec set when the operator
	// accepted it last. By this digest, the operator notices that the spec has lost
	// fields without an edit, such as those that an older CustomResourceDefinition
	// does not have.
	// +kubebuilder:validation:MaxLength=16384
	// +optional
	ObservedSpecDigest string `json:"observedSpecDigest,omitempty"`

	// observedSchemaGeneration is the metadata.generation of the
	// CustomResourceDefinition with which the operator read the spec of
	// observedSpecDigest.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ObservedSchemaGeneration int64 `json:"observedSchemaGeneration,omitempty"`
}

// AgentList is a list of Agents.
//
// +kubebuilder:object:root=true
type AgentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Agent `json:"items"`
}
