// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// hack/reference makes the tables of docs/reference/conditions.md from the comments of
// the reasons in this file and in reasons_available.go. The parentheses after a reason
// contain the statuses that a condition with this reason can have. Without
// parentheses, the status is False. The text after "Action:" is what the user does
// about it.

// Reasons of every condition.
const (
	// ReasonPending (Unknown): the operator has not computed the condition yet.
	//
	// Action: wait. If the reason persists, check that the manager runs and that it
	// watches the namespace (`watchNamespaces`).
	ReasonPending = "Pending"
)

// Reasons of InUse.
const (
	// ReasonInUse (True): at least one Agent uses the skill: the Agent names or
	// selects the skill, and the skill admits the Agent.
	ReasonInUse = "InUse"
	// ReasonNotInUse: no Agent uses the skill. An Agent uses the skill if it names or
	// selects the skill, and the skill admits the Agent.
	//
	// Action: none, if this is intended. Otherwise correct `spec.skillRefs` or
	// `spec.skillSelector` of the Agent, or admit the namespace of the Agent in
	// `spec.allowedAgents` of the skill.
	ReasonNotInUse = "NotInUse"
)

// Reasons of ManagedByAnotherOperator.
const (
	// ReasonManagedByAnotherOperator (True): two operators watch the Agent. The one in
	// `status.operator` manages it, and the one in the message leaves it alone.
	//
	// Action: restrict the namespaces of one of them (`watchNamespaces`), or remove it. To
	// move the Agent, set its annotation `a2a-operator.dev/operator` to the operator that
	// shall manage it.
	ReasonManagedByAnotherOperator = "ManagedByAnotherOperator"
)

// Reasons of Accepted.
const (
	// ReasonAccepted (True): the spec is valid.
	ReasonAccepted = "Accepted"
	// ReasonSpecPruned: the spec has lost fields without an edit, because an older
	// CustomResourceDefinition or an older operator does not have them. The
	// last configuration stays in use. Accepted of an AgentSkill and SkillsResolved
	// of its Agents have this reason, too.
	//
	// Action: install the CustomResourceDefinitions of the operator's version, and
	// apply the manifest of the object again. If the spec is right without the
	// fields, set the annotation `a2a-operator.dev/accept-spec` of the object to its
	// `metadata.generation`.
	ReasonSpecPruned = "SpecPruned"
	// ReasonSpecNotUnderstood: the spec has fields or values that only a newer
	// version of the operator knows. The last configuration stays in use. Accepted
	// of an AgentSkill and SkillsResolved of its Agents have this reason, too.
	//
	// Action: upgrade the operator to the version of its
	// CustomResourceDefinitions, or remove the fields and values in the message.
	ReasonSpecNotUnderstood = "SpecNotUnderstood"
	// ReasonPortConflict: the template or the backend uses a port of the sidecar.
	//
	// Action: use other ports than 8641, 8642 and 8643 for the container and for
	// `spec.workload.backend.port`.
	ReasonPortConflict = "PortConflict"
	// ReasonNameConflict: the template uses the name of a container, volume, label
	// or annotation that the operator sets.
	//
	// Action: rename or remove the field in the message.
	ReasonNameConflict = "NameConflict"
	// ReasonSidecarExposed: the template gives the agent's container access to the
	// processes or ports of the sidecar.
	//
	// Action: remove `hostPID`, `hostNetwork` or `shareProcessNamespace`.
	ReasonSidecarExposed = "SidecarExposed"
	// ReasonSpecTooLarge: the spec needs more memory of the operator than an Agent or
	// AgentSkill may use. The operator keeps what it has applied before. SkillsResolved
	// of an Agent has this reason if it uses such an AgentSkill.
	//
	// Action: shorten the spec. Put large texts into a ConfigMap that the container
	// mounts, and move skills of an Agent into AgentSkills.
	ReasonSpecTooLarge = "SpecTooLarge"
	// ReasonInvalidPushTarget: an allowed target of push notifications is a range
	// or a Service that the sidecar never connects to.
	//
	// Action: remove the target from `spec.pushNotifications.allowedTargets`. The
	// sidecar never posts to loopback, link-local, multicast and unspecified
	// addresses, nor to the API server.
	ReasonInvalidPushTarget = "InvalidPushTarget"
	// ReasonRevisionNotFound: `spec.workload.revision` names a revision that is not kept.
	//
	// Action: set one of the numbers in the message, or remove the field. `kubectl a2a
	// history` lists the kept revisions.
	ReasonRevisionNotFound = "RevisionNotFound"
	// ReasonTooManyRevisions: the namespace has more ControllerRevisions of the Agent than the
	// operator reads, so the revision in `spec.workload.revision` cannot run. Programmed is
	// True with this reason if the operator cannot keep a revision.
	//
	// Action: delete ControllerRevisions with the label in the message. The operator keeps the
	// ten last ones of the Agent.
	ReasonTooManyRevisions = "TooManyRevisions"
	// ReasonInvalidURL: a URL in the spec names its host neither by a DNS name nor by a plain
	// IP address, such as `http://0x7f000001`, or is not a URL of a server for another cause. An
	// http URL of an issuer of tokens may also name a Service with another DNS domain than that
	// of the cluster.
	//
	// Action: correct the field in the message.
	ReasonInvalidURL = "InvalidURL"
	// ReasonInvalidModelServerURL: the URL of the model server leads to a loopback
	// address, which is in the pod of the sidecar, or names its host neither by a DNS name nor by
	// a plain IP address.
	//
	// Action: set `spec.model.url` to a model server outside of the
	// pod, or remove it and give the container of the model server in
	// `spec.workload.template`.
	ReasonInvalidModelServerURL = "InvalidModelServerURL"
	// ReasonInvalidAuthorization: the expression of an authorization rule is not
	// valid CEL, or exceeds a bound.
	//
	// Action: correct the `expression` in the message.
	ReasonInvalidAuthorization = "InvalidAuthorization"
	// ReasonUnknownSkillInRule (False or True): an authorization rule, or an entry of
	// `jwt.skillScopes`, names a skill that is not on the card. The status is False for a
	// Deny rule and for scopes. It is True for an Allow rule, and for a Deny rule or scopes
	// that were already applied when the skill was removed.
	//
	// Action: correct the id in the field of the message, or remove it.
	ReasonUnknownSkillInRule = "UnknownSkillInRule"
	// ReasonNetworkPolicyRejected: the API server rejects the NetworkPolicy that is
	// made from the spec.
	//
	// Action: correct `spec.networkPolicy.egress`. The message has the answer of the
	// API server.
	ReasonNetworkPolicyRejected = "NetworkPolicyRejected"
	// ReasonTemplateRejected: the API server rejects the Deployment that is made from
	// the template.
	//
	// Action: correct `spec.workload.template`. The message has the answer of the API
	// server.
	ReasonTemplateRejected = "TemplateRejected"
)

// Reasons of SkillsResolved.
const (
	// ReasonResolved (True): the operator found every skill.
	ReasonResolved = "Resolved"
	// ReasonDefaultSkill (True): the spec selects no skill. The card lists one skill,
	// made from the name and description of the agent.
	//
	// Action: none required. To list other skills, set `spec.skills`, `spec.skillRefs`
	// or `spec.skillSelector`. If the selector is set, no AgentSkill matches it:
	// correct it.
	ReasonDefaultSkill = "DefaultSkill"
	// ReasonExtendedSkillsHidden (True): a skill has visibility `Extended`, and no
	// caller can see it, because all callers are anonymous.
	//
	// Action: add another type to `spec.access.authentication`, or set the
	// visibility of the skill to `Public`.
	ReasonExtendedSkillsHidden = "ExtendedSkillsHidden"
	// ReasonSkillNotFound: a reference names an AgentSkill that does not exist, or
	// that is in another namespace and does not admit the Agent.
	//
	// Action: create the AgentSkill, remove the reference, or ask the owner of the
	// skill to admit the namespace in `spec.allowedAgents.namespaces`. Add a namespace
	// that the operator does not watch to `--watch-namespaces`.
	ReasonSkillNotFound = "SkillNotFound"
	// ReasonInvalidSchema: `inputSchema` or `outputSchema` of a skill is not a valid
	// JSON Schema, or exceeds a bound. Accepted of an AgentSkill has this reason, too.
	//
	// Action: correct the schema at the position in the message, make it smaller as
	// the message says, or remove the skill.
	ReasonInvalidSchema = "InvalidSchema"
	// ReasonDuplicateSkillID: two skills have the same id.
	//
	// Action: change one id, or remove one of the skills.
	ReasonDuplicateSkillID = "DuplicateSkillID"
	// ReasonInvalidSelector: `spec.skillSelector` is not a valid label selector, or
	// selects more than 64 AgentSkills.
	//
	// Action: correct `spec.skillSelector`. The message has the error.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonSkillResourceNotFound: a skill names a ConfigMap or a key that does not
	// exist. The pods keep the files that they have.
	//
	// Action: create the ConfigMap in the namespace of the skill, add the key, or remove
	// it from `resources` of the skill.
	ReasonSkillResourceNotFound = "SkillResourceNotFound"
	// ReasonInvalidSkillResource: two resources of a skill have the same path, or a
	// resource cannot have its path. The pods keep the files that they have.
	//
	// Action: correct `resources` of the skill as the message says.
	ReasonInvalidSkillResource = "InvalidSkillResource"
	// ReasonSkillFilesTooLarge: the files of all skills of an agent do not fit into one
	// ConfigMap of 1 MiB, are too many, or come from too many ConfigMaps. The pods keep the
	// files that they have.
	//
	// Action: remove files from the skill that the message names, or publish it as an
	// image (`image` of the skill), which has no such limit.
	ReasonSkillFilesTooLarge = "SkillFilesTooLarge"
	// ReasonImageVolumesUnsupported: a skill has an `image`, and the API server of the
	// cluster does not support image volumes.
	//
	// Action: upgrade the cluster to Kubernetes 1.35 or newer, enable the feature gate
	// ImageVolume of its API server and its kubelets, or replace `image` by
	// `instructions` and `resources`.
	ReasonImageVolumesUnsupported = "ImageVolumesUnsupported"
	// ReasonCardTooLarge: the card does not fit into a ConfigMap.
	//
	// Action: shorten descriptions and examples, or list fewer skills. Shorten the
	// card of a remote agent at its origin.
	ReasonCardTooLarge = "CardTooLarge"
)

// Reasons of Programmed.
const (
	// ReasonProgrammed (True): the objects are in sync with the spec.
	ReasonProgrammed = "Programmed"
	// ReasonPreStopKept (True): the objects are in sync, and the template has its own
	// preStop hook in place of the operator's hook, which waits for running turns.
	//
	// Action: remove the hook, or let it wait for the response of port 8642 at
	// `/drained`.
	ReasonPreStopKept = "PreStopKept"
	// ReasonPodSecurityRelaxed (True): the objects are in sync, and the template does
	// not meet the restricted Pod Security level.
	//
	// Action: remove the fields in the message that the agent does not need. A
	// namespace that enforces the restricted level rejects the pods.
	ReasonPodSecurityRelaxed = "PodSecurityRelaxed"
	// ReasonTokenMounted (True): the objects are in sync, and the template mounts a
	// ServiceAccount token into the agent's container.
	//
	// Action: remove the token, unless the agent needs it.
	ReasonTokenMounted = "TokenMounted"
	// ReasonRestartObjectUnknown (True): the objects are in sync, and an object of
	// `spec.workload.restartOn` does not exist or cannot be read. A change of it does not
	// restart the agent.
	//
	// Action: create the object, or let the operator read the Secret: set the chart's
	// `rbac.readSecrets`, or add a Role as in the how-to for model keys.
	ReasonRestartObjectUnknown = "RestartObjectUnknown"
	// ReasonRevisionPinned (True): the revision in `spec.workload.revision` runs in place of
	// the spec.
	//
	// Action: correct the spec, and then remove the field, or run `kubectl a2a rollback
	// NAME --clear`.
	ReasonRevisionPinned = "RevisionPinned"
	// ReasonRolledBack: the pods of the spec did not become ready in time, and the last good
	// revision runs in place of the spec, because `spec.workload.onFailure` is RollBack.
	//
	// Action: correct the cause in the message, in `spec.workload`. The operator then tries
	// the spec again.
	ReasonRolledBack = "RolledBack"
	// ReasonFieldsContested (True): others set a field of an object of the Agent again and again, and the
	// operator sets it back: three times in five minutes. Or a policy changes it in every write, and the operator
	// leaves it as it is; `Ready` then keeps its own reason.
	//
	// Action: stop the program in the message, or set the value in the Agent. For the number of pods,
	// use `spec.workload.autoscaling` in place of a HorizontalPodAutoscaler of the Deployment.
	ReasonFieldsContested = "FieldsContested"
	// ReasonFieldsAdded (True): the objects are in sync, and others have added containers, volumes or
	// variables to the pod template of the Deployment. The operator does not remove them.
	//
	// Action: remove the additions in the message from the Deployment, or move them into
	// `spec.workload.template`.
	ReasonFieldsAdded = "FieldsAdded"
	// ReasonSignInUnknown (True): the objects are in sync, and the operator cannot read from the
	// issuer how clients sign in (`flows: [Discover]`). The card keeps what the operator
	// read last.
	//
	// Action: correct the issuer as the message says, or list the flows with their URLs in
	// `spec.access.authentication[].jwt.oauth2`.
	ReasonSignInUnknown = "SignInUnknown"
	// ReasonAutoscalerInactive (True): the objects are in sync, and the autoscaler
	// cannot read its metric.
	//
	// Action: for CPU, install metrics-server and set a CPU request for the
	// container. For InFlightTurns, install an adapter that serves the metric.
	ReasonAutoscalerInactive = "AutoscalerInactive"
	// ReasonCardKept (True or False): SkillsResolved is not True. The operator applies
	// the whole spec except for the card, and keeps the published card. Programmed is
	// True with this reason; CardPublished is False with it once the pods have the
	// rest of the spec.
	//
	// Action: correct the mistake in the message of SkillsResolved.
	ReasonCardKept = "CardKept"
	// ReasonBlocked: Accepted is not True, and the operator applies the number of
	// pods only. Or SkillsResolved is not True and no card was published before, and
	// the operator applies nothing.
	//
	// Action: correct the mistake in the message of Accepted or SkillsResolved,
	// whichever is not True.
	ReasonBlocked = "Blocked"
	// ReasonConflict: an object with the required name exists and does not belong to
	// the Agent. It belongs to another owner, to none, or to a deleted Agent of the
	// same name.
	//
	// Action: give the Agent another name, or delete the object if it is not needed. Kubernetes
	// deletes the objects of a deleted Agent by itself.
	ReasonConflict = "Conflict"
	// ReasonForbidden: the API server does not allow the operator to write or delete
	// an object.
	//
	// Action: the message has the answer of the API server, such as a missing
	// permission, an exceeded quota or a denial of an admission webhook. Correct the
	// field that it names, or ask the administrator of the operator.
	ReasonForbidden = "Forbidden"
	// ReasonWebhookFailed: an admission webhook that the API server must ask before it writes an
	// object does not answer. The operator retries the write within a minute.
	//
	// Action: repair or remove the webhook in the message. It does not belong to the operator.
	ReasonWebhookFailed = "WebhookFailed"
	// ReasonApplyFailed (Unknown or False): a write failed, and the operator retries
	// it. The status is False when the API server rejects an object, and for routes.
	//
	// Action: wait. If the reason persists, correct the field in the message, or ask
	// the administrator of the operator for the error in the manager's log.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForIssuerKeys: the operator has not read the keys that verify
	// ServiceAccount tokens yet.
	//
	// Action: wait. If the reason persists, find the error of `/openid/v1/jwks` in the
	// manager's log.
	ReasonWaitingForIssuerKeys = "WaitingForIssuerKeys"
	// ReasonWaitingForTokenKeys: the operator has not read or created the keys that sign
	// tokens for calls of agents yet.
	//
	// Action: wait. If the reason persists, find the error of the Secret
	// `a2a-operator-token-keys` in the manager's log.
	ReasonWaitingForTokenKeys = "WaitingForTokenKeys"
)

// Reasons of CardPublished, beside ReasonForbidden, ReasonWebhookFailed and ReasonCardKept.
const (
	// ReasonPublished (True): the ready pods have the card or, for a remote agent, the
	// registry lists the card.
	ReasonPublished = "Published"
	// ReasonNoPodReady: no pod is ready to serve the card.
	//
	// Action: see Available.
	ReasonNoPodReady = "NoPodReady"
	// ReasonPublishing: the ready pods do not have the current card yet.
	//
	// Action: wait.
	ReasonPublishing = "Publishing"
	// ReasonNotProgrammed: the operator could not write the card or the routes.
	//
	// Action: see Programmed.
	ReasonNotProgrammed = "NotProgrammed"
)

// Reasons of Exposed, beside ReasonConflict, ReasonForbidden, ReasonWebhookFailed,
// ReasonApplyFailed and ReasonNotProgrammed.
const (
	// ReasonExposed (True): the Gateways accept the routes.
	ReasonExposed = "Exposed"
	// ReasonClusterOnly (True): the Agent has no `spec.exposure`.
	ReasonClusterOnly = "ClusterOnly"
	// ReasonHostnameNotAllowed: the installer of the operator does not allow a
	// hostname, path or URL of `spec.exposure` to the namespace.
	//
	// Action: use a hostname that is allowed to the namespace, or ask the installer of
	// the operator to add the hostname to the chart's value `exposure.allowed`.
	ReasonHostnameNotAllowed = "HostnameNotAllowed"
	// ReasonGatewayAPIMissing: the Gateway API is not installed in the cluster.
	//
	// Action: install version `v1` of the CRD in the message, or remove
	// `spec.exposure`.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonGatewayAPIUnreadable: the operator cannot list a kind of the Gateway API.
	//
	// Action: allow the operator to list and watch the kind in the message, or find
	// out why `kubectl get` cannot list it.
	ReasonGatewayAPIUnreadable = "GatewayAPIUnreadable"
	// ReasonGatewayNotFound: a Gateway does not exist, or is in a namespace that the
	// operator does not watch.
	//
	// Action: correct `spec.exposure.parentRefs`, or set `spec.exposure.url`.
	ReasonGatewayNotFound = "GatewayNotFound"
	// ReasonRoutePending: the controller of a Gateway has not reported a status for a
	// route yet.
	//
	// Action: wait. If the reason persists, check that the controller of the
	// GatewayClass runs.
	ReasonRoutePending = "RoutePending"
	// ReasonRouteNotAccepted: a Gateway does not accept a route.
	//
	// Action: correct `spec.exposure`, or the listeners and `allowedRoutes` of the
	// Gateway. The message has the answer of its controller.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonAddressConflict: a Gateway routes the hostname and path of the Agent to
	// another Agent, whose route is older.
	//
	// Action: change `spec.exposure.hostnames` or `spec.exposure.path` of this Agent,
	// or of the Agent in the message. The message does not name an Agent of another
	// namespace.
	ReasonAddressConflict = "AddressConflict"
	// ReasonAddressUnknown: the Gateways accept the routes and report no address.
	//
	// Action: set hostnames without `*` that match a listener which admits the route,
	// or set `spec.exposure.url`.
	ReasonAddressUnknown = "AddressUnknown"
)

// Reasons of Ready, beside ReasonRolloutInProgress, ReasonForeignPodServes,
// ReasonRegistryUnreachable, ReasonFieldsContested and the reasons of dependencies:
// ReasonTaskStoreUnavailable, ReasonTaskStoreCredentialsUnusable,
// ReasonModelServerUnreachable, ReasonModelAPIKeyUnusable,
// ReasonInstructionsUnusable, ReasonMCPServerUnreachable,
// ReasonMCPServerUnauthorized, ReasonToolsInvalid, ReasonAgentCardNotServed,
// ReasonIssuerKeysUnavailable, ReasonTLSUnusable, ReasonAPIKeysUnusable,
// ReasonCABundleUnusable, ReasonCardSigningKeyUnusable and
// ReasonConfigurationRejected. Ready is True with the reason of a dependency while
// the agent serves calls although the dependency failed. If another condition is
// not True, Ready has the reason of the first such condition that is a cause, and
// not a consequence of another one.
const (
	// ReasonReady (True): every other condition is True, and the pods run the current
	// spec.
	ReasonReady = "Ready"
)
