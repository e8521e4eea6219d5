// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterstate holds what one reconcile of an Agent has read, as values.
//
// It is what gather returns and what the pure packages read. It has no
// behaviour and no way to a cluster, so that desired and status can be tested
// with nothing but literals.
package clusterstate

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// Agent is an Agent and everything around it that matters to it.
type Agent struct {
	// Agent is the resource itself, with the status that was written last.
	Agent *a2av1alpha1.Agent
	// NamespaceLabels are those of the Agent's namespace. They are read only
	// when a skill of another namespace or a Gateway is asked for.
	NamespaceLabels map[string]string
	// Skills are those that the Agent asks for.
	Skills Skills
	// Children are the objects under the names of the Agent's, be they the
	// Agent's or not.
	Children Children
	// GatewayAPI is what the cluster has of it.
	GatewayAPI GatewayAPI
	// Pods are those with the Agent's label, ordered by name.
	Pods []corev1.Pod
	// Remote is what is known of an agent that runs elsewhere. It is nil for all
	// others, and until something is known.
	Remote *Remote
	// Issuer verifies ServiceAccount tokens. Nil means that it is not known yet.
	Issuer *Issuer
}

// Skills are the AgentSkills that an Agent asks for.
type Skills struct {
	// Referenced holds those of spec.skillRefs that exist, whether they admit
	// the Agent or not.
	Referenced map[types.NamespacedName]*a2av1alpha1.AgentSkill
	// Unwatched are the namespaces of spec.skillRefs of which the operator sees
	// nothing.
	Unwatched map[string]bool
	// Selected are those of spec.skillSelector, ordered by name.
	Selected []*a2av1alpha1.AgentSkill
	// SelectorError says why spec.skillSelector cannot be evaluated.
	SelectorError string
}

// Children are the objects under the names of the Agent's. Each is nil when it
// does not exist.
type Children struct {
	ServiceAccount *corev1.ServiceAccount
	ConfigMap      *corev1.ConfigMap
	Service        *corev1.Service
	Deployment     *appsv1.Deployment
	NetworkPolicy  *networkingv1.NetworkPolicy
	Autoscaler     *autoscalingv2.HorizontalPodAutoscaler
	Budget         *policyv1.PodDisruptionBudget
	HTTPRoute      *gatewayv1.HTTPRoute
	GRPCRoute      *gatewayv1.GRPCRoute
}

// GatewayAPI is what the cluster has of the Gateway API. A kind is missing
// when its CRD is not there, or does not serve the version that is used.
type GatewayAPI struct {
	HTTPRoutes bool
	GRPCRoutes bool
	// Unreadable says why kinds cannot be read that the cluster may have.
	Unreadable Unreadable
	// Gateways are those of spec.exposure that exist and can be seen.
	Gateways map[types.NamespacedName]*gatewayv1.Gateway
	// Rivals are the other Agents that ask a Gateway for an address that the
	// Agent asks it for, ordered by namespace and name.
	Rivals []Rival
}

// Rival is another Agent, with the routes under its name. Each is nil when it
// does not exist.
type Rival struct {
	Agent     *a2av1alpha1.Agent
	HTTPRoute *gatewayv1.HTTPRoute
	GRPCRoute *gatewayv1.GRPCRoute
}

// Unreadable says of each kind why it cannot be read, "" when there is no
// reason.
type Unreadable struct{ Gateways, HTTPRoutes, GRPCRoutes string }

// Remote is what is known of an agent that runs elsewhere. It is not changed.
type Remote struct {
	// Card is the last one that was read, with addresses at the agent's own
	// origin only; nil when there was none yet.
	Card *card.Card
	// Elsewhere counts the addresses that were left out of it.
	Elsewhere int
	// Failure is why the last look has failed; nil when it has not.
	Failure *usererror.Problem
}

// Issuer is who signs the ServiceAccount tokens of the cluster.
type Issuer struct {
	// URL is what stands in a token's iss.
	URL string
	// Keys is the JWK set, in a form that is equal for equal sets.
	Keys json.RawMessage
}
