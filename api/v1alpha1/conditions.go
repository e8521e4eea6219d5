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

// Reasons of InUse, beside ReasonPending.
const (
	ReasonInUse    = "InUse"
	ReasonNotInUse = "NotInUse"
)

// ReasonPending is the reason of every condition that could not be computed yet.
const ReasonPending = "Pending"

// Reasons of Accepted.
const (
	// ReasonAccepted: the spec can be carried out.
	ReasonAccepted = "Accepted"
	// ReasonPortClash: the template or the backend uses a port of the sidecar.
	ReasonPortClash = "PortClash"
	// ReasonNameClash: the template uses a container or volume name that is
	// the operator's.
	ReasonNameClash = "NameClash"
	// ReasonSidecarExposed: the template would let the agent's container into
	// the sidecar.
	ReasonSidecarExposed = "SidecarExposed"
	// ReasonInvalidPushTarget: a target of push notifications could never be
	// reached.
	ReasonInvalidPushTarget = "InvalidPushTarget"
	// ReasonInvalidAuthorization: a rule of authorization cannot be evaluated.
	ReasonInvalidAuthorization = "InvalidAuthorization"
	// ReasonUnknownSkillInRule: a rule of authorization names a skill that is
	// not on the card.
	ReasonUnknownSkillInRule = "UnknownSkillInRule"
	// ReasonNetworkPolicyRejected: the API server refuses a NetworkPolicy made
	// from the rules.
	ReasonNetworkPolicyRejected = "NetworkPolicyRejected"
	// ReasonTemplateRejected: the API server refuses a Deployment made from
	// the template.
	ReasonTemplateRejected = "TemplateRejected"
)

// Reasons of SkillsResolved.
const (
	// ReasonResolved: every skill was found.
	ReasonResolved = "Resolved"
	// ReasonDefaultSkill: the spec names no skill, and the card lists one that
	// is made from the agent's name and description.
	ReasonDefaultSkill = "DefaultSkill"
	// ReasonExtendedSkillsHidden: a skill is for callers with a credential, and
	// none is asked for.
	ReasonExtendedSkillsHidden = "ExtendedSkillsHidden"
	// ReasonSkillNotFound: a reference names an AgentSkill that does not exist,
	// or one of another namespace that does not admit the Agent.
	ReasonSkillNotFound = "SkillNotFound"
	// ReasonInvalidSchema: the inputSchema or outputSchema of a skill is no JSON
	// Schema. It is a reason of Accepted, too, on an AgentSkill.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonDuplicateSkillID: two skills have one id.
	ReasonDuplicateSkillID = "DuplicateSkillID"
	// ReasonInvalidSelector: the selector cannot be evaluated.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonContractTooLarge: the card does not fit into a ConfigMap.
	ReasonContractTooLarge = "ContractTooLarge"
)

// Reasons of Programmed.
const (
	// ReasonProgrammed: the objects are as the spec wants them.
	ReasonProgrammed = "Programmed"
	// ReasonPreStopKept: as ReasonProgrammed, and the template's own preStop
	// hook stands where the operator would have put one that waits for
	// running turns.
	ReasonPreStopKept = "PreStopKept"
	// ReasonPodSecurityRelaxed: as ReasonProgrammed, and the template gives up
	// the restricted Pod Security level.
	ReasonPodSecurityRelaxed = "PodSecurityRelaxed"
	// ReasonTokenMounted: as ReasonProgrammed, and the template mounts a token
	// of the ServiceAccount into the agent.
	ReasonTokenMounted = "TokenMounted"
	// ReasonAutoscalerInactive: as ReasonProgrammed, and the autoscaler lacks
	// what it needs to tell the load.
	ReasonAutoscalerInactive = "AutoscalerInactive"
	// ReasonBlocked: Accepted or SkillsResolved is false, and the objects are
	// left as they are.
	ReasonBlocked = "Blocked"
	// ReasonConflict: an object of the name exists and belongs to somebody else.
	ReasonConflict = "Conflict"
	// ReasonForbidden: the API server does not let the operator write an object,
	// or delete one.
	ReasonForbidden = "Forbidden"
	// ReasonApplyFailed: a write failed for now and is tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForIssuerKeys: the keys that verify ServiceAccount tokens
	// are not known yet.
	ReasonWaitingForIssuerKeys = "WaitingForIssuerKeys"
)

// Reasons of Available. Those from ReasonRolloutInProgress on also stand on a
// condition that is true, when pods of an earlier spec still take calls.
const (
	// ReasonAvailable: a pod takes calls.
	ReasonAvailable = "Available"
	// ReasonSuspended: the spec says that no pod is to run.
	ReasonSuspended = "Suspended"
	// ReasonScaledToZero: no pod is wanted.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonRolloutInProgress: pods of the current spec are starting.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonAgentStarting: the containers run, and the agent does not listen yet.
	ReasonAgentStarting = "AgentStarting"
	// ReasonAgentNotListening: the containers run, and the agent does not
	// listen on its port.
	ReasonAgentNotListening = "AgentNotListening"
	// ReasonContainerNotReady: the agent listens, and a readiness probe of the
	// template does not succeed.
	ReasonContainerNotReady = "ContainerNotReady"
	// ReasonReadinessGateNotMet: all containers are ready, and somebody else has
	// not said yet that the pod is.
	ReasonReadinessGateNotMet = "ReadinessGateNotMet"
	// ReasonImagePullFailed: an image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonRunsAsRoot: an image would run as root, which the pod forbids.
	ReasonRunsAsRoot = "RunsAsRoot"
	// ReasonContainerConfigInvalid: a container refers to something that does
	// not exist, such as a Secret.
	ReasonContainerConfigInvalid = "ContainerConfigInvalid"
	// ReasonContainerCannotStart: the runtime cannot start a container.
	ReasonContainerCannotStart = "ContainerCannotStart"
	// ReasonContainerCrashing: a container keeps ending.
	ReasonContainerCrashing = "ContainerCrashing"
	// ReasonCardSigningKeyUnusable: the Secret that signs the card does not
	// exist, or holds no key that can.
	ReasonCardSigningKeyUnusable = "CardSigningKeyUnusable"
	// ReasonAPIKeysUnusable: the Secret with the API keys of callers does not
	// exist, or holds none that can be used.
	ReasonAPIKeysUnusable = "APIKeysUnusable" //nolint:gosec // a reason, not a credential
	// ReasonTLSUnusable: the Secret with the agent's certificate does not
	// exist, or its certificate and key do not fit.
	ReasonTLSUnusable = "TLSUnusable"
	// ReasonCABundleUnusable: the ConfigMap or Secret with certificates of
	// authorities does not exist, or holds none.
	ReasonCABundleUnusable = "CABundleUnusable"
	// ReasonUnschedulable: no node takes the pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodFailed: a pod ended and is being replaced.
	ReasonPodFailed = "PodFailed"
	// ReasonPodsRefused: the API server refuses to create pods, because of a
	// quota or of the namespace's Pod Security level.
	ReasonPodsRefused = "PodsRefused"
	// ReasonProgressDeadlineExceeded: the rollout makes no progress, and no
	// pod tells why.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Reasons of Available of a remote agent, beside ReasonAvailable and
// ReasonSuspended.
const (
	// ReasonAddressesLeftOut: as ReasonAvailable, and some of the addresses on the
	// card are at another origin.
	ReasonAddressesLeftOut = "AddressesLeftOut"
	// ReasonRemoteUnreachable: nobody answers at spec.remote.url.
	ReasonRemoteUnreachable = "RemoteUnreachable"
	// ReasonRemoteForbidden: the operator may not connect to spec.remote.url.
	ReasonRemoteForbidden = "RemoteForbidden"
	// ReasonRemoteCardNotServed: what answers serves no card.
	ReasonRemoteCardNotServed = "RemoteCardNotServed"
	// ReasonRemoteCardInvalid: what is served is no card that can be listed.
	ReasonRemoteCardInvalid = "RemoteCardInvalid"
	// ReasonRemoteCredentialsUnusable: the Secret of spec.remote.credentials
	// cannot be read, or lacks the key.
	ReasonRemoteCredentialsUnusable = "RemoteCredentialsUnusable" //nolint:gosec // the name of a reason
)

// Reasons of CardPublished, beside ReasonForbidden.
const (
	// ReasonPublished: the pods that take calls have the card.
	ReasonPublished = "Published"
	// ReasonNoPodReady: there is no pod to serve the card.
	ReasonNoPodReady = "NoPodReady"
	// ReasonPublishing: the card is on its way to the pods.
	ReasonPublishing = "Publishing"
	// ReasonNotProgrammed: the card could not be written, see Programmed.
	ReasonNotProgrammed = "NotProgrammed"
)

// Reasons of Exposed, beside ReasonConflict, ReasonForbidden, ReasonApplyFailed
// and ReasonNotProgrammed.
const (
	// ReasonExposed: the Gateways take the routes.
	ReasonExposed = "Exposed"
	// ReasonClusterOnly: the spec asks for no Gateway.
	ReasonClusterOnly = "ClusterOnly"
	// ReasonGatewayAPIMissing: the cluster does not have the Gateway API.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonGatewayNotFound: a Gateway does not exist, or is in a namespace
	// that the operator does not watch.
	ReasonGatewayNotFound = "GatewayNotFound"
	// ReasonRoutePending: a Gateway has not answered yet.
	ReasonRoutePending = "RoutePending"
	// ReasonRouteNotAccepted: a Gateway does not take a route.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonAddressUnknown: the Gateways take the routes, and do not say where
	// they are reached.
	ReasonAddressUnknown = "AddressUnknown"
)

// ReasonReady is the reason of a Ready that is true.
const ReasonReady = "Ready"
