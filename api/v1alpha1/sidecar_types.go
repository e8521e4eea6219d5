// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// AgentSidecar configures the sidecar's container in the pods of an agent.
type AgentSidecar struct {
	// resources are the requests and limits of the sidecar's container. They override
	// those of the installation one by one (sidecar.resources of the chart): by
	// default, requests of 10m CPU and 32Mi memory, and a memory limit of 256Mi. A
	// quantity of "0" removes one. If a request and a limit of the installation and of
	// the Agent contradict each other, the Agent's value applies to both. The sidecar
	// divides its memory limit into budgets. An edit replaces the pods.
	// +optional
	Resources *SidecarResources `json:"resources,omitempty"`

	// preStop is the kind of the preStop hook with which the agent's container waits
	// until its turns have ended. With HTTPGet, the kubelet sends a request to the
	// sidecar, which a mesh with mutual TLS or a network policy may refuse. With Exec,
	// a copy of the sidecar's program, of 24 MB on the disk of the node, runs in the
	// container and sends the request inside of the pod. The default is that of the
	// installation (sidecar.preStop of the chart): HTTPGet. An edit replaces the pods.
	// +kubebuilder:validation:Enum=HTTPGet;Exec
	// +optional
	PreStop SidecarPreStop `json:"preStop,omitempty"`
}

// SidecarPreStop is the kind of the preStop hook of the agent's container.
type SidecarPreStop string

// The kinds of the preStop hook.
const (
	PreStopHTTPGet SidecarPreStop = "HTTPGet"
	PreStopExec    SidecarPreStop = "Exec"
)

// SidecarResources are the requests and limits of the sidecar's container. Their
// keys are cpu, memory and ephemeral-storage.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.limits) || !('memory' in self.limits) || !isQuantity(string(self.limits['memory'])) || quantity(string(self.limits['memory'])).compareTo(quantity('0')) == 0 || quantity(string(self.limits['memory'])).compareTo(quantity('48Mi')) >= 0",message="spec.workload.sidecar.resources.limits.memory must be at least 48Mi, with which the sidecar starts, or \"0\" for no limit"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) || !isQuantity(string(self.requests[k])) || !isQuantity(string(self.limits[k])) || quantity(string(self.limits[k])).compareTo(quantity('0')) == 0 || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)",message="spec.workload.sidecar.resources.requests must not be more than limits of the same name: lower the request or raise the limit"
type SidecarResources struct {
	// requests are what the scheduler reserves for the sidecar.
	// +kubebuilder:validation:MaxProperties=3
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'])",message="spec.workload.sidecar.resources.requests must have only cpu, memory and ephemeral-storage"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !isQuantity(string(self[k])) || quantity(string(self[k])).compareTo(quantity('0')) >= 0)",message="spec.workload.sidecar.resources.requests must not be negative"
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are what the sidecar may use. The memory limit is at least 48Mi.
	// +kubebuilder:validation:MaxProperties=3
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage'])",message="spec.workload.sidecar.resources.limits must have only cpu, memory and ephemeral-storage"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !isQuantity(string(self[k])) || quantity(string(self[k])).compareTo(quantity('0')) >= 0)",message="spec.workload.sidecar.resources.limits must not be negative"
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
}
