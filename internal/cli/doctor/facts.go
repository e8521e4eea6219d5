// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// Names of the parts of the facts, for Unread.
const (
	partDeployments = "Deployments"
	partPods        = "pods"
	partServices    = "Services"
	partEndpoints   = "EndpointSlices"
	partPolicies    = "NetworkPolicies"
	partConfigMaps  = "ConfigMaps"
	partManager     = "the Deployment of the manager"
	partDNS         = "the endpoints of cluster DNS"
	partCRDs        = "the CustomResourceDefinitions"
	partCaller      = "the pod of --from"
)

// Unread is a part of the facts that could not be read.
type Unread struct {
	Part string
	Err  *failure.Error
}

func isUnread(all []Unread, part string) bool {
	return slices.ContainsFunc(all, func(u Unread) bool { return u.Part == part })
}

// unreadFindings returns a finding for each part of the facts that could not be read.
func unreadFindings(all []Unread) []Finding {
	var out []Finding
	for _, u := range all {
		f := Finding{
			Level: LevelWarning, Check: "read " + u.Part, Seen: []string{u.Err.Message},
			Cause: "The checks that need " + u.Part + " did not run.", Cure: sentence(u.Err.Hint),
		}
		if f.Cure == "" {
			f.Cure = "Run the command again; --debug shows the requests."
		}
		out = append(out, f)
	}
	return out
}

// SharedFacts are the facts that all agents share.
type SharedFacts struct {
	// Now is the time of the user's machine. ServerTime is the time of the API server at the same moment, zero if it is
	// unknown.
	Now, ServerTime time.Time
	// Manager is the Deployment of the manager, nil if there is none.
	Manager *appsv1.Deployment
	// DNSServices is the number of EndpointSlices of the Service kube-dns. DNSReady is the number of their ready endpoints.
	DNSServices, DNSReady int
	// DNSDomains are the domains that the cluster's CoreDNS serves for Services, nil if they are unknown.
	DNSDomains []string
	// AgentDomains are the domains in the URLs of the checked agents (status.url), sorted.
	AgentDomains []string
	// CRDs are the fields of the installed CustomResourceDefinitions by their names, nil if they were not read.
	CRDs map[string]crdschema.Fields
	// Plugin is the version of the running program.
	Plugin string
	Unread []Unread
}

// managerSelector selects the manager's Deployment and pods.
const managerSelector = a2av1alpha1.LabelName + "=" + a2av1alpha1.ManagedBy + "," + a2av1alpha1.LabelComponent + "=manager"

// defaultOperatorNamespace is the namespace of the operator in docs and charts.
const defaultOperatorNamespace = "a2a-system"

// operatorNamespace returns the namespace of the manager.
func (s *SharedFacts) operatorNamespace() string {
	if s.Manager != nil {
		return s.Manager.Namespace
	}
	return defaultOperatorNamespace
}

// AgentFacts are the facts about one agent. An object that does not exist is nil.
type AgentFacts struct {
	Agent      *a2av1alpha1.Agent
	Deployment *appsv1.Deployment
	Pods       []corev1.Pod
	Service    *corev1.Service
	Endpoints  []discoveryv1.EndpointSlice
	ConfigMap  *corev1.ConfigMap
	// NamespaceLabels are the labels of the agent's namespace.
	NamespaceLabels map[string]string
	// Policies are all NetworkPolicies of the agent's namespace.
	Policies []networkingv1.NetworkPolicy
	// FailedHooks are the events about preStop hooks of the agent's pods that failed.
	FailedHooks []corev1.Event
	// RegistryPeer describes a pod of the registry, to match it with NetworkPolicies.
	RegistryPeer Peer
	// Caller is the pod of --from, nil without it. CallerPolicies are the NetworkPolicies of
	// its namespace.
	Caller         *Peer
	CallerPolicies []networkingv1.NetworkPolicy
	// Readiness contains, by the name of a pod that is not ready, the answer of its sidecar to the readiness probe.
	Readiness map[string]string
	// Calls are the results of calls, nil if the agent was not called.
	Calls  *CallFacts
	Unread []Unread
}

// Peer has the properties of a pod that NetworkPolicies select.
type Peer struct {
	Namespace, Name         string
	NamespaceLabels, Labels map[string]string
	IP                      string
}

// Token contains claims of a JWT whose signature is not verified.
type Token struct {
	Audiences          []string
	Issuer             string
	NotBefore, Expires time.Time
}

// Listing is the registry's entry for an agent.
type Listing struct {
	Listed     bool
	CardDigest string
}

// TokenMetrics are counts of a sidecar since its start.
type TokenMetrics struct {
	// RefusedCaller is the number of messages that the budget of a caller refused. RefusedTotal is the number of messages
	// that the budget of all callers together refused.
	RefusedCaller, RefusedTotal float64
	// Turns is the number of ended turns. Reports is the number of calls for which the agent reported a usage.
	Turns, Reports float64
}

// CallFacts are the results of calls to the agent and to the registry through the API server.
type CallFacts struct {
	// Card is the card that a sidecar serves. It is nil if CardErr is set.
	Card    *card.Card
	CardErr *failure.Error
	// SidecarTime is the time of a sidecar's node. SidecarSkew is the duration by which SidecarTime is ahead of the
	// user's clock.
	SidecarTime time.Time
	SidecarSkew time.Duration
	// Token is nil if the agent needs no token, or if TokenErr is set.
	Token    *Token
	TokenErr *failure.Error
	// Called is true if doctor requested the list of tasks and the agent supports this. CallErr is the failure of the
	// request.
	Called  bool
	CallErr *failure.Error
	// Tokens are the token metrics of the sidecars of ready pods, by pod, for an Agent with
	// token budgets. A sidecar that does not answer is missing.
	Tokens map[string]TokenMetrics
	// RegistryStates are the states of the registry (reliability.md) as the sidecars of ready pods see them, by pod.
	RegistryStates map[string]RegistryState
	// Registry is nil if the agent has no registry, or if RegistryErr is set.
	Registry    *Listing
	RegistryErr *failure.Error
}

// RegistryState is the state of the registry as a sidecar sees it, and the cause of a failure.
type RegistryState struct {
	Name  string
	Cause sidecarconfig.HealthCause
}
