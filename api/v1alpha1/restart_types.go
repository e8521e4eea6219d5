// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// RestartKind is the kind of an object whose change restarts an agent.
// +kubebuilder:validation:Enum=Secret;ConfigMap
type RestartKind string

const (
	// RestartSecret is a Secret.
	RestartSecret RestartKind = "Secret"
	// RestartConfigMap is a ConfigMap.
	RestartConfigMap RestartKind = "ConfigMap"
)

// RestartReference names an object in the namespace of the Agent whose change
// restarts the agent.
type RestartReference struct {
	// kind is Secret or ConfigMap.
	// +required
	Kind RestartKind `json:"kind"`

	// name is the metadata.name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
}
