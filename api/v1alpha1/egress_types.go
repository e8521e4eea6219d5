// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentEgress configures the connections of the sidecar to servers outside of the
// cluster.
type AgentEgress struct {
	// proxy is an HTTP proxy that carries the sidecar's connections to public https
	// servers: model servers, MCP servers, issuers of tokens, webhooks, remote agents and
	// collectors of traces. If absent, the proxy of the installation applies
	// (egress.proxy of the chart). The container of the agent does not use it.
	// +optional
	Proxy *EgressProxy `json:"proxy,omitempty"`
}

// EgressProxy is an HTTP proxy with the method CONNECT. Servers of the cluster, private
// addresses and http URLs are called without it.
type EgressProxy struct {
	// url is the http or https URL of the proxy, without a path.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && url(self).getEscapedPath() in ['', '/'] && url(self).getQuery().size() == 0 && !self.matches('[@#?]')",message="spec.egress.proxy.url must be an http or https URL without a user, a path and a query, such as http://proxy.example:3128; secretRef names its credential"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^https?://(([^/:]*[.])?localhost[.]?(:|/|$)|127[.]|0[.]|169[.]254[.]|[[]::1?[]]|[[]fe[89ab])')",message="spec.egress.proxy.url must not be a loopback, link-local or unspecified address: in a pod, localhost is the pod itself"
	// +required
	URL string `json:"url"`

	// noProxy lists the hosts that the sidecar calls without the proxy, in addition to
	// private addresses, names of the cluster and names of private networks. An item is
	// a name, which includes the names below it, .name for only those below it, an
	// address, a range of addresses such as 203.0.113.0/24, or *, which turns the
	// proxy off. A port may follow a name or an address.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	NoProxy []NoProxyHost `json:"noProxy,omitempty"`

	// secretRef names a Secret with the credential for the proxy, in the keys username and
	// password (type kubernetes.io/basic-auth). The sidecar reads it for each
	// connection. If absent, the sidecar sends no credential.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
}

// NoProxyHost is a host that is called without a proxy.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[!-+\--~]+$`
type NoProxyHost string
