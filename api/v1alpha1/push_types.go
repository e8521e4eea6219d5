// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentPushNotifications says where events of tasks may be posted to, for
// clients that would rather be called than wait.
type AgentPushNotifications struct {
	// allowedTargets are the places that a client may name as its webhook. All
	// others are refused.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +required
	AllowedTargets []PushTarget `json:"allowedTargets"`
}

// PushTarget is a place that events may be posted to: exactly one of its
// fields is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.service), has(self.namespace), has(self.host), has(self.cidr)].filter(x, x).size() == 1",message="set exactly one of service, namespace, host and cidr"
type PushTarget struct {
	// service is a Service of the cluster, reached at <name>.<namespace>.svc by
	// http or https.
	// +optional
	Service *PushService `json:"service,omitempty"`

	// namespace stands for all Services in it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// host is a DNS name such as hooks.example.com, *.example.com for all names
	// below one, or * for all of the Internet. It is reached by https, and only
	// at public addresses, unless a cidr of the list holds them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '*' || self.matches('^([*][.])?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$')",message="must be a DNS name in lower case, such as hooks.example.com, *.example.com or *"
	// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a DNS name; allow an address by cidr"
	// +kubebuilder:validation:XValidation:rule="!self.endsWith('.svc') && !self.contains('.svc.')",message="must not be a name of the cluster; allow it by service or namespace"
	// +optional
	Host string `json:"host,omitempty"`

	// cidr is a range of addresses, whatever name leads to them, such as
	// 203.0.113.0/24. Those that are not public are reached by http as well.
	// Loopback, link-local and metadata addresses are never reached.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",message="must be a range of addresses, such as 203.0.113.0/24 or 2001:db8::/32"
	// +optional
	CIDR string `json:"cidr,omitempty"`
}

// PushService names a Service that events may be posted to.
type PushService struct {
	// name is the Service's metadata.name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a Service"
	// +required
	Name string `json:"name"`

	// namespace is the Service's. It defaults to that of the Agent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be the name of a namespace"
	// +optional
	Namespace string `json:"namespace,omitempty"`
}
