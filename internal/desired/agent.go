// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package desired says what should stand in the cluster for an Agent.
//
// It is pure: from what was observed and from what the platform offers it
// makes apply configurations, or the problems that keep it from making them.
// It reads no clock and no cluster, writes nothing and logs nothing; equal
// inputs give equal objects.
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

// Result is what should stand in the cluster for an Agent.
type Result struct {
	// Objects are the Agent's. They are nil when a problem keeps them from being
	// made: then what runs is left as it is.
	Objects *Objects
	// CardKept tells that Objects have the card that was published last, because
	// of a problem with the current one. Everything else is as the spec says.
	CardKept bool
	// Problems are the mistakes in the spec.
	Problems []usererror.Problem
	// Remarks are to be told and stand in the way of nothing.
	Remarks []usererror.Problem
	// Exposure are problems that keep the agent from callers outside the
	// cluster, and from nobody else: the Objects are made all the same.
	Exposure []usererror.Problem
	// Card is what the Objects publish.
	Card Publication
}

// Objects are those of an Agent, all of them. A remote one has a ConfigMap and
// nothing else.
type Objects struct {
	ServiceAccount *corev1ac.ServiceAccountApplyConfiguration
	ConfigMap      *corev1ac.ConfigMapApplyConfiguration
	Service        *corev1ac.ServiceApplyConfiguration
	Deployment     *appsv1ac.DeploymentApplyConfiguration
	// NetworkPolicy is nil when there is to be none.
	NetworkPolicy *networkingv1ac.NetworkPolicyApplyConfiguration
	// Autoscaler is nil when the number of pods is fixed, or zero for now.
	Autoscaler *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration
	// Budget is nil when there is never more than one pod.
	Budget *policyv1ac.PodDisruptionBudgetApplyConfiguration
	// HTTPRoute and GRPCRoute are nil when there are to be none, or the cluster
	// does not have their kinds.
	HTTPRoute *gatewayv1ac.HTTPRouteApplyConfiguration
	GRPCRoute *gatewayv1ac.GRPCRouteApplyConfiguration
}

// Publication is what an Agent tells the world.
type Publication struct {
	// URL is where the agent is served.
	URL string
	// ExternalURL is where it is served outside the cluster, "" for nowhere.
	ExternalURL string
	// CardDigest names the content of the card.
	CardDigest string
	// ConfigDigest names the content of the contract, the card included.
	ConfigDigest string
	// Skills is the number of skills on the card.
	Skills int32
}

// Agent returns what should stand in the cluster for an Agent. An error is a
// fault of the operator's, never of the Agent's author.
//
// A mistake that concerns only the card does not keep the rest of the spec from
// being applied: a skill that its owner has deleted must not delay a rule that
// revokes access. Any other mistake leaves all objects as they are.
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

// agentRemarks returns what the author of a spec should know that can be carried
// out.
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
