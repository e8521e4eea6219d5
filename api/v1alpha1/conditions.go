// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// The conditions of an Agent. The operator sets all of them in every status
// that it writes; positive is good.
const (
	// ConditionAccepted says that the spec can be carried out as it is written.
	ConditionAccepted = "Accepted"
	// ConditionSkillsResolved says that every skill was found, and that the
	// skills fit on one card.
	ConditionSkillsResolved = "SkillsResolved"
	// ConditionProgrammed says that the Deployment, the Service, the
	// ServiceAccount and the ConfigMap are as the spec wants them.
	ConditionProgrammed = "Programmed"
	// ConditionAvailable says that at least one pod takes calls, be it of this
	// or of an earlier spec.
	ConditionAvailable = "Available"
	// ConditionCardPublished says that the pods that take calls have been told
	// the current card.
	ConditionCardPublished = "CardPublished"
	// ConditionExposed says that the Gateways of spec.exposure lead to the
	// agent. It is true of an Agent that asks for none.
	ConditionExposed = "Exposed"
	// ConditionReady is the summary: every other condition is true, and the
	// current spec is what runs.
	ConditionReady = "Ready"
)

// AgentConditions lists the conditions of an Agent in the order in which they
// build on each other.
func AgentConditions() []string {
	return []string{
		ConditionAccepted, ConditionSkillsResolved, ConditionProgrammed,
		ConditionAvailable, ConditionCardPublished, ConditionExposed, ConditionReady,
	}
}

// ConditionInUse says of an AgentSkill that at least one Agent has it on its
// card. ConditionAccepted is its other condition.
const ConditionInUse = "InUse"

// AgentSkillConditions lists the conditions of an AgentSkill.
func AgentSkillConditions() []string { return []string{ConditionAccepted, ConditionInUse} }

// What follows is docs/conditions.md, too (hack/reference). The statuses that a
// reason stands with are in parentheses; without them it is False. What to do
// about it stands behind "Cure:".

// Reasons of every condition.
const (
	// ReasonPending (Unknown): the condition could not be computed yet.
	//
	// Cure: wait. If it stays, see whether the manager runs, and whether it
	// watches the namespace (`watchNamespaces`).
	ReasonPending = "Pending"
)

// Reasons of InUse.
const (
	// ReasonInUse (True): an Agent that is admitted names or selects the skill.
	ReasonInUse = "InUse"
	// ReasonNotInUse: no Agent that is admitted names or selects the skill.
	//
	// Cure: nothing, if that is meant. Else correct the Agent's `spec.skillRefs` or
	// `spec.skillSelector`, or admit its namespace in the skill's
	// `spec.allowedAgents`.
	ReasonNotInUse = "NotInUse"
)

// Reasons of Accepted.
const (
	// ReasonAccepted (True): the spec can be carried out.
	ReasonAccepted = "Accepted"
	// ReasonPortConflict: the template or the backend uses a port of the sidecar.
	//
	// Cure: use another port than 8641, 8642 and 8643, for the container and
	// for `spec.workload.backend.port`.
	ReasonPortConflict = "PortConflict"
	// ReasonNameConflict: the template uses the name of a container or volume, or
	// sets a label or annotation, that is the operator's.
	//
	// Cure: rename or remove what the message names.
	ReasonNameConflict = "NameConflict"
	// ReasonSidecarExposed: the template would let the agent's container into
	// the sidecar.
	//
	// Cure: remove `hostPID`, `hostNetwork` or `shareProcessNamespace`.
	ReasonSidecarExposed = "SidecarExposed"
	// ReasonInvalidPushTarget: a target of push notifications could never be
	// reached.
	//
	// Cure: remove it from `spec.pushNotifications.allowedTargets`: loopback,
	// link-local, multicast and unspecified addresses are never posted to.
	ReasonInvalidPushTarget = "InvalidPushTarget"
	// ReasonInvalidModelServerURL: the URL of the model server leads to a loopback
	// address, and so into the pod of the sidecar.
	//
	// Cure: set `spec.workload.backend.chat.url` to a model server outside of the
	// pod, or remove it and give the container of the model server in
	// `spec.workload.template`.
	ReasonInvalidModelServerURL = "InvalidModelServerURL"
	// ReasonInvalidAuthorization: a rule of authorization cannot be evaluated.
	//
	// Cure: correct the CEL of the `expression` that the message names.
	ReasonInvalidAuthorization = "InvalidAuthorization"
	// ReasonUnknownSkillInRule (False or True): a rule of authorization names a
	// skill that is not on the card. False of a rule that denies, True of one
	// that allows, and of one that was in force before the skill was gone.
	//
	// Cure: correct the id in `spec.access.authorization`, or remove it.
	ReasonUnknownSkillInRule = "UnknownSkillInRule"
	// ReasonNetworkPolicyRejected: the API server refuses a NetworkPolicy made
	// from the rules.
	//
	// Cure: correct `spec.networkPolicy.egress`, as the message says.
	ReasonNetworkPolicyRejected = "NetworkPolicyRejected"
	// ReasonTemplateRejected: the API server refuses a Deployment made from
	// the template.
	//
	// Cure: correct `spec.workload.template`, as the message says.
	ReasonTemplateRejected = "TemplateRejected"
)

// Reasons of SkillsResolved.
const (
	// ReasonResolved (True): every skill was found.
	ReasonResolved = "Resolved"
	// ReasonDefaultSkill (True): the spec names no skill, and the card lists one
	// that is made from the agent's name and description.
	//
	// Cure: nothing has to be done. `spec.skills`, `spec.skillRefs` and
	// `spec.skillSelector` say more; the selector may select nothing.
	ReasonDefaultSkill = "DefaultSkill"
	// ReasonExtendedSkillsHidden (True): a skill is for callers with a
	// credential, and none is asked for, so that nobody is shown it.
	//
	// Cure: add a type to `spec.access.authentication`, or make the skill
	// `Public`.
	ReasonExtendedSkillsHidden = "ExtendedSkillsHidden"
	// ReasonSkillNotFound: a reference names an AgentSkill that does not exist,
	// or one of another namespace that does not admit the Agent.
	//
	// Cure: create it, remove the reference, or have the skill's owner admit
	// the namespace in `spec.allowedAgents.namespaces`. A namespace that the
	// operator does not watch is added to `--watch-namespaces`.
	ReasonSkillNotFound = "SkillNotFound"
	// ReasonInvalidSchema: the inputSchema or outputSchema of a skill is no JSON
	// Schema. It is a reason of Accepted, too, on an AgentSkill.
	//
	// Cure: correct the schema where the message says, or remove the skill.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonDuplicateSkillID: two skills have one id.
	//
	// Cure: change one id, or remove one of the skills.
	ReasonDuplicateSkillID = "DuplicateSkillID"
	// ReasonInvalidSelector: the selector cannot be evaluated.
	//
	// Cure: correct `spec.skillSelector`, as the message says.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonCardTooLarge: the card does not fit into a ConfigMap.
	//
	// Cure: shorten descriptions and examples, or list fewer skills; the card
	// of a remote agent has to be shortened where it is served.
	ReasonCardTooLarge = "CardTooLarge"
)

// Reasons of Programmed.
const (
	// ReasonProgrammed (True): the objects are as the spec wants them.
	ReasonProgrammed = "Programmed"
	// ReasonPreStopKept (True): as ReasonProgrammed, and the template's own
	// preStop hook stands where the operator would have put one that waits for
	// running turns.
	//
	// Cure: remove the hook, or have it wait for the answer of port 8642 at
	// `/drained`.
	ReasonPreStopKept = "PreStopKept"
	// ReasonPodSecurityRelaxed (True): as ReasonProgrammed, and the template
	// gives up the restricted Pod Security level.
	//
	// Cure: remove from the template what the agent can do without. A namespace
	// that enforces the level refuses the pods.
	ReasonPodSecurityRelaxed = "PodSecurityRelaxed"
	// ReasonTokenMounted (True): as ReasonProgrammed, and the template mounts a
	// token of the ServiceAccount into the agent.
	//
	// Cure: remove it, unless the agent calls what asks for one.
	ReasonTokenMounted = "TokenMounted"
	// ReasonAutoscalerInactive (True): as ReasonProgrammed, and the autoscaler
	// lacks what it needs to tell the load.
	//
	// Cure: for CPU, install metrics-server and give the container a cpu
	// request; for InFlightTurns, install an adapter that serves the metric.
	ReasonAutoscalerInactive = "AutoscalerInactive"
	// ReasonCardKept (True or False): SkillsResolved is not true. Everything of the
	// spec is applied but the card, which stays as it was published. Programmed is
	// True with it; CardPublished is False once the pods have the rest.
	//
	// Cure: correct what the message of SkillsResolved names.
	ReasonCardKept = "CardKept"
	// ReasonBlocked: Accepted is not true, and every object stays as it is, but for
	// the number of pods. Or SkillsResolved is not true and no card was published
	// before, and no object is made.
	//
	// Cure: see Accepted or SkillsResolved, whichever is not true, and correct what
	// its message names.
	ReasonBlocked = "Blocked"
	// ReasonConflict: an object of the name exists and belongs to somebody else,
	// or to a deleted Agent of the name.
	//
	// Cure: delete the object, or give the Agent another name. What is of a
	// deleted Agent goes by itself.
	ReasonConflict = "Conflict"
	// ReasonForbidden: the API server does not let the operator write an object,
	// or delete one.
	//
	// Cure: the message has the API server's words: a right that the manager's
	// role lacks, a quota, or an admission webhook. Correct what it names of the
	// Agent, or ask who installed the operator.
	ReasonForbidden = "Forbidden"
	// ReasonApplyFailed (Unknown or False): a write failed for now and is tried
	// again. It is False when the API server refuses an object, and of routes.
	//
	// Cure: wait. If it stays, correct what the message names, or ask who
	// installed the operator: the manager's log has the error.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForIssuerKeys: the keys that verify ServiceAccount tokens
	// are not known yet.
	//
	// Cure: wait. If it stays, the manager's log says why the API server does
	// not serve `/openid/v1/jwks`.
	ReasonWaitingForIssuerKeys = "WaitingForIssuerKeys"
)

// Reasons of Available. Those that are also True stand there while pods of an
// earlier spec take calls, because those of the current one do not; and those of
// dependencies, with Ready too, while pods take calls that have lost one.
const (
	// ReasonAvailable (True): a pod takes calls; a remote agent serves its card.
	ReasonAvailable = "Available"
	// ReasonSuspended: the spec says that no pod is to run, or that a remote
	// agent is not to be looked at.
	//
	// Cure: set `spec.suspend` to false.
	ReasonSuspended = "Suspended"
	// ReasonScaledToZero: no pod is wanted.
	//
	// Cure: set `spec.workload.replicas` to 1 or more.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRolloutInProgress: pods of the current spec are starting.
	//
	// Cure: wait.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonAgentStarting: the containers run, and the agent does not listen
	// yet, or its readiness probe does not succeed yet.
	//
	// Cure: wait.
	ReasonAgentStarting = "AgentStarting"
	// ReasonAgentNotListening (False or True): the containers run, and the agent
	// does not listen on its port.
	//
	// Cure: have the program listen on the port in `PORT`, on 127.0.0.1 or all
	// addresses, or set `spec.workload.backend.port` to the one it uses.
	ReasonAgentNotListening = "AgentNotListening"
	// ReasonContainerNotReady (False or True): the agent listens, and a
	// readiness probe of the template does not succeed.
	//
	// Cure: correct the probe or the program; `kubectl describe pod` says what
	// the probe sees.
	ReasonContainerNotReady = "ContainerNotReady"
	// ReasonReadinessGateNotMet: all containers are ready, and somebody else has
	// not said yet that the pod is.
	//
	// Cure: see whether what sets the gate runs.
	ReasonReadinessGateNotMet = "ReadinessGateNotMet"
	// ReasonImagePullFailed (False or True): an image cannot be pulled.
	//
	// Cure: correct the image, or give the template `imagePullSecrets`; that of
	// the sidecar is set where the operator was installed.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonRunsAsRoot (False or True): an image would run as root, or as a user
	// that is not a number, which the pod forbids.
	//
	// Cure: build the image with a numeric `USER` such as 65532, or set the
	// container's `securityContext.runAsUser`.
	ReasonRunsAsRoot = "RunsAsRoot"
	// ReasonContainerConfigInvalid (False or True): a container refers to
	// something that does not exist, such as a Secret.
	//
	// Cure: create it, or correct the container that the message names.
	ReasonContainerConfigInvalid = "ContainerConfigInvalid"
	// ReasonContainerCannotStart (False or True): the runtime cannot start a
	// container.
	//
	// Cure: correct `command`, `args` or the image.
	ReasonContainerCannotStart = "ContainerCannotStart"
	// ReasonContainerCrashing (False or True): a container keeps ending.
	//
	// Cure: read what it said, by the `kubectl logs` of the message.
	ReasonContainerCrashing = "ContainerCrashing"
	// ReasonCardSigningKeyUnusable (False or True): the Secret that signs the
	// card does not exist, or holds no key that can.
	//
	// Cure: put a private key without a password (EC P-256 or P-384, Ed25519,
	// RSA) into the Secret that the message names.
	ReasonCardSigningKeyUnusable = "CardSigningKeyUnusable"
	// ReasonAPIKeysUnusable (False or True): the Secret with the API keys of
	// callers does not exist, or holds none that can be used.
	//
	// Cure: put a key of at least 32 visible characters for each caller, under
	// its name, into the Secret that the message names.
	ReasonAPIKeysUnusable = "APIKeysUnusable" //nolint:gosec // a reason, not a credential
	// ReasonChatAPIKeyUnusable (False or True): the Secret with the API key of
	// the model server does not exist, or holds no key that can be sent.
	//
	// Cure: put the key, on one line and of visible ASCII characters, into the
	// Secret that the message names.
	ReasonChatAPIKeyUnusable = "ChatAPIKeyUnusable" //nolint:gosec // a reason, not a credential
	// ReasonModelServerUnreachable (False or True): the sidecar cannot reach the
	// model server of `spec.workload.backend.chat.url`, or the server refuses the
	// API key. False of pods that never reached it, and are not ready; True of pods
	// that have lost it.
	//
	// Cure: the message has the cause: correct the address, the key or `spec.trustBundle`, or allow the connection in
	// `spec.networkPolicy.egress`.
	ReasonModelServerUnreachable = "ModelServerUnreachable"
	// ReasonTLSUnusable (False or True): the Secret with the agent's certificate
	// does not exist, its certificate and key do not fit, or the certificate has
	// expired or is not valid yet. True while the former certificate is served.
	//
	// Cure: correct `tls.crt` and `tls.key` of the Secret that the message
	// names; the message has the date.
	ReasonTLSUnusable = "TLSUnusable"
	// ReasonCABundleUnusable (False or True): the ConfigMap or Secret with
	// certificates of authorities does not exist, or holds none.
	//
	// Cure: put PEM certificates, and nothing else, under the key that the
	// message names.
	ReasonCABundleUnusable = "CABundleUnusable"
	// ReasonTaskStoreUnavailable (False or True): the sidecar cannot reach the
	// Redis or Valkey that keeps the tasks, or it does not serve. False of pods that
	// never reached it, and are not ready; True of pods that have lost it, which
	// stay ready and refuse what needs it.
	//
	// Cure: correct `spec.workload.tasks.store.redis.addresses`, or look into the
	// server, as the message says.
	ReasonTaskStoreUnavailable = "TaskStoreUnavailable"
	// ReasonTaskStoreCredentialsUnusable (False or True): the task store does not
	// accept the user, the password or the certificate, its own is not trusted, or
	// a Secret or a key in it does not exist.
	//
	// Cure: correct the Secret or the field that the message names.
	ReasonTaskStoreCredentialsUnusable = "TaskStoreCredentialsUnusable" //nolint:gosec // a reason, not a credential
	// ReasonIssuerKeysUnavailable (False or True): the keys (JWKS) of the issuer of
	// JWTs cannot be fetched. The status is False when no other method can admit a caller.
	//
	// Cure: correct `jwksURL` or `issuer` of the authentication that the message
	// names; the message has the address and its answer.
	ReasonIssuerKeysUnavailable = "IssuerKeysUnavailable"
	// ReasonAgentCardNotServed (False or True): the agent's container speaks A2A,
	// and serves no card that can be used, so that no turn can run.
	//
	// Cure: have it serve its card, or set `cardPath`, `query` or `version` of
	// `spec.workload.backend.a2a`, as the message says.
	ReasonAgentCardNotServed = "AgentCardNotServed"
	// ReasonConfigurationRejected (False or True): the sidecar does not take the
	// configuration that the operator wrote, and keeps the former one in force.
	//
	// Cure: correct what the message names of the Agent, or ask who installed the
	// operator: the sidecar's image may be older than the operator.
	ReasonConfigurationRejected = "ConfigurationRejected"
	// ReasonUnschedulable (False or True): no node takes the pod.
	//
	// Cure: make room, or have the template ask for less.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodFailed (False or True): a pod ended and is being replaced.
	//
	// Cure: wait. If it comes again, `kubectl describe pod` says why, such as
	// an eviction.
	ReasonPodFailed = "PodFailed"
	// ReasonPodsRejected (False or True): the API server refuses to create pods,
	// because of a quota or of the namespace's Pod Security level.
	//
	// Cure: raise the quota, or correct the template, as the message says.
	ReasonPodsRejected = "PodsRejected"
	// ReasonProgressDeadlineExceeded (False or True): the rollout makes no
	// progress, and no pod tells why.
	//
	// Cure: look at the pods by the `kubectl describe` of the message.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of Available of a remote agent, beside ReasonAvailable and
// ReasonSuspended.
const (
	// ReasonAddressesOmitted (True): as ReasonAvailable, and some of the
	// addresses on the card are at another origin.
	//
	// Cure: nothing has to be done. Those at the origin of `spec.remote.url` are
	// listed.
	ReasonAddressesOmitted = "AddressesOmitted"
	// ReasonRemoteUnreachable: nobody answers at spec.remote.url, or nobody who
	// is trusted.
	//
	// Cure: correct `spec.remote.url`, or look into the agent. A private authority
	// of certificates is given to the operator by `--remote-ca-file`.
	ReasonRemoteUnreachable = "RemoteUnreachable"
	// ReasonRemoteForbidden: the operator may not connect to spec.remote.url.
	//
	// Cure: use a public address over https, or have the installation allow it
	// (the chart's `remoteAgents.allow`, `--remote-allow`); loopback and link-local addresses are never allowed.
	ReasonRemoteForbidden = "RemoteForbidden"
	// ReasonRemoteCardNotServed: what answers serves no card.
	//
	// Cure: correct `spec.remote.cardPath`, `spec.remote.url` or
	// `spec.remote.credentials`; the message says which.
	ReasonRemoteCardNotServed = "RemoteCardNotServed"
	// ReasonRemoteCardInvalid: what is served is no card that can be listed.
	//
	// Cure: the message names the member; correct the card where it is served, or
	// `spec.remote.url` and `spec.remote.cardPath`.
	ReasonRemoteCardInvalid = "RemoteCardInvalid"
	// ReasonRemoteCredentialsUnusable: the Secret of spec.remote.credentials
	// cannot be read, or lacks the key.
	//
	// Cure: create or correct the Secret, or allow the manager to get it by a
	// Role, as the message says.
	ReasonRemoteCredentialsUnusable = "RemoteCredentialsUnusable" //nolint:gosec // the name of a reason
)

// Reasons of CardPublished, beside ReasonForbidden and ReasonCardKept.
const (
	// ReasonPublished (True): the pods that take calls have the card; the registry
	// lists that of a remote agent.
	ReasonPublished = "Published"
	// ReasonNoPodReady: there is no pod to serve the card.
	//
	// Cure: that of Available.
	ReasonNoPodReady = "NoPodReady"
	// ReasonPublishing: the card is on its way to the pods.
	//
	// Cure: wait.
	ReasonPublishing = "Publishing"
	// ReasonNotProgrammed: the card or the routes could not be written.
	//
	// Cure: that of Programmed.
	ReasonNotProgrammed = "NotProgrammed"
)

// Reasons of Exposed, beside ReasonConflict, ReasonForbidden, ReasonApplyFailed
// and ReasonNotProgrammed.
const (
	// ReasonExposed (True): the Gateways take the routes.
	ReasonExposed = "Exposed"
	// ReasonClusterOnly (True): the spec asks for no Gateway.
	ReasonClusterOnly = "ClusterOnly"
	// ReasonGatewayAPIMissing: the cluster does not have the Gateway API.
	//
	// Cure: install the CRD that the message names, version `v1`, or remove
	// `spec.exposure`.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonGatewayAPIUnreadable: the operator cannot list a kind of the Gateway
	// API.
	//
	// Cure: give the operator the right to list and watch the kind that the message
	// names, or mend what keeps `kubectl get` from listing it.
	ReasonGatewayAPIUnreadable = "GatewayAPIUnreadable"
	// ReasonGatewayNotFound: a Gateway does not exist, or is in a namespace
	// that the operator does not watch.
	//
	// Cure: correct `spec.exposure.parentRefs`, or set `spec.exposure.url`.
	ReasonGatewayNotFound = "GatewayNotFound"
	// ReasonRoutePending: a Gateway has not answered yet.
	//
	// Cure: wait. If it stays, see whether the controller of the GatewayClass
	// runs.
	ReasonRoutePending = "RoutePending"
	// ReasonRouteNotAccepted: a Gateway does not take a route.
	//
	// Cure: correct `spec.exposure`, or the listeners and `allowedRoutes` of the
	// Gateway; the message has its controller's words.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonAddressConflict: a Gateway leads to an older Agent at the same hostname
	// and path.
	//
	// Cure: change `spec.exposure.hostnames` or `spec.exposure.path` here, or those
	// of the Agent that the message names.
	ReasonAddressConflict = "AddressConflict"
	// ReasonAddressUnknown: the Gateways take the routes, and do not say where
	// they are reached.
	//
	// Cure: set hostnames without `*` of a listener that admits the route, or
	// `spec.exposure.url`.
	ReasonAddressUnknown = "AddressUnknown"
)

// Reasons of Ready, beside those of the first condition that is not true and
// ReasonRolloutInProgress, and True, while the agent takes calls without
// something that it depends on, ReasonTaskStoreUnavailable,
// ReasonTaskStoreCredentialsUnusable, ReasonModelServerUnreachable,
// ReasonChatAPIKeyUnusable, ReasonAgentCardNotServed,
// ReasonIssuerKeysUnavailable, ReasonTLSUnusable, ReasonAPIKeysUnusable, ReasonCABundleUnusable,
// ReasonCardSigningKeyUnusable and ReasonConfigurationRejected.
const (
	// ReasonReady (True): every other condition is true, and the current spec is
	// what runs.
	ReasonReady = "Ready"
)
