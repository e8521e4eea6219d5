// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentPushNotifications configures push notifications: the sidecar posts events
// of tasks to webhooks that clients register.
type AgentPushNotifications struct {
	// allowedTargets are the allowed targets of webhooks. The sidecar rejects all
	// others.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +required
	AllowedTargets []PushTarget `json:"allowedTargets"`
}

// PushTarget is an allowed target of webhooks. Exactly one of its fields must be
// set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.namespace), has(self.host), has(self.cidr)].filter(x, x).size() == 1",message="set exactly one of service, namespace, host and cidr"
type PushTarget struct {
	// service is a Service of the cluster. Webhooks reach it at
	// <name>.<namespace>.svc by http or https.
	// +optional
	Service *PushService `json:"service,omitempty"`

	// namespace allows all Services of the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// host is a DNS name such as hooks.example.com, *.example.com for all its
	// subdomains, or * for every name. Webhooks reach it by https, and only at
	// public addresses or at addresses in a cidr of the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '*' || self.matches('^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",message="must be a DNS name in lower case, such as hooks.example.com, *.example.com or *"
	// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a DNS name; allow an address by cidr"
	// +kubebuilder:validation:XValidation:rule="!self.endsWith('.svc') && !self.contains('.svc.')",message="must not be a name of the cluster; allow it by service or namespace"
	// +optional
	Host string `json:"host,omitempty"`

	// cidr is a range of addresses such as 203.0.113.0/24, for every name that
	// resolves to them. Addresses that are not public can be called by http, too.
	// Loopback, link-local and metadata addresses are never allowed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a range of addresses, such as 203.0.113.0/24 or 2001:db8::/32"
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// PushService names a Service.
type PushService struct {
	// name is the metadata.name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Service"
	// +required
	Name string `json:"name"`

	// namespace is the namespace of the Service. It defaults to the namespace of the
	// Agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
