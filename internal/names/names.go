// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names says what the objects of an Agent are called, how they are
// labelled and where they are reached.
//
// It is pure: it knows the API types and nothing of a cluster.
package names

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// configSuffix distinguishes the ConfigMap of an Agent from the ConfigMaps that
// users make, such as one for the agent's container.
const configSuffix = "-a2a-config"

// Deployment is the name of an Agent's Deployment.
func Deployment(agent string) string { return agent }

// Service is the name of an Agent's Service.
func Service(agent string) string { return agent }

// ServiceAccount is the name of an Agent's ServiceAccount.
func ServiceAccount(agent string) string { return agent }

// ConfigMap is the name of the ConfigMap with the sidecar configuration of an
// Agent.
func ConfigMap(agent string) string { return agent + configSuffix }

// NetworkPolicy is the name of an Agent's NetworkPolicy.
func NetworkPolicy(agent string) string { return agent }

// HorizontalPodAutoscaler is the name of an Agent's.
func HorizontalPodAutoscaler(agent string) string { return agent }

// PodDisruptionBudget is the name of an Agent's.
func PodDisruptionBudget(agent string) string { return agent }

// HTTPRoute is the name of an Agent's HTTPRoute.
func HTTPRoute(agent string) string { return agent }

// GRPCRoute is the name of an Agent's GRPCRoute.
func GRPCRoute(agent string) string { return agent }

// Gateway is the Gateway that an Agent refers to.
func Gateway(agent *a2av1alpha1.Agent, ref a2av1alpha1.GatewayRef) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, agent.Namespace), Name: ref.Name}
}

// AgentOfConfigMap is the inverse of ConfigMap. It is empty for a ConfigMap
// that no Agent could own.
func AgentOfConfigMap(configMap string) string {
	agent, found := strings.CutSuffix(configMap, configSuffix)
	if !found {
		return ""
	}
	return agent
}

// Selector selects the pods of an Agent.
func Selector(agent string) labels.Set {
	return labels.Set{a2av1alpha1.LabelAgent: agent}
}

// Labels are those of every object of an Agent.
func Labels(agent string) labels.Set {
	return labels.Set{
		a2av1alpha1.LabelAgent:     agent,
		a2av1alpha1.LabelName:      agent,
		a2av1alpha1.LabelInstance:  agent,
		a2av1alpha1.LabelComponent: a2av1alpha1.ComponentAgent,
		a2av1alpha1.LabelPartOf:    a2av1alpha1.PartOf,
		a2av1alpha1.LabelManagedBy: a2av1alpha1.ManagedBy,
	}
}

// Host is the DNS name of an Agent's Service.
func Host(agent, namespace, clusterDomain string) string {
	return agent + "." + namespace + ".svc." + clusterDomain
}

// Audience is that of the tokens with which an Agent is called.
func Audience(agent, namespace string) string {
	return agent + "." + namespace + "." + a2av1alpha1.Audience
}
