// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired renders the objects of an Agent.
//
// It is pure: from the observed state and the settings of the installation it
// renders apply configurations, or returns the user errors that keep it from
// rendering them. It reads no clock and no cluster, writes nothing and logs nothing.
// Equal inputs give equal objects.
package desired

import (
	"slices"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/a2a-operator/a2a-operator/internal/clusterstate"
	"github.com/a2a-operator/a2a-operator/internal/usererror"
)

// Result is the desired state of an Agent.
type Result struct {
	// Objects are the objects of the Agent. They are nil if a problem keeps them from
	// being rendered: then the operator keeps the existing objects.
	Objects *Objects
	// CardKept is true if Objects have the kept card, because of a problem with the
	// current one. Everything else is of the current spec.
	CardKept bool
	// Problems are the user errors in the spec.
	Problems []usererror.Problem
	// Remarks are messages for the user that do not keep the spec from being applied.
	Remarks []usererror.Problem
	// Exposure are problems that make the agent unreachable from outside the cluster only. The objects are still
	// rendered.
	Exposure []usererror.Problem
	// Card describes the card in Objects.
	Card Publication
}

// Objects are all objects of an Agent. A remote agent has only a ConfigMap.
type Objects struct {
	ServiceAccount *corev1ac.ServiceAccountApplyConfiguration
	ConfigMap      *corev1ac.ConfigMapApplyConfiguration
	Service        *corev1ac.ServiceApplyConfiguration
	Deployment     *appsv1ac.DeploymentApplyConfiguration
	// NetworkPolicy is nil if the Agent has none.
	NetworkPolicy *networkingv1ac.NetworkPolicyApplyConfiguration
	// Autoscaler is nil if the number of pods is fixed, or scaled to zero.
	Autoscaler *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration
	// Budget is nil if the Agent never has more than one pod.
	Budget *policyv1ac.PodDisruptionBudgetApplyConfiguration
	// HTTPRoute and GRPCRoute are nil if the Agent has none, or if the cluster does not
	// have their kinds.
	HTTPRoute *gatewayv1ac.HTTPRouteApplyConfiguration
	GRPCRoute *gatewayv1ac.GRPCRouteApplyConfiguration
}

// Publication describes a published card.
type Publication struct {
	// URL is the URL of the agent inside the cluster.
	URL string
	// ExternalURL is the URL outside the cluster, and "" without one.
	ExternalURL string
	// CardDigest is the digest of the card.
	CardDigest string
	// ConfigDigest is the digest of the sidecar configuration, including the card.
	ConfigDigest string
	// Skills is the number of skills on the card.
	Skills int32
}

// Agent returns the desired state of an Agent. An error is a failure of the operator;
// a mistake in the spec is a Problem.
//
// A mistake in the card does not keep the rest of the spec from being applied: a skill
// that its owner has deleted must not delay a rule that revokes access. For any other
// mistake, Objects is nil.
func Agent(in clusterstate.Agent, platform Platform) (Result, error) {
	if in.Agent.Spec.Remote != nil {
		return remoteAgent(in)
	}
	authorization, invalid, err := configAuthorization(in.Agent)
	if err != nil {
		return Result{}, err
	}
	exposed := expose(in)
	inside := serviceBases(in.Agent, platform)
	bases := slices.Concat(exposed.bases, inside)
	published := publishedCard(in, inside[0])
	problems := slices.Concat(templateConflicts(in.Agent), emptyHooks(in.Agent), pushProblems(in.Agent), modelServerProblems(in.Agent), invalid)
	remarks, err := agentRemarks(in, published)
	if err != nil {
		return Result{}, err
	}
	if published.card != nil {
		unknown, harmless := unknownSkills(in.Agent, published.ruleSkills(in))
		problems, remarks = append(problems, unknown...), append(remarks, harmless...)
	}
	if needsIssuer(in.Agent) && in.Issuer == nil {
		problems = append(problems, issuerUnknown())
	}
	result := Result{Problems: slices.Concat(problems, published.problems), Remarks: remarks, Exposure: exposed.problems}
	if len(problems) > 0 || published.card == nil {
		return result, nil
	}

	config, err := sidecarConfiguration(in, platform, *published.card, bases, authorization)
	if err != nil {
		return Result{}, err
	}
	encoded, tooLarge, err := encodeConfiguration(config)
	if err != nil {
		return Result{}, err
	}
	result.Problems = append(result.Problems, tooLarge...)
	for len(tooLarge) > 0 {
		if !published.smaller(in) {
			return result, nil
		}
		if config, err = sidecarConfiguration(in, platform, *published.card, bases, authorization); err != nil {
			return Result{}, err
		}
		if encoded, tooLarge, err = encodeConfiguration(config); err != nil {
			return Result{}, err
		}
	}
	result.CardKept = published.kept
	if result.Card, err = publicationOf(config, encoded); err != nil {
		return Result{}, err
	}
	result.Card.URL, result.Card.ExternalURL = agentURL(in.Agent, platform), exposed.url
	result.Objects = &Objects{
		ServiceAccount: serviceAccount(in.Agent),
		ConfigMap:      configMap(in.Agent, encoded, result.Card.ConfigDigest),
		Service:        service(in.Agent),
		Deployment:     deployment(in.Agent, platform),
		NetworkPolicy:  networkPolicy(in.Agent, platform),
		Autoscaler:     autoscaler(in.Agent),
		Budget:         disruptionBudget(in.Agent),
		HTTPRoute:      httpRoute(in),
		GRPCRoute:      grpcRoute(in),
	}
	return result, nil
}

// agentRemarks returns the remarks on a valid spec.
func agentRemarks(in clusterstate.Agent, published *cardChoice) ([]usererror.Problem, error) {
	remarks, err := securityRemarks(in.Agent)
	if err != nil {
		return nil, err
	}
	remarks = append(remarks, preStopRemarks(in.Agent)...)
	if spec := &in.Agent.Spec; len(spec.Skills) == 0 && len(spec.SkillRefs) == 0 && len(in.Skills.Selected) == 0 {
		remarks = append(remarks, defaultSkillRemark(in))
	}
	if published.card != nil {
		remarks = append(remarks, hiddenSkillRemarks(in.Agent, published.card.Skills)...)
	}
	return append(remarks, autoscalerRemarks(in)...), nil
}
