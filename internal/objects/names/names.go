// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names returns the names, labels and addresses of the objects of an Agent.
//
// The package is pure: it depends on the API types and not on a cluster.
package names

import (
	"cmp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// configSuffix distinguishes the ConfigMap of an Agent from the ConfigMaps of users, such as one
// for the agent's container. skillsSuffix does the same for the files of skills.
const (
	configSuffix = "-a2a-config"
	skillsSuffix = "-a2a-skills"
)

// Deployment returns the name of an Agent's Deployment.
func Deployment(agent string) string { return agent }

// Service returns the name of an Agent's Service.
func Service(agent string) string { return agent }

// ServiceAccount returns the name of an Agent's ServiceAccount.
func ServiceAccount(agent string) string { return agent }

// ServiceAccountOfPods returns the name of the ServiceAccount of an Agent's pods: the one that its
// template names, or its own.
func ServiceAccountOfPods(agent *a2av1alpha1.Agent) string {
	pod := &agent.Spec.Workload.Template.Spec
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, ServiceAccount(agent.Name))
}

// HasOwnServiceAccount reports whether the template of an Agent names the ServiceAccount of its pods. The operator then
// makes none.
func HasOwnServiceAccount(agent *a2av1alpha1.Agent) bool {
	pod := &agent.Spec.Workload.Template.Spec
	return pod.ServiceAccountName != "" || pod.DeprecatedServiceAccount != ""
}

// PodsByAgent is the name of the index of pods by their Agent, in a cache. Without the index, every reconcile would
// scan all pods of the namespace.
const PodsByAgent = "metadata.labels.agent"

// ConfigMap returns the name of the ConfigMap with the sidecar configuration of an Agent.
func ConfigMap(agent string) string { return agent + configSuffix }

// SkillFiles returns the name of the ConfigMap with the files of an Agent's skills.
func SkillFiles(agent string) string { return agent + skillsSuffix }

// NetworkPolicy returns the name of an Agent's NetworkPolicy.
func NetworkPolicy(agent string) string { return agent }

// HorizontalPodAutoscaler returns the name of an Agent's HorizontalPodAutoscaler.
func HorizontalPodAutoscaler(agent string) string { return agent }

// PodDisruptionBudget returns the name of an Agent's PodDisruptionBudget.
func PodDisruptionBudget(agent string) string { return agent }

// HTTPRoute returns the name of an Agent's HTTPRoute.
func HTTPRoute(agent string) string { return agent }

// GRPCRoute returns the name of an Agent's GRPCRoute.
func GRPCRoute(agent string) string { return agent }

// OwnsPod reports whether the Deployment of an Agent made a pod: the controller of the pod is a
// ReplicaSet with a name that the Deployment gives, which is its own name and a hash. Everyone who
// may create pods may give them the Agent's label.
func OwnsPod(agent string, pod metav1.Object) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil || controller.Kind != "ReplicaSet" || controller.APIVersion != appsv1.SchemeGroupVersion.String() {
		return false
	}
	hash, found := strings.CutPrefix(controller.Name, Deployment(agent)+"-")
	return found && hash != "" && !strings.Contains(hash, "-")
}

// Gateway returns the namespaced name of a Gateway to which an Agent refers.
func Gateway(agent *a2av1alpha1.Agent, ref a2av1alpha1.GatewayRef) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(ref.Namespace, agent.Namespace), Name: ref.Name}
}

// AgentOfConfigMap is the inverse of ConfigMap. It returns "" for a name that ConfigMap does not
// return.
func AgentOfConfigMap(configMap string) string { return agentOf(configMap, configSuffix) }

// AgentOfSkillFiles is the inverse of SkillFiles. It returns "" for a name that SkillFiles does not
// return.
func AgentOfSkillFiles(configMap string) string { return agentOf(configMap, skillsSuffix) }

func agentOf(object, suffix string) string {
	agent, found := strings.CutSuffix(object, suffix)
	if !found {
		return ""
	}
	return agent
}

// Selector returns the labels that select the pods of an Agent.
func Selector(agent string) labels.Set {
	return labels.Set{a2av1alpha1.LabelAgent: agent}
}

// Labels returns the labels of every object of an Agent.
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

// Revision returns the name of the ControllerRevision with a digest.
func Revision(agent, digest string) string { return agent + "-a2a-" + digest }

// Host returns the DNS name of an Agent's Service.
func Host(agent, namespace, clusterDomain string) string {
	return ServiceHost(agent, namespace) + "." + clusterDomain
}

// ServiceHost returns the DNS name of an Agent's Service without the domain of the cluster.
func ServiceHost(agent, namespace string) string {
	return agent + "." + namespace + ".svc"
}

// Audience returns the audience of tokens for calls to an Agent.
func Audience(agent, namespace string) string {
	return agent + "." + namespace + "." + a2av1alpha1.Audience
}
