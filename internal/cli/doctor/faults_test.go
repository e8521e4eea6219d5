// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
)

func policy(name string, types []networkingv1.PolicyType, change func(*networkingv1.NetworkPolicySpec)) networkingv1.NetworkPolicy {
	p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: networkingv1.NetworkPolicySpec{PolicyTypes: types}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

var (
	ingressOnly = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	egressOnly  = []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
)

func portRule(protocol corev1.Protocol, number int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: &protocol, Port: new(intstr.FromInt32(number))}}
}

// faults are the faults that a test puts into a healthy cluster. cure is a text that the cure of a finding must
// contain.
var faults = []struct {
	name string
	seed func(state)
	cure string
}{
	{"image that cannot be pulled", func(s state) {
		s.unavailable(a2av1alpha1.ReasonImagePullFailed, `The image "example/echo:1" of container "agent" cannot be pulled`)
		s.waits("ImagePullBackOff", "pull access denied for example/echo")
	}, "imagePullSecrets"},
	{"container that crashes", func(s state) {
		s.unavailable(a2av1alpha1.ReasonContainerCrashing, "Container agent exits")
		s.waits("CrashLoopBackOff", "back-off 5m0s")
		s.f.Pods[0].Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", FinishedAt: metav1.Time{Time: now}}
	}, "Read its log"},
	{"container without enough memory", func(s state) {
		s.unavailable(a2av1alpha1.ReasonContainerCrashing, "Container agent exits")
		s.waits("CrashLoopBackOff", "back-off 5m0s")
		s.f.Pods[0].Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
		s.f.Pods[0].Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.Time{Time: now}}
	}, "resources.limits.memory"},
	{"pod that no node can run", func(s state) {
		s.unavailable(a2av1alpha1.ReasonUnschedulable, "The scheduler finds no node for the pod")
		s.f.Pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient memory.",
		}}}
	}, "Add capacity"},
	{"probe that fails", func(s state) {
		s.unavailable(a2av1alpha1.ReasonContainerNotReady, "The readiness probe of container agent fails")
		s.f.Pods[0].Status.ContainerStatuses[0].Ready = false
	}, "Correct the probe"},
	{"agent on another port", func(s state) {
		s.unavailable(a2av1alpha1.ReasonAgentNotListening, "The agent does not listen on port 8080")
		s.f.Readiness = map[string]string{"echo-5d9c-x2x": "dial tcp 127.0.0.1:8080: connection refused"}
	}, "variable PORT"},
	{"pods that a quota rejects", func(s state) {
		s.unavailable(a2av1alpha1.ReasonPodsRejected, "exceeded quota")
		s.f.Pods = nil
	}, "raise the quota"},
	{"Service with another selector", func(s state) { s.f.Service.Spec.Selector = map[string]string{"app": "other"} }, "restores the selector"},
	{"Service that was deleted", func(s state) { s.f.Service = nil }, "creates the Service again"},
	{"Deployment that was paused", func(s state) { s.f.Deployment.Spec.Paused = true }, "Resume the rollout"},
	{"pod of another owner behind the Service", func(s state) { s.f.Pods[0].Spec.InitContainers = nil }, "Remove the label"},
	{"pod that the Deployment did not make", func(s state) { s.f.Pods[0].OwnerReferences = nil }, "Remove the label"},
	{"pod that does not start", func(s state) {
		s.unavailable(a2av1alpha1.ReasonPodNotStarting, `Pod "echo-5d9c-x2x" does not start: FailedMount: secret "keys" not found`)
		pod := &s.f.Pods[0]
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Time{Time: now.Add(-time.Minute)}}}
		s.waits("PodInitializing", "")
		pod.Status.InitContainerStatuses[0].State = pod.Status.ContainerStatuses[0].State
	}, "Create the object that is missing"},
	{"node that does not report", func(s state) {
		s.unavailable(a2av1alpha1.ReasonNodeNotReady, "Node node-7 does not report")
		s.f.Pods[0].Spec.NodeName = "node-7"
		s.f.Pods[0].Status.Conditions = append(s.f.Pods[0].Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
	}, "Repair the node"},
	{"webhook of others that does not answer", func(s state) {
		s.condition(a2av1alpha1.ConditionProgrammed, metav1.ConditionFalse, a2av1alpha1.ReasonWebhookFailed, `admission webhook "w.example" does not answer`)
	}, "Repair or remove the webhook"},
	{"second operator that watches the Agent", func(s state) {
		s.condition(a2av1alpha1.ConditionManagedByAnotherOperator, metav1.ConditionTrue, a2av1alpha1.ReasonManagedByAnotherOperator,
			"Operator b/a2a-operator watches this Agent, too, and leaves it alone, because a2a-system/a2a-operator manages it")
	}, "Restrict the namespaces"},
	{"NetworkPolicy that blocks a caller", func(s state) {
		s.f.Policies = []networkingv1.NetworkPolicy{policy("only-friends", ingressOnly, func(p *networkingv1.NetworkPolicySpec) {
			p.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"friend": "yes"}}}}}}
		})}
		s.f.Caller = &Peer{Namespace: "other", Name: "caller", NamespaceLabels: map[string]string{"friend": "no"}}
	}, "Add an ingress rule for TCP port 8641"},
	{"NetworkPolicy that blocks the calls of a pod", func(s state) {
		s.f.Caller = &Peer{Namespace: "other", Name: "caller"}
		s.f.CallerPolicies = []networkingv1.NetworkPolicy{policy("egress", egressOnly, func(p *networkingv1.NetworkPolicySpec) {
			p.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: portRule(corev1.ProtocolTCP, 80)}}
		})}
	}, "Add an egress rule for TCP port 8641"},
	{"NetworkPolicy that admits nobody", func(s state) {
		s.f.Policies = []networkingv1.NetworkPolicy{policy("default-deny", ingressOnly, nil)}
	}, "Add an ingress rule for TCP port 8641"},
	{"NetworkPolicy that blocks DNS and the registry", func(s state) {
		s.f.Policies = append(s.f.Policies, policy("default-deny", egressOnly, nil))
	}, "UDP and TCP port 53"},
	{"sidecar with an old card", func(s state) {
		s.f.Calls.Card = &card.Card{Name: "echo", Description: "Says it again.", Version: "0", Skills: []card.Skill{{ID: "echo"}}}
	}, "read the log of the sidecar"},
	{"token for another audience", func(s state) { s.f.Calls.Token.Audiences = []string{"a2a-operator.dev"} }, "Request a token for the audience of this agent"},
	{"token of another issuer", func(s state) {
		s.f.Agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{{
			Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: "https://login.example", Audiences: []string{"echo"}},
		}}
	}, "Request a token for the audience of this agent"},
	{"token that has expired", func(s state) { s.f.Calls.Token.Expires = now.Add(-time.Hour) }, "Request a new token"},
	{"caller that no rule admits", func(s state) {
		s.f.Calls.CallErr = failure.New(failure.AuthFailed, "permission denied").WithHint("the agent accepts the credential, but no rule admits the caller; see spec.access.authorization of the Agent")
	}, "spec.access.authorization"},
	{"node whose clock is off", func(s state) { s.f.Calls.SidecarSkew = 3 * time.Minute }, "Synchronize the clocks of the nodes"},
	{"machine whose clock is off", func(s state) {
		s.shared.ServerTime = now.Add(-2 * time.Minute)
		s.f.Calls.SidecarSkew, s.f.Calls.Token.NotBefore = -2*time.Minute, s.shared.ServerTime
	}, "Synchronize the clock of this machine"},
	{"callers beyond their token budget", func(s state) {
		s.f.Agent.Spec.Limits = &a2av1alpha1.AgentLimits{Tokens: &a2av1alpha1.TokenBudgets{PerHour: 2000, PerCallerPerHour: 1000}}
		s.f.Calls.Tokens = map[string]TokenMetrics{"echo-5d9c-x2x": {RefusedCaller: 3, RefusedTotal: 1, Turns: 9, Reports: 9}}
	}, "raise spec.limits.tokens.perHour"},
	{"agent with a token budget that reports no tokens", func(s state) {
		s.f.Agent.Spec.Limits = &a2av1alpha1.AgentLimits{Tokens: &a2av1alpha1.TokenBudgets{PerHour: 2000}}
		s.f.Calls.Tokens = map[string]TokenMetrics{"echo-5d9c-x2x": {Turns: 9}}
	}, "a2a-operator.dev/usage"},
	{"registry that does not answer", func(s state) {
		s.f.Calls.Registry, s.f.Calls.RegistryErr = nil, failure.New(failure.Unreachable, "Service a2a-operator-registry in namespace a2a-system has no ready pod")
	}, "Let a pod of the manager become ready"},
	{"registry that only the pods do not reach", func(s state) {
		s.registryFails(`a2a_dependency_state{cause="ConnectionTimedOut",dependency="Registry",state="lost"} 1`)
	}, "allow egress to the registry"},
	{"registry that refuses the token of a pod", func(s state) {
		s.registryFails(`a2a_dependency_state{cause="AuthenticationFailed",dependency="Registry",state="wrong"} 1`)
	}, "Delete the pod"},
	{"registry whose name does not resolve in a pod", func(s state) {
		s.registryFails(`a2a_dependency_state{cause="NameResolutionFailed",dependency="Registry",state="never_reached"} 1`)
	}, "port 53"},
	{"registry whose certificate a pod does not trust", func(s state) {
		s.registryFails(`a2a_dependency_state{cause="TLSFailed",dependency="Registry",state="wrong"} 1`)
	}, "registry.tls"},
	{"field that another program sets", func(s state) {
		s.condition(a2av1alpha1.ConditionProgrammed, metav1.ConditionTrue, a2av1alpha1.ReasonFieldsContested, `spec.replicas of Deployment "echo" by manager "kube-controller-manager (scale)"`)
	}, "in place of a HorizontalPodAutoscaler"},
	{"variable that a user added to the Deployment", func(s state) {
		s.condition(a2av1alpha1.ConditionProgrammed, metav1.ConditionTrue, a2av1alpha1.ReasonFieldsAdded, `container "agent" env "DEBUG"`)
	}, "Remove the additions"},
	{"agent that the registry does not list", func(s state) { s.f.Calls.Registry = &Listing{} }, "watchNamespaces"},
	{"Redis with a wrong password", func(s state) {
		s.unavailable(a2av1alpha1.ReasonTaskStoreCredentialsUnusable, "The task store is not usable: WRONGPASS (AuthenticationFailed)")
	}, "Correct the Secret"},
	{"Gateway that does not accept the route", func(s state) {
		s.condition(a2av1alpha1.ConditionExposed, metav1.ConditionFalse, a2av1alpha1.ReasonRouteNotAccepted, "Gateway infra/public: NotAllowedByListeners")
	}, "allowedRoutes"},
	{"service mesh", func(s state) {
		s.f.Pods[0].Spec.Containers = append(s.f.Pods[0].Spec.Containers, corev1.Container{Name: "istio-proxy", Image: "istio"})
	}, "let the mesh admit plain traffic"},
	{"service mesh beside an agent without code", func(s state) {
		s.f.Agent.Spec.Model = &a2av1alpha1.AgentModel{URL: "http://models.svc/v1"}
		s.f.Agent.Spec.Workload = nil
		s.f.Pods[0].Spec.Containers = []corev1.Container{{Name: "istio-proxy", Image: "istio"}}
	}, "let the mesh admit plain traffic"},
	{"MCP server that is not reached", func(s state) {
		s.condition(a2av1alpha1.ConditionToolsAvailable, metav1.ConditionFalse, a2av1alpha1.ReasonMCPServerUnreachable, "http://grafana.tools/mcp: connection refused (ConnectionRefused)")
	}, "Correct its address, or let it run"},
	{"MCP server that refuses the credential", func(s state) {
		s.condition(a2av1alpha1.ConditionToolsAvailable, metav1.ConditionFalse, a2av1alpha1.ReasonMCPServerUnauthorized, "http://grafana.tools/mcp: the server refuses the credential")
	}, "Correct the Secrets of headersFrom"},
	{"MCP server without a tool of allow", func(s state) {
		s.condition(a2av1alpha1.ConditionToolsAvailable, metav1.ConditionFalse, a2av1alpha1.ReasonToolsInvalid, `http://grafana.tools/mcp: it has no tool "update_dashboard"`)
	}, "Correct allow and deny"},
	{"MCP servers of which no sidecar has reported", func(s state) {
		s.condition(a2av1alpha1.ConditionToolsAvailable, metav1.ConditionUnknown, a2av1alpha1.ReasonToolsNotReported, "No sidecar has reported yet")
	}, "See Available for why no pod runs"},
	{"skill that the agent may not use", func(s state) {
		s.condition(a2av1alpha1.ConditionSkillsResolved, metav1.ConditionFalse, a2av1alpha1.ReasonSkillNotFound, `namespace "sre" has no AgentSkill "triage" that admits Agents of namespace "team"`)
	}, "ask the owner of the skill to admit the namespace"},
	{"skill whose image cannot be pulled", func(s state) {
		s.unavailable(a2av1alpha1.ReasonImagePullFailed, `The image "example/skill@sha256:1" of a skill cannot be pulled`)
	}, "imagePullSecrets"},
	{"image volumes that the cluster lacks", func(s state) {
		s.condition(a2av1alpha1.ConditionProgrammed, metav1.ConditionFalse, a2av1alpha1.ReasonImageVolumesUnsupported, "the cluster drops image volumes")
	}, "image"},
	{"model that its server does not have", func(s state) {
		s.condition(a2av1alpha1.ConditionAvailable, metav1.ConditionTrue, a2av1alpha1.ReasonModelServerUnreachable, "The model server has no such model: 404 Not Found")
	}, "the name of the model"},
	{"model without tools", func(s state) {
		s.condition(a2av1alpha1.ConditionAvailable, metav1.ConditionTrue, a2av1alpha1.ReasonModelServerUnreachable, "The model server does not accept the tools of the agent: 400 Bad Request")
	}, "choose a model that can call tools"},
	{"API key that the model server refuses", func(s state) {
		s.condition(a2av1alpha1.ConditionAvailable, metav1.ConditionTrue, a2av1alpha1.ReasonModelServerUnreachable, "models.example answers with status 401 (AuthenticationFailed)")
	}, "the key"},
	{"sidecars of an old version", func(s state) { s.f.Pods[0].Spec.InitContainers[0].Image = "example/sidecar:v0.0.9" }, "Wait for the rollout"},
	{"manager and sidecar of different versions", func(s state) {
		s.shared.Manager.Spec.Template.Spec.Containers[0].Image = "example/manager:v0.2.0"
	}, "to the same version"},
	{"manager that does not run", func(s state) {
		s.shared.Manager.Status.ReadyReplicas = 0
		s.f.Agent.Generation = 3
	}, "Read the log and the events of the manager's pods"},
	{"operator that is not installed", func(s state) { s.shared.Manager = nil }, "Install the operator"},
	{"CRD that is older than the operator", func(s state) { delete(s.shared.CRDs[crdschema.Agents], "spec.access.authorization[].action") }, "Install the CustomResourceDefinitions"},
	{"CRD that is newer than the operator", func(s state) { s.shared.CRDs[crdschema.AgentSkills]["spec.allowedAgents.until"] = crdschema.Field{} }, "Upgrade the operator"},
	{"CRD that is older than the plugin", func(s state) {
		delete(s.shared.CRDs[crdschema.Agents], "spec.access.authorization[].action")
		s.shared.Plugin = "v0.2.0"
	}, "of the operator's version"},
	{"CRD that is newer than the plugin", func(s state) {
		s.shared.CRDs[crdschema.AgentSkills]["spec.allowedAgents.until"] = crdschema.Field{}
		s.shared.Plugin = "v0.0.9"
	}, "of the operator's version"},
	{"CRD that is missing", func(s state) { s.shared.CRDs[crdschema.AgentSkills] = crdschema.Fields{} }, "Install the operator"},
	{"cluster DNS that does not run", func(s state) { s.shared.DNSReady = 0 }, "become ready"},
	{"agents with another DNS domain than the cluster", func(s state) {
		s.shared.DNSDomains = []string{"corp.example"}
		s.shared.AgentDomains = []string{"cluster.local"}
	}, "Set clusterDomain"},
	{"pod with the DNS of the node", func(s state) { s.f.Pods[0].Spec.DNSPolicy = corev1.DNSDefault }, "Remove dnsPolicy"},
	{"kubelet that does not reach the preStop hook", func(s state) {
		s.f.Deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Lifecycle: &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/drained"}},
		}}}
		s.f.FailedHooks = []corev1.Event{{InvolvedObject: corev1.ObjectReference{Name: "echo-5d9c-x"}, Message: "PreStopHook failed"}}
	}, "preStop to Exec"},
	{"pod with an old configuration", func(s state) { s.f.Pods[0].Annotations = nil }, "Wait a minute"},
	{"certificate that the caller does not trust", func(s state) {
		s.f.Calls.Card, s.f.Calls.Called = nil, false
		s.f.Calls.CardErr = failure.New(failure.Unreachable, "the certificate of https://echo.team.svc.cluster.local is not trusted").WithHint("--ca-file names the PEM file of its authority")
	}, "--ca-file"},
	{"right that is missing", func(s state) {
		s.f.Unread = []Unread{{partPolicies, failure.New(failure.AuthFailed, "you may not list networkpolicies").
			WithHint("ask for a Role in namespace team with the rule {apiGroups: [networking.k8s.io], resources: [networkpolicies], verbs: [list]}")}}
	}, "resources: [networkpolicies], verbs: [list]"},
}

func TestHealthyAgentHasNoFinding(t *testing.T) {
	for _, f := range healthy(t).findings() {
		if f.Level != LevelOK {
			t.Errorf("%+v", f)
		}
	}
}

// TestDoctorSaysRunOnlyOfContainersThatRun has a pod that is younger than the limits of the checks.
func TestDoctorSaysRunOnlyOfContainersThatRun(t *testing.T) {
	s := healthy(t)
	s.waits("ContainerCreating", "")
	if f := checkPods(s.shared, s.f); len(f) != 1 || f[0].Level != LevelOK || f[0].Seen[0] != "1 pod, and 1 of 2 containers run" {
		t.Errorf("%+v", f)
	}
}

// TestImagesOfDifferentDigests has two images of one build, whose tags are digests.
func TestImagesOfDifferentDigests(t *testing.T) {
	for name, test := range map[string]struct {
		manager, sidecar string
		differ           bool
	}{
		"versions":              {"example/manager:v0.1.0", "example/sidecar:v0.2.0", true},
		"the same version":      {"example/manager:v0.1.0", "example/sidecar:0.1.0", false},
		"a version by digest":   {"example/manager:v0.1.0@sha256:aa", "example/sidecar:v0.2.0@sha256:bb", true},
		"digests as tags":       {"localhost:5000/manager:3f2a9c", "localhost:5000/sidecar:77aa01", false},
		"digests":               {"example/manager@sha256:aa", "example/sidecar@sha256:bb", false},
		"a version and a build": {"example/manager:v0.1.0", "example/sidecar:main", false},
	} {
		s := healthy(t)
		s.shared.Manager.Spec.Template.Spec.Containers[0].Image = test.manager
		s.shared.Manager.Spec.Template.Spec.Containers[0].Args = []string{"--sidecar-image=" + test.sidecar}
		if f := checkManager(s.shared); (f[0].Level == LevelWarning) != test.differ {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestImageThatAPolicyReplaces has pods with the image of a mirror, after a complete rollout and during one.
func TestImageThatAPolicyReplaces(t *testing.T) {
	for name, test := range map[string]struct {
		change func(state)
		level  Level
	}{
		"the Deployment has the wanted image": {func(s state) { s.f.Deployment.Status.UpdatedReplicas = 1 }, LevelOK},
		"the policy changes the Deployment, too": {func(s state) {
			s.f.Deployment.Status.UpdatedReplicas = 1
			s.f.Deployment.Spec.Template.Spec.InitContainers[0].Image = "mirror.example/sidecar"
			s.condition(a2av1alpha1.ConditionProgrammed, metav1.ConditionTrue, a2av1alpha1.ReasonFieldsContested, "fields")
		}, LevelOK},
		"the rollout is not complete": {func(state) {}, LevelWarning},
		"the operator does not apply the Deployment": {func(s state) {
			s.f.Deployment.Status.UpdatedReplicas = 1
			s.f.Deployment.Spec.Template.Spec.InitContainers[0].Image = "mirror.example/sidecar"
		}, LevelWarning},
	} {
		s := healthy(t)
		s.f.Deployment.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: a2av1alpha1.ContainerSidecar, Image: currentSidecar}}
		for i := range s.f.Pods[0].Spec.InitContainers {
			s.f.Pods[0].Spec.InitContainers[i].Image = "mirror.example/sidecar"
		}
		test.change(s)
		if f := checkSidecars(s.shared, s.f); len(f) != 1 || f[0].Level != test.level {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestSuspendedAgentHasNoProblem(t *testing.T) {
	s := healthy(t)
	s.condition(a2av1alpha1.ConditionCardPublished, metav1.ConditionFalse, a2av1alpha1.ReasonNoPodReady, "No pod is ready")
	s.unavailable(a2av1alpha1.ReasonSuspended, "spec.suspend is true")
	s.f.Pods = nil
	s.f.Calls.Card, s.f.Calls.Called, s.f.Calls.CardErr = nil, false, failure.New(failure.Unreachable, "Service echo has no ready pod")
	findings := s.findings()
	if Worst(findings) != LevelWarning || findings[0].Reason != a2av1alpha1.ReasonSuspended {
		t.Errorf("%+v", findings)
	}
}

func TestRecentChangeThatTheManagerHasNotSeenIsAWarning(t *testing.T) {
	s := healthy(t)
	s.f.Agent.Generation = 3
	s.f.Agent.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: now.Add(-time.Second)}}}
	if f := s.findings()[0]; f.Level != LevelWarning || f.Reason != a2av1alpha1.ReasonPending {
		t.Errorf("%+v", f)
	}
}

func TestRolloutIsAWarningAtFirst(t *testing.T) {
	s := healthy(t)
	s.condition(a2av1alpha1.ConditionReady, metav1.ConditionFalse, a2av1alpha1.ReasonRolloutInProgress, "1 of 2 pods")
	for i := range s.f.Agent.Status.Conditions {
		s.f.Agent.Status.Conditions[i].LastTransitionTime.Time = now.Add(-time.Minute)
	}
	if f := s.findings()[0]; f.Level != LevelWarning || f.Reason != a2av1alpha1.ReasonRolloutInProgress {
		t.Errorf("%+v", f)
	}
	s.shared.Now = now.Add(time.Hour)
	s.shared.ServerTime = s.shared.Now
	if f := s.findings()[0]; f.Level != LevelProblem {
		t.Errorf("%+v", f)
	}
}

// TestFaultsAreNamedWithTheirCures compares the findings of each seeded fault with testdata/faults.golden.
func TestFaultsAreNamedWithTheirCures(t *testing.T) {
	var out strings.Builder
	for _, fault := range faults {
		s := healthy(t)
		fault.seed(s)
		fmt.Fprintf(&out, "# %s\n", fault.name)
		found := false
		for _, f := range s.findings() {
			if f.Level == LevelOK {
				continue
			}
			if f.Cause == "" || f.Cure == "" || len(f.Seen) == 0 {
				t.Errorf("%s: incomplete finding %+v", fault.name, f)
			}
			found = found || strings.Contains(f.Cure, fault.cure)
			fmt.Fprintf(&out, "%s: %s\n", f.Level, f.Check)
			for _, seen := range f.Seen {
				fmt.Fprintf(&out, "  seen: %s\n", seen)
			}
			fmt.Fprintf(&out, "  cause: %s\n  cure: %s\n  run: %s\n", f.Cause, f.Cure, f.Command)
		}
		if !found {
			t.Errorf("%s: no finding has the cure %q", fault.name, fault.cure)
		}
	}
	compareGolden(t, "faults.golden", out.String())
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s differs (%v); UPDATE_GOLDEN=1 writes it. Got:\n%s", file, err, got)
	}
}
