// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// FailurePolicy selects what happens if the pods of a new template do not become
// ready.
//
// +kubebuilder:validation:Enum=Keep;RollBack
type FailurePolicy string

const (
	// FailureKeep means that the rollout waits, and ready pods of the earlier template
	// stay.
	FailureKeep FailurePolicy = "Keep"
	// FailureRollBack means that the last good revision runs in place of the spec.
	FailureRollBack FailurePolicy = "RollBack"
)

// AgentRevisions describes the kept revisions of an agent. Each is a
// ControllerRevision in the namespace of the Agent. The operator adds one when the
// agent is ready with another template, backend, task store, card or sidecar, and
// keeps ten.
type AgentRevisions struct {
	// lastGood is the number of the newest revision: the one with which the agent was
	// ready last.
	// +kubebuilder:validation:Minimum=0
	// +optional
	LastGood int64 `json:"lastGood,omitempty"`

	// lastGoodDigest is the digest of the content of revision lastGood.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	LastGoodDigest string `json:"lastGoodDigest,omitempty"`

	// lastGoodTemplate is the digest of the pod template of revision lastGood.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	LastGoodTemplate string `json:"lastGoodTemplate,omitempty"`

	// running is the number of the revision that runs in place of the spec. It is
	// absent while the spec runs.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Running int64 `json:"running,omitempty"`

	// failedTemplate is the digest of the pod template whose pods did not become ready,
	// so that the operator returned to revision lastGood. It is absent if there is none.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	FailedTemplate string `json:"failedTemplate,omitempty"`

	// failure says why the pods of failedTemplate did not become ready.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Failure string `json:"failure,omitempty"`
}

// AgentImage is an image that a container of the agent's pods runs.
type AgentImage struct {
	// container is the name of the container.
	// +kubebuilder:validation:MaxLength=256
	// +required
	Container string `json:"container"`

	// image is the image in the pod template.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Image string `json:"image,omitempty"`

	// digests are the digests of the image that ready pods run, such as sha256:9f2c.
	// There are several if the tag of the image has moved between two starts.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Digests []string `json:"digests,omitempty"`
}
