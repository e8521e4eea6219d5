// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// Scale returns an apply configuration that changes only the number of pods of the
// Deployment. It returns nil if the Agent has no Deployment of its own, if the Deployment
// already has the number, or if several pods would not share their tasks. While a mistake in
// the spec prevents all other changes, the operator applies this change, so that users can
// still stop the agent and the autoscaler can still scale it.
func Scale(in state.Agent) *appsv1ac.DeploymentApplyConfiguration {
	current := in.Children.Deployment
	if in.Agent.Spec.Remote != nil || current == nil || !metav1.IsControlledBy(current, in.Agent) {
		return nil
	}
	wanted := replicas(in.Agent)
	has := ptr.Deref(current.Spec.Replicas, defaultReplicas)
	// More than one pod needs a shared task store. The current Deployment may have none, even
	// if the spec has one, because the spec is not applied.
	if wanted == has || wanted > 1 && !sharesTasks(current) {
		return nil
	}
	return appsv1ac.Deployment(names.Deployment(in.Agent.Name), in.Agent.Namespace).
		WithUID(current.UID).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(wanted))
}

// sharesTasks reports whether the pods of a Deployment share a task store.
func sharesTasks(d *appsv1.Deployment) bool {
	pod := &d.Spec.Template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			if c := &containers[i]; c.Name == a2av1alpha1.ContainerSidecar {
				return slices.Contains(c.Args, storeFlag)
			}
		}
	}
	return false
}

// turnsMetric is the name of the sidecar's metric with the number of running turns.
const turnsMetric = "a2a_turns_in_flight"

// autoscaler returns the HorizontalPodAutoscaler of an Agent. It writes the number of
// pods into the Agent, through the Agent's scale subresource. autoscaler returns nil
// without spec.workload.autoscaling, and for a suspended Agent, because an autoscaler of
// no pods would report that the pods have no metrics.
func autoscaler(agent *a2av1alpha1.Agent) *autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration {
	scaling := agent.Spec.Workload.Autoscaling
	if scaling == nil || agent.Spec.Suspend {
		return nil
	}
	spec := autoscalingv2ac.HorizontalPodAutoscalerSpec().
		WithScaleTargetRef(autoscalingv2ac.CrossVersionObjectReference().
			WithAPIVersion(a2av1alpha1.GroupVersion.String()).
			WithKind(a2av1alpha1.AgentKind).
			WithName(agent.Name)).
		WithMinReplicas(scaling.MinReplicas).
		WithMaxReplicas(scaling.MaxReplicas)
	for _, metric := range scaling.Metrics {
		spec.WithMetrics(metricSpec(agent, metric))
	}
	if behavior := scaling.Behavior; behavior != nil {
		spec.WithBehavior(scalingBehavior(behavior))
	}
	return autoscalingv2ac.HorizontalPodAutoscaler(names.HorizontalPodAutoscaler(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(spec)
}

// metricSpec returns the specification of a metric. A CPU metric measures only the
// agent's container: the sidecar requests little, and would distort the utilization of
// all containers together.
func metricSpec(agent *a2av1alpha1.Agent, metric a2av1alpha1.AutoscalingMetric) *autoscalingv2ac.MetricSpecApplyConfiguration {
	if metric.Type == a2av1alpha1.AutoscalingMetricInFlightTurns {
		return autoscalingv2ac.MetricSpec().WithType(autoscalingv2.PodsMetricSourceType).
			WithPods(autoscalingv2ac.PodsMetricSource().
				WithMetric(autoscalingv2ac.MetricIdentifier().WithName(turnsMetric)).
				WithTarget(autoscalingv2ac.MetricTarget().
					WithType(autoscalingv2.AverageValueMetricType).
					WithAverageValue(*resource.NewQuantity(int64(metric.Target), resource.DecimalSI))))
	}
	return autoscalingv2ac.MetricSpec().WithType(autoscalingv2.ContainerResourceMetricSourceType).
		WithContainerResource(autoscalingv2ac.ContainerResourceMetricSource().
			WithName(corev1.ResourceCPU).
			WithContainer(mainContainer(agent)).
			WithTarget(autoscalingv2ac.MetricTarget().
				WithType(autoscalingv2.UtilizationMetricType).
				WithAverageUtilization(metric.Target)))
}

// mainContainer returns the name of the container whose load the autoscaler measures. The
// API server rejects a CPU metric for an Agent without a container of its own.
func mainContainer(agent *a2av1alpha1.Agent) string {
	if containers := agent.Spec.Workload.Template.Spec.Containers; len(containers) > 0 {
		return containers[0].Name
	}
	return a2av1alpha1.ContainerSidecar
}

func scalingBehavior(behavior *a2av1alpha1.AutoscalingBehavior) *autoscalingv2ac.HorizontalPodAutoscalerBehaviorApplyConfiguration {
	config := autoscalingv2ac.HorizontalPodAutoscalerBehavior()
	if behavior.ScaleUp != nil {
		config.WithScaleUp(scalingRules(behavior.ScaleUp))
	}
	if behavior.ScaleDown != nil {
		config.WithScaleDown(scalingRules(behavior.ScaleDown))
	}
	return config
}

func scalingRules(rules *a2av1alpha1.ScalingRules) *autoscalingv2ac.HPAScalingRulesApplyConfiguration {
	config := autoscalingv2ac.HPAScalingRules()
	if window := rules.StabilizationWindowSeconds; window != nil {
		config.WithStabilizationWindowSeconds(*window)
	}
	if selected := rules.SelectPolicy; selected != nil {
		config.WithSelectPolicy(autoscalingv2.ScalingPolicySelect(*selected))
	}
	for _, p := range rules.Policies {
		config.WithPolicies(autoscalingv2ac.HPAScalingPolicy().
			WithType(autoscalingv2.HPAScalingPolicyType(p.Type)).WithValue(p.Value).WithPeriodSeconds(p.PeriodSeconds))
	}
	return config
}

// autoscalerRemarks returns a remark if the autoscaler cannot read its metrics. The
// remark says what the metrics of the Agent require.
func autoscalerRemarks(in state.Agent) []state.Problem {
	h := in.Children.Autoscaler
	scaling := in.Agent.Spec.Workload.Autoscaling
	if scaling == nil || h == nil || !metav1.IsControlledBy(h, in.Agent) {
		return nil
	}
	for _, c := range h.Status.Conditions {
		inactive := c.Type == autoscalingv2.ScalingActive || c.Type == autoscalingv2.AbleToScale
		if !inactive || c.Status != corev1.ConditionFalse || c.Reason == scalingDisabled {
			continue
		}
		return []state.Problem{state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonAutoscalerInactive,
			"The autoscaler is inactive (%s): %skubectl describe hpa -n %s %s shows the cause",
			c.Reason, metricNeeds(scaling.Metrics), h.Namespace, h.Name)}
	}
	return nil
}

// metricNeeds describes what the metrics require. It describes each type of metric once,
// in the order of the spec.
func metricNeeds(metrics []a2av1alpha1.AutoscalingMetric) string {
	var needs strings.Builder
	seen := map[a2av1alpha1.AutoscalingMetricType]bool{}
	for i, metric := range metrics {
		switch {
		case seen[metric.Type]:
		case metric.Type == a2av1alpha1.AutoscalingMetricInFlightTurns:
			fmt.Fprintf(&needs, "spec.workload.autoscaling.metrics[%d] (%s) requires an adapter that serves the metric %s of pods; ", i, metric.Type, turnsMetric)
		default:
			fmt.Fprintf(&needs, "spec.workload.autoscaling.metrics[%d] (%s) requires metrics-server, and a CPU request in %s.containers[0].resources; ",
				i, metric.Type, templateField)
		}
		seen[metric.Type] = true
	}
	return needs.String()
}

// scalingDisabled is the reason in the condition of an autoscaler whose target was scaled
// to zero.
const scalingDisabled = "ScalingDisabled"

// disruptionBudget returns the PodDisruptionBudget of an Agent, or nil for an Agent that
// never has more than one pod. The budget never blocks the drain of a node: at least one
// pod may be unavailable, and a pod that is not ready may always be evicted.
func disruptionBudget(agent *a2av1alpha1.Agent) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if mostReplicas(agent) <= 1 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(names.PodDisruptionBudget(agent.Name), agent.Namespace).
		WithLabels(names.Labels(agent.Name)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(names.Selector(agent.Name))).
			WithMaxUnavailable(intstr.FromInt32(max(1, agent.Spec.Workload.DisruptionBudget.MaxUnavailable))).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
