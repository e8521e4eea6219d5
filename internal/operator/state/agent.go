// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state has the values that the steps of a reconcile exchange: the state that gather has
// read, the user errors that desired reports, and the results of the writes of apply.
//
// The package has no client, so that tests of desired and status can use literals.
package state

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/exposure"
)

// Agent is an Agent and the state on which it depends.
type Agent struct {
	// Agent is the object, with the status that the operator wrote last.
	Agent *a2av1alpha1.Agent
	// NamespaceLabels holds the labels of the Agent's namespace. It is nil if the Agent refers
	// to no skill of another namespace and to no Gateway.
	NamespaceLabels map[string]string
	// Schemas is the state of the operator's CRDs.
	Schemas Schemas
	// Observed is the comparison of the spec with the one that the operator accepted last.
	Observed crdschema.Observed
	// Skills holds the AgentSkills to which the Agent refers.
	Skills Skills
	// SkillFiles holds the ConfigMaps with files of the skills.
	SkillFiles SkillFiles
	// NoImageVolumes is true if a skill has an image and the API server does not support image volumes.
	NoImageVolumes bool
	// Instructions is the ConfigMap of spec.model.instructionsFrom. It is nil if the spec names none or the ConfigMap does not exist.
	Instructions *Instructions
	// Children contains the objects with the names of the Agent's objects. They may belong to
	// other owners.
	Children Children
	// GatewayAPI holds the kinds and objects of the Gateway API.
	GatewayAPI GatewayAPI
	// Exposure is what the installer of the operator allows to the exposure of the Agent. If it is
	// empty, no hostname is allowed.
	Exposure []exposure.Permission
	// Pods holds the pods that the Agent's Deployment made (names.OwnsPod), ordered by name.
	Pods []corev1.Pod
	// ForeignPods holds the other pods with the Agent's label, ordered by name. The Service routes calls to
	// those that are ready.
	ForeignPods []corev1.Pod
	// Revision is the revision that spec.workload.revision or a failed rollout names. It is nil if neither does.
	Revision *Revision
	// Account is the ServiceAccount of the pods. It is nil if it does not exist.
	Account *corev1.ServiceAccount
	// RestartOn has the objects of spec.workload.restartOn, in their order.
	RestartOn []RestartObject
	// PodWarnings has the newest warning about a pod that does not start, by the UID of the pod.
	PodWarnings map[types.UID]string
	// LastReports has the time of the last health report of each pod, by its UID, or the time since which the
	// operator counts reports. It is nil if the operator counts none.
	LastReports map[types.UID]time.Time
	// Remote is the result of the last read of a remote agent's card, or of the discovery document of an issuer. It is
	// nil before the first read, and for Agents that need neither.
	Remote *Remote
	// Issuer is the issuer of ServiceAccount tokens. It is nil until the issuer is known.
	Issuer *Issuer
	// RegistryCA contains the authorities with which sidecars verify the registry. nil
	// means the authorities of the sidecar's image.
	RegistryCA *RegistryCA
	// TokenIssuer is the registry as the issuer of tokens for calls of agents. It is nil until
	// the keys of the tokens are known, and if the manager issues no tokens.
	TokenIssuer *Issuer
}

// Schemas is the state of the operator's CRDs. It is immutable.
type Schemas struct {
	// Agents and AgentSkills are the generations of the CRDs.
	Agents, AgentSkills int64
	// Outdated says why the operator must not apply specs: a CRD is older than the operator. It is ""
	// if both CRDs are as new as the operator.
	Outdated string
	// NewAgentFields and NewAgentSkillFields are the fields of specs that only the installed CRDs have. They are nil
	// if the CRDs are not newer than the operator.
	NewAgentFields, NewAgentSkillFields crdschema.NewFields
	// Revision increases when another read of the same objects can give another result: after a change of a CRD,
	// and once more when no server uses the former schema any more.
	Revision int64
}

// Skills holds the AgentSkills to which an Agent refers.
type Skills struct {
	// Untrusted contains the skills whose specs the operator must not apply. It is nil if there are none.
	Untrusted map[types.NamespacedName]crdschema.Observed
	// Referenced contains the existing skills of spec.skillRefs, including skills that do not
	// admit the Agent.
	Referenced map[types.NamespacedName]*a2av1alpha1.AgentSkill
	// Unwatched contains the namespaces of spec.skillRefs that the operator does not watch.
	Unwatched map[string]bool
	// Selected holds the skills of spec.skillSelector, ordered by name.
	Selected []*a2av1alpha1.AgentSkill
	// SelectorError is the reason why spec.skillSelector cannot be evaluated, "" for none.
	SelectorError string
	// HaveFiles is true if a revision runs in place of the spec, and its skills could have files.
	HaveFiles bool
}

// Children contains the objects with the names of an Agent's objects. Each field is nil if the
// object does not exist.
type Children struct {
	ServiceAccount *corev1.ServiceAccount
	ConfigMap      *corev1.ConfigMap
	// SkillFiles has no data, which the caches do not keep.
	SkillFiles    *corev1.ConfigMap
	Service       *corev1.Service
	Deployment    *appsv1.Deployment
	NetworkPolicy *networkingv1.NetworkPolicy
	Autoscaler    *autoscalingv2.HorizontalPodAutoscaler
	Budget        *policyv1.PodDisruptionBudget
	HTTPRoute     *gatewayv1.HTTPRoute
	GRPCRoute     *gatewayv1.GRPCRoute
}

// GatewayAPI holds the kinds and objects of the Gateway API.
type GatewayAPI struct {
	// HTTPRoutes and GRPCRoutes report whether the cluster has the kind: the CRD exists and
	// serves the version that the operator uses.
	HTTPRoutes bool
	GRPCRoutes bool
	// Unreadable contains the reasons why the operator cannot read kinds.
	Unreadable Unreadable
	// Gateways holds the existing Gateways of spec.exposure, in watched namespaces.
	Gateways map[types.NamespacedName]*gatewayv1.Gateway
	// Claims holds the oldest claim of each address that the Agent requests at a Gateway. The claim
	// belongs to this or to another Agent. The map has no entry for an address without a claim.
	Claims map[Address]Claim
}

// Address is an address at a listener of a Gateway.
type Address struct {
	Gateway types.NamespacedName
	// Listener is the name of the listener, "" for all listeners of the Gateway, or AnyListener.
	Listener string
	// Kind is the kind of the routes.
	Kind gatewayv1.Kind
	// Host is "" if the routes name no hostname. The hostnames of the listeners then apply.
	Host a2av1alpha1.Hostname
	Path string
}

// AnyListener is a value of Address.Listener. The Address with this value has the claims of all
// Agents at the Gateway, for one listener and for all listeners. An Agent that names no listener
// competes with all these claims. AnyListener is not a valid name of a listener.
const AnyListener = "*"

// Claim is the claim of an Agent on an address: the Gateway accepts the Agent's route at this
// address.
type Claim struct {
	Agent types.NamespacedName
	// Created is the creation time of the route.
	Created metav1.Time
}

// Equal reports whether c and other are the same claim.
func (c Claim) Equal(other Claim) bool {
	return c.Agent == other.Agent && c.Created.Equal(&other.Created)
}

// Precedes reports whether a Gateway prefers the route of c to the route of other, if both have
// the same address.
func (c Claim) Precedes(other Claim) bool {
	if !c.Created.Equal(&other.Created) {
		return c.Created.Before(&other.Created)
	}
	return cmp.Or(cmp.Compare(c.Agent.Namespace, other.Agent.Namespace), cmp.Compare(c.Agent.Name, other.Agent.Name)) < 0
}

// Unreadable contains, for each kind, the reason why the operator cannot read its objects, ""
// for none.
type Unreadable struct{ Gateways, HTTPRoutes, GRPCRoutes string }

// DiscoveredIssuer returns the issuer from whose discovery document the operator reads how clients of the Agent sign in,
// "" for none.
func DiscoveredIssuer(agent *a2av1alpha1.Agent) string {
	if agent.Spec.Remote != nil {
		return ""
	}
	for _, each := range agent.Spec.Access.Authentication {
		if each.JWT != nil && each.JWT.OAuth2 != nil && slices.Contains(each.JWT.OAuth2.Flows, a2av1alpha1.OAuth2Discover) {
			return each.JWT.Issuer
		}
	}
	return ""
}

// Remote is the result of reading a remote agent's card, or the discovery document of the issuer of an Agent with a workload. It is
// immutable.
type Remote struct {
	// Flows are the flows that the last discovery document names. They are nil for a remote agent, and before the first
	// successful read.
	Flows []card.OAuthFlow
	// Card is the last card that was read, without the addresses of other origins than the
	// agent's own. It is nil before the first successful read.
	Card *RemoteCard
	// OmittedAddresses is the number of addresses of other origins that were removed from
	// Card.
	OmittedAddresses int
	// ReplacedAddress is the first address on the card of the agent that has another origin in Card, "" for none.
	ReplacedAddress string
	// CredentialsMismatch says which credentials the card requires and which field of the Agent to set, "" if the
	// credentials of the Agent match.
	CredentialsMismatch string
	// Failure is the problem of the last read. It is nil if the read succeeded.
	Failure *Problem
}

// RemoteCard is the card of a remote agent as the operator publishes it. It is immutable. It has
// no decoded card, because a decoded card takes several times the memory of its text.
type RemoteCard struct {
	// Text is the card in JSON, "" if TooLarge is true.
	Text string
	// TooLarge is true if Text would exceed sidecarconfig.MaxSize.
	TooLarge bool
	// Digest is the digest of the card.
	Digest string
	// Skills is the number of its skills.
	Skills int32
}

// RegistryCA contains the certificates of the authorities with which sidecars verify the
// registry. It is immutable.
type RegistryCA struct {
	PEM string
	// Additional is true if sidecars also accept the authorities of their image for the
	// registry.
	Additional bool
}

// Issuer is an issuer of tokens.
type Issuer struct {
	// URL is the value of the claim iss in the tokens of the issuer. Others are further values with the same keys, sorted: those
	// of the cluster's issuer before a change, and of servers that already have the new one.
	URL    string
	Others []string
	// Keys is the JWK set of the issuer. Equal sets have the same encoding.
	Keys json.RawMessage
}
