// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels of the objects that the operator creates.
const (
	// LabelAgent has the name of the Agent. It is the only label of the pod
	// selectors.
	LabelAgent = "a2a-operator.dev/agent"
	// LabelName, LabelInstance, LabelComponent, LabelPartOf and LabelManagedBy are
	// recommended labels of Kubernetes.
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

// Annotations of the objects that the operator creates.
const (
	// AnnotationAppliedDigest has the digest of the object that the operator applied
	// last.
	AnnotationAppliedDigest = "a2a-operator.dev/applied-digest"
	// AnnotationConfigDigest has the digest of the sidecar configuration. On a
	// ConfigMap it is the digest of the content, and on a pod the digest of the
	// configuration that the pod reads.
	AnnotationConfigDigest = "a2a-operator.dev/config-digest"
	// AnnotationTemplateDigest has, on a pod and in the pod template, the digest of the
	// pod template that the operator rendered. It shows which pods have the current spec.
	AnnotationTemplateDigest = "a2a-operator.dev/template-digest"
	// AnnotationRevisionDigest has, on a ControllerRevision, the digest of the revision.
	AnnotationRevisionDigest = "a2a-operator.dev/revision-digest"
	// AnnotationServiceAccountUID has, in the pod template, the UID of the ServiceAccount of
	// the pods if the ServiceAccount is younger than the Deployment. The tokens of pods that
	// are older than their ServiceAccount are not valid, so a new UID replaces the pods.
	AnnotationServiceAccountUID = "a2a-operator.dev/service-account-uid"
	// AnnotationRestartOn has, in the pod template, the resource versions of the objects of
	// spec.workload.restartOn. Another version replaces the pods.
	AnnotationRestartOn = "a2a-operator.dev/restart-on"
	// AnnotationCardSignatures has, on a pod, the signatures of the card that its sidecar
	// serves, as JSON. The sidecar reports them through the registry.
	AnnotationCardSignatures = "a2a-operator.dev/card-signatures"
)

// AnnotationAcceptSpec confirms, on an Agent or AgentSkill with the reason SpecPruned,
// that the spec is complete although it has lost fields. Its value is the
// metadata.generation of the object. Users set it.
const AnnotationAcceptSpec = "a2a-operator.dev/accept-spec"

// AnnotationOperator names, on an Agent or AgentSkill, the operator that shall manage it, as
// NAMESPACE/NAME of its Deployment's --namespace and --name. An operator with this name takes
// the object over from the one in status.operator. Users set it.
const AnnotationOperator = "a2a-operator.dev/operator"

// AnnotationRestartedAt has, on an Agent, the time of its last restart. The operator copies it to
// the pod template, so a new value replaces the pods. `kubectl a2a restart` sets it.
const AnnotationRestartedAt = "a2a-operator.dev/restarted-at"

// Field owners of server-side apply and patches.
const (
	// FieldOwner owns the objects of an Agent, the statuses of Agents and AgentSkills,
	// and the Secret with the token keys.
	FieldOwner = "a2a-operator"
	// FieldOwnerPublisher owns AnnotationConfigDigest on pods.
	FieldOwnerPublisher = "a2a-operator-publisher"
	// FieldOwnerRegistry owns AnnotationCardSignatures on pods. Every replica of the
	// manager writes the annotation, not only the leader.
	FieldOwnerRegistry = "a2a-operator-registry"
	// FieldOwnerScaler owns the number of pods of a Deployment while the rest of the
	// spec is not applied.
	FieldOwnerScaler = "a2a-operator-scaler"
	// FieldOwnerObserver owns ConditionManagedByAnotherOperator.
	FieldOwnerObserver = "a2a-operator-observer"
	// FieldOwnerRollback owns spec.workload.revision of an Agent after kubectl a2a rollback. It does not
	// begin with kubectl: Flux removes the fields of field managers with this prefix.
	FieldOwnerRollback = "a2a-rollback"
)

// Names that the operator adds to the pods of an Agent. A template must not use
// them.
const (
	// ContainerSidecar is the container of the sidecar.
	ContainerSidecar = "a2a-sidecar"
	// VolumeConfig has the sidecar configuration.
	VolumeConfig = "a2a-config"
	// VolumeCardSigning has the keys that sign the card.
	VolumeCardSigning = "a2a-card-signing"
	// VolumeAPIKeys has the API keys of callers.
	VolumeAPIKeys = "a2a-api-keys"
	// VolumeTLS has the agent's certificate, VolumeClientCA the certificate
	// authorities of its clients, and VolumeTrust those of the servers that it
	// calls.
	VolumeTLS      = "a2a-tls"
	VolumeClientCA = "a2a-client-ca"
	VolumeTrust    = "a2a-trust"
	// VolumeStorePassword and VolumeStoreTLS have the credentials for the task
	// store.
	VolumeStorePassword = "a2a-store-password"
	VolumeStoreTLS      = "a2a-store-tls"
	// VolumeModelKey has the API key for the model server.
	VolumeModelKey = "a2a-model-key"
	// VolumeModelSecrets has the API keys of further model servers, and the headers of
	// MCP servers.
	VolumeModelSecrets = "a2a-model-secrets"
	// VolumeInstructions has the instructions of the model.
	VolumeInstructions = "a2a-instructions"
	// VolumeEgressProxy has the credential for the proxy of spec.egress.
	VolumeEgressProxy = "a2a-egress-proxy"
	// VolumeClientCertificate has the client certificate that the sidecar presents to agents.
	VolumeClientCertificate = "a2a-client-certificate"
	// VolumeHook has the program of the preStop hook of kind Exec.
	VolumeHook = "a2a-hook"
	// VolumeToken has the sidecar's own ServiceAccount token.
	VolumeToken = "a2a-token"
	// VolumeSkillFiles has the files of the skills as the operator renders them, and
	// VolumeSkills as the sidecar writes them for the containers. The volume of a skill
	// with an image has the prefix VolumeSkillImage.
	VolumeSkillFiles = "a2a-skill-files"
	VolumeSkills     = "a2a-skills"
	VolumeSkillImage = "a2a-skill-image-"
	// PortAgent and PortHealth name the sidecar's ports.
	PortAgent  = "a2a"
	PortHealth = "a2a-health"
	// PortGRPC names the port of the Service at which Gateways speak gRPC.
	PortGRPC = "a2a-grpc"
	// PortPlain names the port of the Service for plain HTTP to an agent with TLS. The
	// agent answers there with an error that tells the client to use https.
	PortPlain = "a2a-plain"
)

// Variables that the operator sets on the agent's container unless the template
// does.
const (
	// EnvPort has the value of spec.workload.backend.port.
	EnvPort = "PORT"
	// EnvGatewayURL has the URL of the sidecar's gateway, through which the agent
	// calls the registry and other agents.
	EnvGatewayURL = "A2A_GATEWAY_URL"
)

// PodConditionPrefix is the prefix of the condition types in the status of an
// agent's pod that report failed dependencies of the sidecar, such as
// a2a-operator.dev/TaskStore. The sidecar reports them through the registry.
// They are absent until a dependency fails for the first time, except for
// a2a-operator.dev/Registry, which the first report sets to True.
const PodConditionPrefix = "a2a-operator.dev/"

// Audience is the audience of ServiceAccount tokens for the registry. The audience
// of an agent is <name>.<namespace>.<Audience>.
const Audience = "a2a-operator.dev"
