// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of Available. Available is True with the reason of a failing pod while pods
// of an earlier spec are ready and a pod of the current spec fails. Available and
// Ready are True with the reason of a dependency while ready pods have lost the
// dependency, with ReasonForeignPodServes
// and with ReasonRegistryUnreachable.
const (
	// ReasonAvailable (True): a pod is ready, or a remote agent serves its card.
	ReasonAvailable = "Available"
	// ReasonSuspended: `spec.suspend` is true. No pod runs, and the operator does not
	// read the card of a remote agent.
	//
	// Action: set `spec.suspend` to false.
	ReasonSuspended = "Suspended"
	// ReasonScaledToZero: `spec.workload.replicas` is 0.
	//
	// Action: set `spec.workload.replicas` to 1 or more.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRolloutInProgress: pods of the current spec are starting.
	//
	// Action: wait.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonAgentStarting: the containers run. The agent does not listen yet, or its
	// readiness probe does not succeed yet.
	//
	// Action: wait.
	ReasonAgentStarting = "AgentStarting"
	// ReasonAgentNotListening (False or True): the containers run, and the agent does
	// not listen on its port.
	//
	// Action: let the program listen on the port in the variable `PORT`, at 127.0.0.1
	// or at all addresses, or set `spec.workload.backend.port` to the port of the
	// program.
	ReasonAgentNotListening = "AgentNotListening"
	// ReasonContainerNotReady (False or True): the agent listens, and a readiness probe
	// of the template fails.
	//
	// Action: correct the probe or the program. `kubectl describe pod` shows the
	// result of the probe.
	ReasonContainerNotReady = "ContainerNotReady"
	// ReasonReadinessGateNotMet: all containers are ready, and a readiness gate of the
	// pod is not met.
	//
	// Action: check that the controller that sets the gate runs.
	ReasonReadinessGateNotMet = "ReadinessGateNotMet"
	// ReasonImagePullFailed (False or True): the kubelet cannot pull an image
	// (`ErrImagePull`, `ImagePullBackOff`).
	//
	// Action: correct the image, or set `imagePullSecrets` in the template. The
	// installation of the operator sets the image of the sidecar.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonRunsAsRoot (False or True): the image of a container runs as root, or as a
	// user that is not a number. The pod forbids both.
	//
	// Action: build the image with a numeric `USER` such as 65532, or set
	// `securityContext.runAsUser` of the container.
	ReasonRunsAsRoot = "RunsAsRoot"
	// ReasonContainerConfigInvalid (False or True): a container refers to an object that
	// does not exist, such as a Secret (`CreateContainerConfigError`).
	//
	// Action: create the object, or correct the container in the message.
	ReasonContainerConfigInvalid = "ContainerConfigInvalid"
	// ReasonContainerCannotStart (False or True): the container runtime cannot start a
	// container.
	//
	// Action: correct `command`, `args` or the image.
	ReasonContainerCannotStart = "ContainerCannotStart"
	// ReasonContainerCrashing (False or True): a container exits repeatedly
	// (`CrashLoopBackOff`).
	//
	// Action: read its log with the `kubectl logs` command in the message, or raise the
	// memory limit that the message names.
	ReasonContainerCrashing = "ContainerCrashing"
	// ReasonCardSigningKeyUnusable (False or True): the Secret with the card signing key
	// does not exist, or holds no valid key.
	//
	// Action: put a private key without a password (EC P-256 or P-384, Ed25519, RSA)
	// into the Secret in the message.
	ReasonCardSigningKeyUnusable = "CardSigningKeyUnusable"
	// ReasonAPIKeysUnusable (False or True): the Secret with the API keys of callers
	// does not exist, or holds no valid key.
	//
	// Action: put a key of at least 32 visible characters for each caller, under the
	// name of the caller, into the Secret in the message.
	ReasonAPIKeysUnusable = "APIKeysUnusable"
	// ReasonModelAPIKeyUnusable (False or True): the Secret with the API key of the model
	// server does not exist, or holds no valid key.
	//
	// Action: put the key, on one line of visible ASCII characters, into the Secret in
	// the message.
	ReasonModelAPIKeyUnusable = "ModelAPIKeyUnusable"
	// ReasonInstructionsUnusable (False or True): the ConfigMap of
	// `spec.model.instructionsFrom` does not exist, or its text is not UTF-8 or longer
	// than 64 KiB.
	//
	// Action: put the text into the ConfigMap in the message.
	ReasonInstructionsUnusable = "InstructionsUnusable"
	// ReasonMCPServerUnreachable (False or True): an MCP server of `spec.model.tools`
	// cannot be reached, or does not list its tools.
	//
	// Action: the message has the server and the cause. Correct its address, or let it
	// run.
	ReasonMCPServerUnreachable = "MCPServerUnreachable"
	// ReasonMCPServerUnauthorized (False or True): an MCP server refuses the credential,
	// or a Secret with a header does not exist.
	//
	// Action: correct the Secrets of `headersFrom` of the servers in the message.
	ReasonMCPServerUnauthorized = "MCPServerUnauthorized"
	// ReasonToolsInvalid (False or True): an MCP server does not have a tool that `allow`
	// names, or two servers have tools of one name. The model gets the other tools.
	//
	// Action: correct `allow` and `deny` of the servers in the message.
	ReasonToolsInvalid = "ToolsInvalid"
	// ReasonModelServerUnreachable (False or True): the sidecar cannot reach the model
	// server of `spec.model.url`, or the server rejects the API key, the model or the
	// tools of the agent.
	// The status is False for pods that never reached the server and are not ready, and
	// True for pods that lost it.
	//
	// Action: the message has the cause. Correct the address, the name of the model, the
	// key or `spec.trustBundle`, choose a model that can call tools, or allow the
	// connection in `spec.networkPolicy.egress`.
	ReasonModelServerUnreachable = "ModelServerUnreachable"
	// ReasonTLSUnusable (False or True): the Secret with the agent's certificate does
	// not exist, its certificate and key do not match, or the certificate has expired
	// or is not valid yet. The status is True while the sidecar serves with the
	// previous certificate.
	//
	// Action: correct `tls.crt` and `tls.key` of the Secret in the message. If the
	// certificate has expired or is not valid yet, the message has the date.
	ReasonTLSUnusable = "TLSUnusable"
	// ReasonCABundleUnusable (False or True): the ConfigMap or Secret with CA
	// certificates does not exist, or holds no certificate.
	//
	// Action: put PEM certificates, and nothing else, under the key in the message.
	ReasonCABundleUnusable = "CABundleUnusable"
	// ReasonTaskStoreUnavailable (False or True): the sidecar cannot reach the Redis or
	// Valkey that keeps the tasks, or the server cannot serve, or it has no memory left
	// for new tasks (Full). The status is False for pods that never reached the server
	// and are not ready. It is True for pods that lost it, or while it is full: they
	// stay ready and reject the requests that need it.
	//
	// Action: correct `spec.workload.tasks.store.redis.addresses`, or check the server.
	// If it is full, raise its `maxmemory`, or lower the `maxBytes` of the Agents that
	// share it. The message has the cause.
	ReasonTaskStoreUnavailable = "TaskStoreUnavailable"
	// ReasonTaskStoreCredentialsUnusable (False or True): the task store rejects the
	// user, the password or the client certificate, its own certificate is not trusted,
	// or a Secret or its key does not exist.
	//
	// Action: correct the Secret or the field in the message.
	ReasonTaskStoreCredentialsUnusable = "TaskStoreCredentialsUnusable"
	// ReasonIssuerKeysUnavailable (False or True): the sidecar cannot fetch the keys
	// (JWKS) of the issuer of JWTs. The status is False when no other authentication
	// type can admit a caller.
	//
	// Action: correct `jwksURL` or `issuer` of the authentication in the message. The
	// message also has the address and the response of the server.
	ReasonIssuerKeysUnavailable = "IssuerKeysUnavailable"
	// ReasonAgentCardNotServed (False or True): the agent's container speaks A2A and
	// serves no valid card, so no turn can run.
	//
	// Action: let the container serve its card, or set `cardPath`, `query` or `version`
	// of `spec.workload.backend.a2a`. The message has the cause.
	ReasonAgentCardNotServed = "AgentCardNotServed"
	// ReasonConfigurationRejected (False or True): the sidecar rejects the configuration
	// that the operator wrote, and keeps the previous one.
	//
	// Action: correct the field in the message, or ask the administrator of the
	// operator: the image of the sidecar may be older than the operator.
	ReasonConfigurationRejected = "ConfigurationRejected"
	// ReasonUnschedulable (False or True): the scheduler finds no node for the pod.
	//
	// Action: add capacity, or reduce the requests of the template. If the agent's own pod
	// of an earlier spec holds what the pod needs, set `spec.workload.strategy`.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodFailed (False or True): a pod failed, and the Deployment replaces it.
	//
	// Action: wait. If it recurs, `kubectl describe pod` shows the cause, such as an
	// eviction.
	ReasonPodFailed = "PodFailed"
	// ReasonPodsRejected (False or True): the API server rejects new pods, because of a
	// quota, a LimitRange, a policy or the Pod Security level of the namespace, or because
	// an object that the template names does not exist.
	//
	// Action: set the field that the message names, such as `spec.workload.sidecar.resources`,
	// or raise the quota. The message has the answer of the API server.
	ReasonPodsRejected = "PodsRejected"
	// ReasonRolloutPaused (False or True): the Deployment is paused, so the current spec does
	// not reach the pods.
	//
	// Action: resume the rollout with the command in the message.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonNodeNotReady (False or True): the node of the pod does not report that it is alive.
	//
	// Action: repair the node, or delete it. Kubernetes replaces the pod after some minutes.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonPodNotStarting (False or True): no container of a scheduled pod has started within
	// 20 s, and the newest event of the pod is a warning.
	//
	// Action: the message has the warning, and the objects that the template names. Create the
	// object that is missing, or correct `spec.workload.template`.
	ReasonPodNotStarting = "PodNotStarting"
	// ReasonRegistryUnreachable (True): a pod is ready, and its sidecar has not reached the
	// registry for two minutes. The agent cannot find or call other agents.
	//
	// Action: `kubectl a2a doctor` and the log of the sidecar name the cause: DNS, a
	// NetworkPolicy, a certificate, or a ServiceAccount token that is not valid.
	ReasonRegistryUnreachable = "RegistryUnreachable"
	// ReasonForeignPodServes (True): a pod that the Agent's Deployment did not make has the
	// label of the Agent and is ready, so the Service routes calls, with the credentials of
	// their callers, to it.
	//
	// Action: remove the label `a2a-operator.dev/agent` from the pod in the message, or from
	// the workload that makes it.
	ReasonForeignPodServes = "ForeignPodServes"
	// ReasonProgressDeadlineExceeded (False or True): the rollout makes no progress, and
	// no pod reports a cause.
	//
	// Action: inspect the pods with the `kubectl describe` command in the message.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of Available of a remote agent, beside ReasonAvailable and
// ReasonSuspended.
const (
	// ReasonAddressesOmitted (True): the remote agent serves its card, and the registry
	// omits the addresses on it that are at another origin than `spec.remote.url`.
	//
	// Action: none required.
	ReasonAddressesOmitted = "AddressesOmitted"
	// ReasonAddressesReplaced (True): the remote agent serves its card, and calls go to
	// the origin of `spec.remote.url` in place of that of an address on the card, as
	// `spec.remote.addresses` says. The message has the address.
	//
	// Action: none required.
	ReasonAddressesReplaced = "AddressesReplaced"
	// ReasonRemoteUnreachable: the operator cannot connect to `spec.remote.url`, or does
	// not trust the certificate of the server.
	//
	// Action: correct `spec.remote.url`, or check the agent. Add a private certificate
	// authority with `--remote-ca-file` (`remote.ca` of the chart).
	ReasonRemoteUnreachable = "RemoteUnreachable"
	// ReasonRemoteForbidden: the operator is not allowed to connect to
	// `spec.remote.url`.
	//
	// Action: use a public address over https, or ask the administrator of the operator
	// to allow the range with `--remote-allow` (`remote.allow` of the chart). Loopback
	// and link-local addresses are never allowed, nor are the operator's own pod and
	// node, and the API server.
	ReasonRemoteForbidden = "RemoteForbidden"
	// ReasonRemoteCardNotServed: the server at `spec.remote.url` serves no card.
	//
	// Action: correct `spec.remote.cardPath`, `spec.remote.url` or
	// `spec.remote.credentials`. The message names the field.
	ReasonRemoteCardNotServed = "RemoteCardNotServed"
	// ReasonRemoteCardInvalid: the document at the path of the card is not a valid card.
	//
	// Action: at the remote agent, correct the member of the card that the message
	// names. Or correct `spec.remote.url` and `spec.remote.cardPath`.
	ReasonRemoteCardInvalid = "RemoteCardInvalid"
	// ReasonRemoteCredentialsMismatch (True): the remote agent serves its card, and the
	// card requires another kind of credentials than `spec.remote.credentials`.
	//
	// Action: set `spec.remote.credentials` as the message says. Or ask the owner of the
	// remote agent to correct the security schemes on its card.
	ReasonRemoteCredentialsMismatch = "RemoteCredentialsMismatch"
	// ReasonRemoteCredentialsUnusable: the operator cannot read the Secret of
	// `spec.remote.credentials`, the Secret lacks the key, or the authorization server in
	// `spec.remote.credentials.oauth2` issues no usable token.
	//
	// Action: create or correct the Secret, allow the manager to get it with a Role, or
	// correct the fields of `oauth2`. The message has the cause.
	ReasonRemoteCredentialsUnusable = "RemoteCredentialsUnusable"
)

// Reasons of ToolsAvailable, beside ReasonMCPServerUnreachable,
// ReasonMCPServerUnauthorized and ReasonToolsInvalid.
const (
	// ReasonToolsAvailable (True): the MCP servers offer their tools.
	ReasonToolsAvailable = "ToolsAvailable"
	// ReasonToolsNotReported (Unknown): no sidecar has reported yet whether the MCP servers
	// offer their tools.
	//
	// Action: see Available for why no pod runs, or whether sidecars report to the
	// registry.
	ReasonToolsNotReported = "ToolsNotReported"
)
