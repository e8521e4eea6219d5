// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels of the objects that the operator makes.
const (
	// LabelAgent holds the Agent's name. It selects the pods, and is the only
	// label that does.
	LabelAgent = "a2a-operator.dev/agent"
	// LabelName, LabelInstance, LabelComponent, LabelPartOf and
	// LabelManagedBy are the recommended labels of Kubernetes.
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelPartOf    = "app.kubernetes.io/part-of"
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

// Values of the recommended labels.
const (
	ComponentAgent = "agent"
	PartOf         = "a2a"
	ManagedBy      = "a2a-operator"
)

// Annotations of the objects that the operator makes.
const (
	// AnnotationAppliedDigest names what the operator applied last.
	AnnotationAppliedDigest = "a2a-operator.dev/applied-digest"
	// AnnotationConfigDigest names the contract: on the ConfigMap what it
	// holds, on a pod what the pod was told to read.
	AnnotationConfigDigest = "a2a-operator.dev/config-digest"
)

// Field owners of server-side apply and patches.
const (
	// FieldOwner owns the objects of an Agent and its status.
	FieldOwner = "a2a-operator"
	// FieldOwnerPublisher owns AnnotationConfigDigest on pods.
	FieldOwnerPublisher = "a2a-operator-publisher"
	// FieldOwnerScaler owns the number of pods of a Deployment that is otherwise
	// left as it is.
	FieldOwnerScaler = "a2a-operator-scaler"
)

// Names that the operator adds to the pod of an Agent. A template must not
// use them.
const (
	// ContainerSidecar is the sidecar's container.
	ContainerSidecar = "a2a-sidecar"
	// VolumeConfig holds the contract, for the sidecar.
	VolumeConfig = "a2a-config"
	// VolumeCardSigning holds the keys that sign the card, for the sidecar.
	VolumeCardSigning = "a2a-card-signing"
	// VolumeAPIKeys holds the API keys of callers, for the sidecar.
	VolumeAPIKeys = "a2a-api-keys" //nolint:gosec // a name, not a credential
	// VolumeTLS holds the agent's certificate, VolumeClientCA the authorities of
	// its clients', and VolumeTrust those of the servers that it calls.
	VolumeTLS      = "a2a-tls"
	VolumeClientCA = "a2a-client-ca"
	VolumeTrust    = "a2a-trust"
	// VolumeStorePassword and VolumeStoreTLS are for the connections to the task
	// store.
	VolumeStorePassword = "a2a-store-password" //nolint:gosec // a name, not a credential
	VolumeStoreTLS      = "a2a-store-tls"
	// VolumeChatKey holds the API key that is sent to the model server.
	VolumeChatKey = "a2a-chat-key"
	// VolumeToken holds the sidecar's own ServiceAccount token.
	VolumeToken = "a2a-token"
	// PortAgent and PortHealth name the sidecar's ports.
	PortAgent  = "a2a"
	PortHealth = "a2a-health"
	// PortGRPC names the port of the Service at which Gateways speak gRPC.
	PortGRPC = "a2a-grpc"
	// PortPlain is where a Service whose agent has TLS tells so to those who do
	// not ask for it.
	PortPlain = "a2a-plain"
)

// Variables that the operator gives to the agent's container unless the
// template sets them.
const (
	// EnvPort holds spec.workload.backend.port.
	EnvPort = "PORT"
	// EnvGatewayURL holds the address at which the sidecar takes the agent's
	// calls to the registry and to other agents.
	EnvGatewayURL = "A2A_GATEWAY_URL"
)

// PodConditionPrefix begins the types of the conditions in the status of an
// agent's pod that say which dependencies of the sidecar cannot be used, such as
// a2a-operator.dev/TaskStore. The sidecar reports them through the registry. They
// are absent until a dependency has failed once.
const PodConditionPrefix = "a2a-operator.dev/"

// Audience is that of the tokens with which sidecars call each other. The
// audience of one agent is <name>.<namespace>.<Audience>.
const Audience = "a2a-operator.dev"
