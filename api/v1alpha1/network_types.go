// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPolicyManagement selects who manages the NetworkPolicy of an agent.
//
// +kubebuilder:validation:Enum=Managed;None
type NetworkPolicyManagement string

const (
	// NetworkPolicyManaged means that the operator creates the policy.
	NetworkPolicyManaged NetworkPolicyManagement = "Managed"
	// NetworkPolicyNone means that the operator creates no policy, and deletes the
	// one that it created.
	NetworkPolicyNone NetworkPolicyManagement = "None"
)

// AgentNetworkPolicy configures the NetworkPolicy of the agent's pods. It has an
// effect only with a network plugin that enforces NetworkPolicies.
//
// +kubebuilder:validation:XValidation:rule="self.management != 'None' || !has(self.egress)",message="spec.networkPolicy.egress has no effect with management None; remove one of the two"
type AgentNetworkPolicy struct {
	// management is Managed or None. With Managed, the operator creates a
	// NetworkPolicy that admits ingress to the ports of the sidecar only. With None,
	// there is no policy, and clients can bypass the sidecar if the agent listens on
	// all addresses. It defaults to Managed.
	// +kubebuilder:default=Managed
	// +optional
	Management NetworkPolicyManagement `json:"management,omitempty"`

	// egress lists the rules for connections of the pods, in addition to DNS and the
	// registry. If absent, all connections are allowed. An empty list allows only
	// DNS and the registry.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Egress *[]networkingv1.NetworkPolicyEgressRule `json:"egress,omitempty"`
}

// AgentService configures the ports of the Service of an agent. All of them lead to
// the sidecar.
type AgentService struct {
	// appProtocol is the application protocol of the port at which clients call the
	// agent, and by which gateways and meshes choose how to treat the traffic, such as
	// kgateway.dev/a2a or kubernetes.io/h2c. It defaults to http, or https with
	// access.tls.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="spec.service.appProtocol must be a name such as http, or a DNS name, '/' and a name, such as kgateway.dev/a2a"
	// +optional
	AppProtocol string `json:"appProtocol,omitempty"`

	// grpcPort is the number of a port for gRPC only, with the application protocol
	// kubernetes.io/h2c, or https with access.tls. The card names it for gRPC inside the
	// cluster. If absent, gRPC is at the same port as the other bindings.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="!(self in [80, 443])",message="spec.service.grpcPort must not be 80 or 443, at which the agent serves the other bindings: use another port, such as 8641"
	// +optional
	GRPCPort int32 `json:"grpcPort,omitempty"`
}

// AgentExposure configures how clients outside the cluster reach an agent:
// through Gateways of the Gateway API, or through another proxy, such as an
// Ingress, that its owner configures.
//
// +kubebuilder:validation:XValidation:rule="has(self.parentRefs) || has(self.url)",message="spec.exposure must have parentRefs, for Gateways, or url, for another proxy"
// +kubebuilder:validation:XValidation:rule="has(self.parentRefs) || !has(self.hostnames) && !has(self.grpcHostnames) && (!has(self.path) || self.path == '/')",message="spec.exposure.hostnames, grpcHostnames and path are for the routes of Gateways: add parentRefs, or put host and path into spec.exposure.url"
// +kubebuilder:validation:XValidation:rule="!has(self.hostnames) || !has(self.grpcHostnames) || !self.hostnames.exists(h, h in self.grpcHostnames)",message="spec.exposure.grpcHostnames must not repeat one of spec.exposure.hostnames: a Gateway takes a hostname for HTTPRoutes or for GRPCRoutes, not for both"
type AgentExposure struct {
	// parentRefs names the Gateways that route to the agent. If absent, the operator
	// creates no route, and url is the address of a proxy that leads to the Service
	// of the Agent and removes the path of url from requests.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.name == b.name && (has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '') && (has(a.sectionName) ? a.sectionName : '') == (has(b.sectionName) ? b.sectionName : '')))",message="spec.exposure.parentRefs must name each Gateway, or each listener, once"
	// +listType=atomic
	// +optional
	ParentRefs []GatewayRef `json:"parentRefs,omitempty"`

	// hostnames are the names at which the Gateways serve JSON-RPC, HTTP+JSON and the
	// card. If absent, the hostnames of the listeners apply or, if a listener has
	// none, the addresses of its Gateway.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Hostnames []Hostname `json:"hostnames,omitempty"`

	// grpcHostnames are the names at which the Gateways serve gRPC. They must differ
	// from hostnames, as the Gateway API requires. If absent, gRPC is not exposed.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	GRPCHostnames []Hostname `json:"grpcHostnames,omitempty"`

	// path is the path prefix of the agent, so that agents can share a hostname. The
	// Gateway removes it from requests. It defaults to "/", and does not apply to
	// gRPC.
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self == '/' || self.matches('^(/[A-Za-z0-9_~-]([A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)+$')",message="spec.exposure.path must be '/', or segments of letters, digits, '.', '_', '~' and '-' that each begin with '/', without one at its end"
	// +optional
	Path string `json:"path,omitempty"`

	// gatewayRewritesCard says that the Gateways, or the proxy at url, replace the
	// addresses on the card and add their own path, as agentgateway does with an A2A
	// policy. The card that the sidecar serves for external hosts then has addresses
	// without the path, so that the path is not there twice. A signature of the card is
	// not valid after the replacement. It defaults to false.
	// +optional
	GatewayRewritesCard bool `json:"gatewayRewritesCard,omitempty"`

	// url is the external URL of the agent. Set it without parentRefs, or if the
	// operator cannot derive it from the Gateways, such as behind a load balancer
	// that terminates TLS. If absent, the operator derives the URL from the listeners
	// and addresses of the Gateways.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^https?://[^/?#@:][^/?#@]*(/[^?#@]*)?$')",message="spec.exposure.url must be an absolute http or https URL without a user, a query and a fragment"
	// +optional
	URL string `json:"url,omitempty"`
}

// GatewayRef names a Gateway, or one of its listeners.
type GatewayRef struct {
	// namespace is the namespace of the Gateway. It defaults to the namespace of the
	// Agent. A Gateway of another namespace must admit routes of the Agent's
	// namespace.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the metadata.name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +required
	Name string `json:"name"`

	// sectionName is the name of a listener of the Gateway. If absent, all its
	// listeners route to the agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1F\x7F-\x9F]*$`
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// Hostname is a DNS name; its first label may be "*".
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
type Hostname string

// Visibility selects who finds an agent in the registry. Federated includes Cluster,
// and Public includes both.
//
// +kubebuilder:validation:Enum=Cluster;Federated;Public
type Visibility string

const (
	// VisibilityCluster means callers that see the namespace of the Agent.
	VisibilityCluster Visibility = "Cluster"
	// VisibilityFederated means also the registries of other clusters that are
	// peers of this one.
	VisibilityFederated Visibility = "Federated"
	// VisibilityPublic means also everyone else, with and without a token.
	VisibilityPublic Visibility = "Public"
)

// AgentDiscovery configures who finds an agent in the registry. It gives no right
// to call the agent.
type AgentDiscovery struct {
	// visibility selects who finds the agent: with Cluster, callers whose RBAC lets
	// them see the namespace; with Federated, also the registries of other clusters
	// that are peers; with Public, everyone, without a token. A Public agent with an
	// external URL is also in the catalog outside of the cluster, if the registry has
	// one. It defaults to Cluster.
	// +kubebuilder:default=Cluster
	// +optional
	Visibility Visibility `json:"visibility,omitempty"`
}
