// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Result is the desired state of an Agent.
type Result struct {
	// Objects are the objects of the Agent. It is nil if a problem prevents the
	// rendering, and while the card of a remote agent is unknown. The operator then
	// keeps the existing objects.
	Objects *Objects
	// CardKept is true if Objects contain the kept card because of a problem with the
	// card of the current spec. Everything else in Objects comes from the current spec.
	CardKept bool
	// CardAwaitsPod is true if Objects contain the published card because no pod of the current template
	// serves yet, and pods of an earlier one do: a card describes the program that serves it.
	CardAwaitsPod bool
	// Problems are the user errors in the spec.
	Problems []state.Problem
	// Remarks are messages for the user about a spec that can be applied.
	Remarks []state.Problem
	// Exposure are problems that affect only callers outside the cluster. They do not
	// prevent the rendering of the objects.
	Exposure []state.Problem
	// Card describes the card in Objects.
	Card Publication
	// TemplateDigest is the digest of the pod template in Objects, "" without a Deployment.
	TemplateDigest string
	// SpecTemplate is the digest of the pod template that the spec describes, "" if it is not known. It differs from
	// TemplateDigest while a revision runs after a failed rollout.
	SpecTemplate string
	// Runs is the number of the kept revision in Objects, 0 for the spec.
	Runs int64
	// RevisionDigest is the digest of Revision of the spec, "" for none and while a revision runs.
	RevisionDigest string
}

// Objects are all objects of an Agent. A remote agent has only a ConfigMap.
type Objects struct {
	ServiceAccount *corev1ac.ServiceAccountApplyConfiguration
	ConfigMap      *corev1ac.ConfigMapApplyConfiguration
	// SkillFiles is nil if the skills have no files, and while the files are not known. An existing ConfigMap then stays.
	SkillFiles *corev1ac.ConfigMapApplyConfiguration
	Service    *corev1ac.ServiceApplyConfiguration
	Deployment *appsv1ac.DeploymentApplyConfiguration
	// NetworkPolicy is nil if the Agent has none.
	NetworkPolicy *networkingv1ac.NetworkPolicyApplyConfiguration
	// Autoscaler is nil if the number of pods is fixed, or if the Agent is suspended.
	Autoscaler *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration
	// Budget is nil if the Agent never has more than one pod.
	Budget *policyv1ac.PodDisruptionBudgetApplyConfiguration
	// HTTPRoute and GRPCRoute are nil if the Agent has no such route, or if the cluster
	// does not have the kind.
	HTTPRoute *gatewayv1ac.HTTPRouteApplyConfiguration
	GRPCRoute *gatewayv1ac.GRPCRouteApplyConfiguration
}

// Publication describes a published card.
type Publication struct {
	// URL is the URL of the agent inside the cluster.
	URL string
	// ExternalURL is the URL of the agent outside the cluster, "" if there is none.
	ExternalURL string
	// CardDigest is the digest of the card.
	CardDigest string
	// ConfigDigest is the digest of the sidecar configuration, including the card.
	ConfigDigest string
	// Skills is the number of skills on the card.
	Skills int32
}
