// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AgentAutoscaling lets the number of pods follow the load. A
// HorizontalPodAutoscaler writes it into spec.workload.replicas.
//
// +kubebuilder:validation:XValidation:rule="self.minReplicas <= self.maxReplicas",message="spec.workload.autoscaling.minReplicas must not be more than maxReplicas; lower it or raise maxReplicas"
type AgentAutoscaling struct {
	// minReplicas is the least number of pods. It defaults to 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the largest number of pods.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +required
	MaxReplicas int32 `json:"maxReplicas"`

	// metrics are what the load is told by; the one that asks for the most pods
	// wins.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +listType=map
	// +listMapKey=type
	// +required
	Metrics []AutoscalingMetric `json:"metrics"`

	// behavior says how fast the number may change, as in a
	// HorizontalPodAutoscaler. Absent leaves it to Kubernetes.
	// +optional
	Behavior *AutoscalingBehavior `json:"behavior,omitempty"`
}

// AutoscalingBehavior says how fast the number of pods may change.
type AutoscalingBehavior struct {
	// scaleUp is about more pods.
	// +optional
	ScaleUp *ScalingRules `json:"scaleUp,omitempty"`

	// scaleDown is about fewer pods.
	// +optional
	ScaleDown *ScalingRules `json:"scaleDown,omitempty"`
}

// ScalingRules say how fast the number of pods may change in one direction.
type ScalingRules struct {
	// stabilizationWindowSeconds is how long the load must ask for a number
	// before it is chosen.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	StabilizationWindowSeconds *int32 `json:"stabilizationWindowSeconds,omitempty"`

	// selectPolicy chooses among policies: Max, Min, or Disabled, which keeps
	// the number from changing in this direction.
	// +kubebuilder:validation:Enum=Max;Min;Disabled
	// +optional
	SelectPolicy *string `json:"selectPolicy,omitempty"`

	// policies bound the change. Absent means those of Kubernetes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Policies []ScalingPolicy `json:"policies,omitempty"`
}

// ScalingPolicy bounds a change within a time.
type ScalingPolicy struct {
	// type is Pods or Percent.
	// +kubebuilder:validation:Enum=Pods;Percent
	// +required
	Type string `json:"type"`

	// value is how many pods, or which share of them, may come or go.
	// +kubebuilder:validation:Minimum=1
	// +required
	Value int32 `json:"value"`

	// periodSeconds is the time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1800
	// +required
	PeriodSeconds int32 `json:"periodSeconds"`
}

// AutoscalingMetricType is what the load of an agent is told by.
//
// +kubebuilder:validation:Enum=CPU;InFlightTurns
type AutoscalingMetricType string

const (
	// AutoscalingMetricCPU is the CPU time of the agent's container, which must
	// request some. It takes metrics-server.
	AutoscalingMetricCPU AutoscalingMetricType = "CPU"
	// AutoscalingMetricInFlightTurns is the number of turns that the agent works
	// at, which the sidecar counts as a2a_turns_in_flight. It takes an adapter
	// that serves metrics of pods.
	AutoscalingMetricInFlightTurns AutoscalingMetricType = "InFlightTurns"
)

// AutoscalingMetric is a metric and what it should be for each pod.
type AutoscalingMetric struct {
	// type is CPU, the CPU time of the agent's container, or InFlightTurns, the
	// turns that it works at. An agent that waits for a model uses little CPU
	// time, whatever its load.
	// +required
	Type AutoscalingMetricType `json:"type"`

	// target is what the metric should be on average: for CPU in percent of the
	// container's request, for InFlightTurns in turns of one pod.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +required
	Target int32 `json:"target"`
}

// AgentDisruptionBudget says how many pods may be taken away at once, such as
// by the drain of a node.
type AgentDisruptionBudget struct {
	// maxUnavailable is the number of pods that may be missing. It defaults to
	// 1, and is never 0, which would keep nodes from being drained.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
}
