// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentProtocol configures behavior that the A2A protocol leaves open, or that
// differs between its versions. The defaults support clients of every version.
// An edit takes effect without a restart.
type AgentProtocol struct {
	// bindings are the transports that the card lists, the preferred one first:
	// JSONRPC, HTTPJSON and GRPC. The sidecar serves all three, listed or not. They
	// default to JSONRPC and HTTPJSON, because the address of gRPC is a host and a
	// port, and some clients, such as google-adk, reject a card with an address that
	// is not a URL.
	// +kubebuilder:default={JSONRPC,HTTPJSON}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="spec.protocol.bindings must name each binding once"
	// +listType=atomic
	// +optional
	Bindings []CardBinding `json:"bindings,omitempty"`

	// cardProfile is Union or V1. With Union, the sidecar serves one card for clients
	// of every version. With V1, it serves the pure card of A2A 1.0 at
	// /.well-known/agent-card.json, for clients that reject members of other versions.
	// Older clients then find their card at /.well-known/agent.json. A client that
	// requests 1.x with A2A-Version always gets the card of 1.0. It defaults to Union.
	// +kubebuilder:default=Union
	// +optional
	CardProfile CardProfile `json:"cardProfile,omitempty"`

	// errorProfile selects the release of A2A 1.0 whose mapping of errors to
	// statuses of HTTP and gRPC applies, because the releases differ. It defaults to
	// "1.0.1".
	// +kubebuilder:default="1.0.1"
	// +optional
	ErrorProfile ErrorProfile `json:"errorProfile,omitempty"`

	// versionCheck is Lenient or Strict. Lenient serves a request by its method if
	// A2A-Version is missing, or is 1.0 and the method belongs to an older version.
	// Strict rejects the latter, and requests of 1.0 without A2A-Version. Both reject
	// any other version that does not have the method. It defaults to Lenient.
	// +kubebuilder:default=Lenient
	// +optional
	VersionCheck VersionCheck `json:"versionCheck,omitempty"`

	// finishedTasks is Final or Restart. With Final, no message continues a finished
	// task, as in A2A since 0.2.4. With Restart, a message of a 0.1 client restarts a
	// finished task. It defaults to Final.
	// +kubebuilder:default=Final
	// +optional
	FinishedTasks FinishedTasks `json:"finishedTasks,omitempty"`

	// messageDeduplication is how long the sidecar recognizes a repeated message after the
	// end of its turn, as a duration from "0s" to "10m". A repeated message has the messageId and the
	// content of an earlier message, and the sidecar answers it with the task of that
	// message. After that task was continued or canceled, the sidecar no longer
	// recognizes the message. "0s" turns deduplication off: a client that retries a
	// message then starts the work twice. It defaults to "60s".
	// +kubebuilder:default="60s"
	// +optional
	MessageDeduplication DeduplicationWindow `json:"messageDeduplication,omitempty"`

	// keepAlive is the time without an event after which the sidecar sends a comment in a
	// stream of server-sent events, as a duration from "1s" to "10m". Clients and proxies
	// close a stream that is silent for too long. It defaults to "10s".
	// +kubebuilder:default="10s"
	// +optional
	KeepAlive KeepAliveInterval `json:"keepAlive,omitempty"`

	// contextReplies selects the effect of a message with a contextId and no taskId.
	// NewTask starts a task, as the protocol specifies. ContinuePaused is for clients
	// that answer a question with the contextId only: it continues the paused task
	// (input-required or auth-required) of the same caller in that context. If the
	// context has no paused task, or more than one, the message starts a task. It
	// defaults to NewTask.
	// +kubebuilder:default=NewTask
	// +optional
	ContextReplies ContextReplies `json:"contextReplies,omitempty"`
}

// DeduplicationWindow is a duration from "0s" to "10m": integers with the units
// m, s and ms.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}(m|s|ms)){1,3}$') && duration(self) <= duration('10m')",message="spec.protocol.messageDeduplication must be a duration from 0s to 10m, such as 60s or 5m, in m, s and ms; 0s turns deduplication off"
type DeduplicationWindow string

// KeepAliveInterval is a duration from "1s" to "10m": integers with the units m, s and
// ms.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}(m|s|ms)){1,3}$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="spec.protocol.keepAlive must be a duration from 1s to 10m, such as 10s, in m, s and ms"
type KeepAliveInterval string

// ContextReplies is the effect of a message with a contextId and no taskId.
//
// +kubebuilder:validation:Enum=NewTask;ContinuePaused
type ContextReplies string

// The values of ContextReplies.
const (
	ContextRepliesNewTask        ContextReplies = "NewTask"
	ContextRepliesContinuePaused ContextReplies = "ContinuePaused"
)

// CardBinding is a transport that a card may list.
//
// +kubebuilder:validation:Enum=JSONRPC;HTTPJSON;GRPC
type CardBinding string

// The bindings, which a card calls JSONRPC, HTTP+JSON and GRPC.
const (
	CardBindingJSONRPC  CardBinding = "JSONRPC"
	CardBindingHTTPJSON CardBinding = "HTTPJSON"
	CardBindingGRPC     CardBinding = "GRPC"
)

// CardProfile selects the forms of the card and their paths.
//
// +kubebuilder:validation:Enum=Union;V1
type CardProfile string

// The card profiles.
const (
	CardProfileUnion CardProfile = "Union"
	CardProfileV1    CardProfile = "V1"
)

// ErrorProfile is the release of A2A 1.0 whose mapping of errors to statuses applies.
//
// +kubebuilder:validation:Enum="1.0.1";"1.0.0"
type ErrorProfile string

// The error profiles.
const (
	ErrorProfile101 ErrorProfile = "1.0.1"
	ErrorProfile100 ErrorProfile = "1.0.0"
)

// VersionCheck selects the handling of a request whose A2A-Version does not
// match its method.
//
// +kubebuilder:validation:Enum=Lenient;Strict
type VersionCheck string

// The version checks.
const (
	VersionCheckLenient VersionCheck = "Lenient"
	VersionCheckStrict  VersionCheck = "Strict"
)

// FinishedTasks is the effect of a message to a finished task.
//
// +kubebuilder:validation:Enum=Final;Restart
type FinishedTasks string

// The values of FinishedTasks.
const (
	FinishedTasksFinal   FinishedTasks = "Final"
	FinishedTasksRestart FinishedTasks = "Restart"
)

// AgentCardSigning configures the signature of the Agent Card, with which
// clients verify its integrity.
//
// The sidecar signs the card; the operator does not read the Secret. The agent
// serves the public keys at /.well-known/jwks.json.
type AgentCardSigning struct {
	// secretRef names a Secret in the Agent's namespace. Its key tls.key has the
	// private key, as PEM or as JWK: EC on P-256 or P-384, Ed25519, or RSA of 2048
	// bits or more. During a rotation its key previous.key has the previous private
	// key, and the sidecar signs the card with both. An edit of the Secret takes
	// effect without a restart. The key id is the kid of the JWK or, without one, the
	// RFC 7638 thumbprint of the public key.
	// +required
	SecretRef SecretReference `json:"secretRef"`

	// jwksURL is an https URL at which you publish the public keys. The signatures
	// contain it (jku), for clients that do not know the keys. If absent, the
	// signatures contain no URL.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != ''",message="spec.cardSigning.jwksURL must be an absolute https URL"
	// +optional
	JWKSURL string `json:"jwksURL,omitempty"`
}

// The keys of a Secret that signs cards.
const (
	// CardSigningKey is the key of the private key.
	CardSigningKey = "tls.key"
	// CardSigningPreviousKey is the key of the previous private key during a
	// rotation.
	CardSigningPreviousKey = "previous.key"
)

// SecretReference names a Secret in the namespace of the Agent.
type SecretReference struct {
	// name is the Secret's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
}

// AgentPushNotifications configures push notifications: the sidecar posts events
// of tasks to webhooks that clients register.
type AgentPushNotifications struct {
	// allowedTargets are the allowed targets of webhooks. The sidecar rejects all
	// others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +required
	AllowedTargets []PushTarget `json:"allowedTargets"`
}

// PushTarget is an allowed target of webhooks. Exactly one of its fields must be
// set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.namespace), has(self.host), has(self.cidr)].filter(x, x).size() == 1",message="set exactly one of service, namespace, host and cidr"
type PushTarget struct {
	// service is a Service of the cluster. Webhooks reach it at
	// <name>.<namespace>.svc by http or https.
	// +optional
	Service *PushService `json:"service,omitempty"`

	// namespace allows all Services of the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// host is a DNS name such as hooks.example.com, *.example.com for all its
	// subdomains, or * for every name. Webhooks reach it by https, and only at
	// public addresses or at addresses in a cidr of the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '*' || self.matches('^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",message="must be a DNS name in lower case, such as hooks.example.com, *.example.com or *"
	// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a DNS name; allow an address by cidr"
	// +kubebuilder:validation:XValidation:rule="!self.endsWith('.svc') && !self.contains('.svc.')",message="must not be a name of the cluster; allow it by service or namespace"
	// +optional
	Host string `json:"host,omitempty"`

	// cidr is a range of addresses such as 203.0.113.0/24, for every name that
	// resolves to them. Addresses that are not public can be called by http, too.
	// Loopback, link-local and metadata addresses are never allowed, nor are the pod
	// itself, its node and the API server.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a range of addresses, such as 203.0.113.0/24 or 2001:db8::/32"
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// PushService names a Service.
type PushService struct {
	// name is the metadata.name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Service"
	// +required
	Name string `json:"name"`

	// namespace is the namespace of the Service. It defaults to the namespace of the
	// Agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
