// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const (
	agentImage     = "example/echo:1"
	currentSidecar = "example/sidecar:v0.1.0"
)

// state contains the facts about a cluster with one agent.
type state struct {
	shared *SharedFacts
	f      *AgentFacts
}

func (s state) findings() []Finding {
	r := NewReport(s.shared, []*AgentFacts{s.f})
	return append(r.Agents[0].Findings, r.Shared...)
}

// condition sets a condition of the Agent. If status is not True, it also sets the condition Ready to the same status,
// reason and message.
func (s state) condition(name string, status metav1.ConditionStatus, reason, message string) {
	set := func(name string) {
		meta.SetStatusCondition(&s.f.Agent.Status.Conditions, metav1.Condition{
			Type: name, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Time{Time: now.Add(-time.Hour)}, ObservedGeneration: 2,
		})
	}
	set(name)
	if status != metav1.ConditionTrue {
		set(a2av1alpha1.ConditionReady)
	}
}

// registryFails sets the state of the registry that the metrics of a sidecar show.
func (s state) registryFails(metric string) {
	registry, _ := parseRegistryState([]byte("# HELP x\n" + metric + "\n"))
	s.f.Calls.RegistryStates = map[string]RegistryState{"echo-5d9c-x2x": registry}
}

// unavailable sets the condition Available of the Agent to False.
func (s state) unavailable(reason, message string) {
	s.condition(a2av1alpha1.ConditionAvailable, metav1.ConditionFalse, reason, message)
	s.f.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	s.f.Endpoints = nil
	s.f.Deployment.Status.ReadyReplicas = 0
}

// waits sets the state of the agent's container to waiting.
func (s state) waits(reason, message string) {
	s.f.Pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	s.f.Pods[0].Status.ContainerStatuses[0].Ready = false
}

// knownCRDs returns the fields that this build knows.
func knownCRDs() map[string]crdschema.Fields {
	crds := map[string]crdschema.Fields{}
	for _, name := range []string{crdschema.Agents, crdschema.AgentSkills} {
		crds[name] = maps.Clone(crdschema.Own(name))
	}
	return crds
}

// healthy returns a cluster without a fault.
func healthy(t *testing.T) state {
	t.Helper()
	agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "echo", Generation: 2, CreationTimestamp: metav1.Time{Time: now.Add(-24 * time.Hour)},
	}}
	agent.Spec.Workload = &a2av1alpha1.AgentWorkload{}
	agent.Spec.Workload.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: agentImage}}
	agent.Status.ObservedGeneration = 2
	published := publishedCard{Card: card.Card{Name: "echo", Description: "Says it again.", Version: "1", Skills: []card.Skill{{ID: "echo", Name: "Echo"}}}}
	published.Gateway.RegistryURL = "http://a2a-operator-registry.a2a-system.svc.cluster.local"
	digest, err := card.Digest(&published.Card)
	if err != nil {
		t.Fatal(err)
	}
	agent.Status.CardDigest = digest
	text, err := json.Marshal(published)
	if err != nil {
		t.Fatal(err)
	}
	always := corev1.ContainerRestartPolicyAlways
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: now.Add(-time.Hour)}}}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "echo-5d9c-x2x", Labels: names.Selector("echo"), Annotations: map[string]string{a2av1alpha1.AnnotationConfigDigest: "c1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "echo-5d9c", UID: "uid", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			DNSPolicy:      corev1.DNSClusterFirst,
			InitContainers: []corev1.Container{{Name: a2av1alpha1.ContainerSidecar, Image: currentSidecar, RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "agent", Image: agentImage}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: a2av1alpha1.ContainerSidecar, Ready: true, State: running}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "agent", Ready: true, State: running}},
		},
	}
	tcp := corev1.ProtocolTCP
	s := state{
		shared: &SharedFacts{Now: now, ServerTime: now, DNSServices: 1, DNSReady: 2, CRDs: knownCRDs(), Plugin: "v0.1.0", Manager: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a2a-system", Name: "a2a-operator-manager", Labels: map[string]string{a2av1alpha1.LabelName: a2av1alpha1.ManagedBy, a2av1alpha1.LabelComponent: "manager"}},
			Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "manager", Image: "example/manager:v0.1.0", Args: []string{"--sidecar-image=" + currentSidecar},
			}}}}},
			Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1},
		}},
		f: &AgentFacts{
			Agent:      agent,
			Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo", Labels: names.Labels("echo")}, Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1}},
			Pods:       []corev1.Pod{pod},
			Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo", Labels: names.Labels("echo")}, Spec: corev1.ServiceSpec{
				Selector: names.Selector("echo"), Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(sidecarconfig.AgentPort)}},
			}},
			Endpoints: []discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo-1", Labels: map[string]string{discoveryv1.LabelServiceName: "echo"}}, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}},
			ConfigMap: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: names.ConfigMap("echo"), Labels: names.Labels("echo"), Annotations: map[string]string{a2av1alpha1.AnnotationConfigDigest: "c1"}},
				Data:       map[string]string{sidecarconfig.FileName: string(text)},
			},
			NamespaceLabels: map[string]string{corev1.LabelMetadataName: "team"},
			Policies: []networkingv1.NetworkPolicy{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"},
				Spec: networkingv1.NetworkPolicySpec{
					PodSelector: metav1.LabelSelector{MatchLabels: names.Selector("echo")}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
					Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: new(intstr.FromInt32(sidecarconfig.AgentPort))}}}},
				},
			}},
			RegistryPeer: Peer{
				Namespace: "a2a-system", Labels: map[string]string{a2av1alpha1.LabelName: a2av1alpha1.ManagedBy},
				NamespaceLabels: map[string]string{corev1.LabelMetadataName: "a2a-system"},
			},
			Calls: &CallFacts{
				Card: published.Card.Public(), SidecarTime: now, Called: true, Registry: &Listing{Listed: true, CardDigest: digest},
				Token: &Token{Audiences: []string{"echo.team.a2a-operator.dev"}, Issuer: "https://issuer.example", NotBefore: now, Expires: now.Add(tokenLifetime)},
			},
		},
	}
	for name, reason := range map[string]string{
		a2av1alpha1.ConditionAccepted: a2av1alpha1.ReasonAccepted, a2av1alpha1.ConditionSkillsResolved: a2av1alpha1.ReasonDefaultSkill,
		a2av1alpha1.ConditionProgrammed: a2av1alpha1.ReasonProgrammed, a2av1alpha1.ConditionAvailable: a2av1alpha1.ReasonAvailable,
		a2av1alpha1.ConditionCardPublished: a2av1alpha1.ReasonPublished, a2av1alpha1.ConditionExposed: a2av1alpha1.ReasonClusterOnly,
		a2av1alpha1.ConditionReady: a2av1alpha1.ReasonReady,
	} {
		s.condition(name, metav1.ConditionTrue, reason, "Text of the condition")
	}
	return s
}
