// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentAutoscaling scales the number of pods with the load. A
// HorizontalPodAutoscaler writes the number into spec.workload.replicas.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="spec.workload.autoscaling.minReplicas must not be more than maxReplicas; lower it or raise maxReplicas"
type AgentAutoscaling struct {
	// minReplicas is the minimum number of pods. It defaults to 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the maximum number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +required
	MaxReplicas int32 `json:"maxReplicas"`

	// metrics measure the load. The metric that requires the most pods applies.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=map
	// +listMapKey=type
	// +required
	Metrics []AutoscalingMetric `json:"metrics"`

	// behavior limits how fast the number changes, as in a HorizontalPodAutoscaler.
	// If absent, the defaults of Kubernetes apply.
	// +optional
	Behavior *AutoscalingBehavior `json:"behavior,omitempty"`
}

// AutoscalingBehavior limits how fast the number of pods changes.
type AutoscalingBehavior struct {
	// scaleUp limits how fast pods are added.
	// +optional
	ScaleUp *ScalingRules `json:"scaleUp,omitempty"`

	// scaleDown limits how fast pods are removed.
	// +optional
	ScaleDown *ScalingRules `json:"scaleDown,omitempty"`
}

// ScalingRules limit how fast the number of pods changes in one direction.
type ScalingRules struct {
	// stabilizationWindowSeconds is how long the autoscaler observes the required
	// number before it applies a change.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`

	// selectPolicy selects the policy that applies: Max, for the largest change,
	// Min, for the smallest, or Disabled, for no change in this direction.
	// +kubebuilder:validation:Enum=Max;Min;Disabled
	// +optional
	SelectPolicy *string `json:"selectPolicy,omitempty"`

	// policies limit the change. If absent, the defaults of Kubernetes apply.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Policies []ScalingPolicy `json:"policies,omitempty"`
}

// ScalingPolicy limits the change within a period.
type ScalingPolicy struct {
	// type is Pods or Percent.
	// +kubebuilder:validation:Enum=Pods;Percent
	// +required
	Type string `json:"type"`

	// value is the maximum number or percentage of pods that may be added or
	// removed.
	// +kubebuilder:validation:Minimum=1
	// +required
	Value int32 `json:"value"`

	// periodSeconds is the length of the period.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	// +required
	PeriodSeconds int32 `json:"periodSeconds"`
}

// AutoscalingMetricType is a measure of the load of an agent.
//
// +kubebuilder:validation:Enum=CPU;InFlightTurns
type AutoscalingMetricType string

const (
	// AutoscalingMetricCPU is the CPU utilization of the agent's container. The
	// container needs a CPU request, and the cluster needs metrics-server.
	AutoscalingMetricCPU AutoscalingMetricType = "CPU"
	// AutoscalingMetricInFlightTurns is the number of running turns, the metric
	// a2a_turns_in_flight of the sidecar. The cluster needs an adapter that serves
	// metrics of pods.
	AutoscalingMetricInFlightTurns AutoscalingMetricType = "InFlightTurns"
)

// AutoscalingMetric is a metric with its target value per pod.
type AutoscalingMetric struct {
	// type is CPU, the CPU utilization of the agent's container, or InFlightTurns, the
	// number of running turns. Use InFlightTurns for an agent that waits for a model,
	// because such an agent uses little CPU at any load.
	// +required
	Type AutoscalingMetricType `json:"type"`

	// target is the target average of the metric: for CPU in percent of the
	// container's request, for InFlightTurns in turns per pod.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +required
	Target int32 `json:"target"`
}

// AgentDisruptionBudget limits how many pods may be unavailable at once because
// of voluntary disruptions, such as the drain of a node.
type AgentDisruptionBudget struct {
	// maxUnavailable is the maximum number of unavailable pods. It defaults to 1. It
	// must not be 0, which would block the drain of nodes.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
}
