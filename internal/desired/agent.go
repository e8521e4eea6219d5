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

	"github.com/a2a-operator/a2a-operator/internal/observed"
	"github.com/a2a-operator/a2a-operator/internal/problem"
)

// Result is what should stand in the cluster for an Agent.
type Result struct {
	// Objects are the Agent's. With a problem there are none, so that what
	// runs is left alone.
	Objects *Objects
	// Problems keep the Objects from being made.
	Problems []problem.Problem
	// Remarks are to be told and stand in the way of nothing.
	Remarks []problem.Problem
	// Exposure are problems that keep the agent from callers outside the
	// cluster, and from nobody else: the Objects are made all the same.
	Exposure []problem.Problem
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
	// ContractDigest names the content of the contract, the card included.
	ContractDigest string
	// Skills is the number of skills on the card.
	Skills int32
}

// Agent returns what should stand in the cluster for an Agent. An error is a
// fault of the operator's, never of the Agent's author.
func Agent(in observed.Agent, platform Platform) (Result, error) {
	if in.Agent.Spec.Remote != nil {
		return remoteAgent(in)
	}
	skills, problems := resolveSkills(in)
	problems = slices.Concat(clashes(in.Agent), emptyHooks(in.Agent), pushProblems(in.Agent), problems)
	authorization, invalid, err := contractAuthorization(in.Agent)
	if err != nil {
		return Result{}, err
	}
	problems = append(problems, invalid...)
	remarks, err := securityRemarks(in.Agent)
	if err != nil {
		return Result{}, err
	}
	remarks = append(remarks, preStopRemarks(in.Agent)...)
	if skills != nil {
		unknown, harmless := unknownSkills(in.Agent, skills)
		problems, remarks = append(problems, unknown...), append(remarks, harmless...)
	}
	if spec := &in.Agent.Spec; len(spec.Skills) == 0 && len(spec.SkillRefs) == 0 && len(in.Skills.Selected) == 0 {
		remarks = append(remarks, defaultSkillRemark(in))
	}
	remarks = append(remarks, hiddenSkillRemarks(in.Agent, skills)...)
	if needsIssuer(in.Agent) && in.Issuer == nil {
		problems = append(problems, issuerUnknown())
	}
	remarks = append(remarks, autoscalerRemarks(in)...)
	exposed := expose(in)
	if len(problems) > 0 {
		return Result{Problems: problems, Remarks: remarks, Exposure: exposed.problems}, nil
	}

	config, err := contractConfig(in, platform, skills, exposed.bases)
	if err != nil {
		return Result{}, err
	}
	if authorization != nil {
		// The rules decide on callers of all namespaces.
		config.Access.Namespaces, config.Access.Authorization = []string{allNamespaces}, authorization
	}
	encoded, problems, err := encodeContract(config)
	if err != nil || len(problems) > 0 {
		return Result{Problems: problems, Remarks: remarks, Exposure: exposed.problems}, err
	}
	publication, err := publicationOf(config, encoded)
	if err != nil {
		return Result{}, err
	}
	publication.URL, publication.ExternalURL = agentURL(in.Agent, platform), exposed.url
	return Result{
		Objects: &Objects{
			ServiceAccount: serviceAccount(in.Agent),
			ConfigMap:      configMap(in.Agent, encoded, publication.ContractDigest),
			Service:        service(in.Agent),
			Deployment:     deployment(in.Agent, platform),
			NetworkPolicy:  networkPolicy(in.Agent, platform),
			Autoscaler:     autoscaler(in.Agent),
			Budget:         disruptionBudget(in.Agent),
			HTTPRoute:      httpRoute(in),
			GRPCRoute:      grpcRoute(in),
		},
		Remarks:  remarks,
		Exposure: exposed.problems,
		Card:     publication,
	}, nil
}
