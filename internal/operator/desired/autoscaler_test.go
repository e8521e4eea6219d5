// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

func TestReplicas(t *testing.T) {
	between := &a2av1alpha1.AgentAutoscaling{MinReplicas: 2, MaxReplicas: 5}
	tests := map[string]struct {
		written     *int32
		autoscaling *a2av1alpha1.AgentAutoscaling
		suspend     bool
		want, most  int32
	}{
		"no number of replicas":   {want: 1, most: 1},
		"a number":                {written: new(int32(3)), want: 3, most: 3},
		"none":                    {written: new(int32(0)), want: 0, most: 0},
		"suspended":               {written: new(int32(3)), suspend: true, want: 0, most: 3},
		"the autoscaler's number": {written: new(int32(4)), autoscaling: between, want: 4, most: 5},
		"before the first decision of the autoscaler": {written: new(int32(1)), autoscaling: between, want: 2, most: 5},
		"after its limit was lowered":                 {written: new(int32(9)), autoscaling: between, want: 5, most: 5},
		"an autoscaler that is paused":                {written: new(int32(0)), autoscaling: between, want: 0, most: 5},
		"an autoscaler that is suspended":             {written: new(int32(4)), autoscaling: between, suspend: true, want: 0, most: 5},
		"an autoscaler without any default":           {autoscaling: between, want: 2, most: 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Suspend: test.suspend, Workload: &a2av1alpha1.AgentWorkload{
				Replicas: test.written, Autoscaling: test.autoscaling,
			}}}
			if got := replicas(agent); got != test.want {
				t.Errorf("replicas() = %d, want %d", got, test.want)
			}
			if got := mostReplicas(agent); got != test.most {
				t.Errorf("mostReplicas() = %d, want %d", got, test.most)
			}
		})
	}
}

// TestScalingDoesNotChangeThePodTemplate checks that a change of the number of pods does not restart the
// running pods.
func TestScalingDoesNotChangeThePodTemplate(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	one, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	in.Agent.Spec.Workload.Replicas = new(int32(3))
	three, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one.Objects.Deployment.Spec.Template, three.Objects.Deployment.Spec.Template); diff != "" {
		t.Errorf("the template depends on the number of pods:\n%s", diff)
	}
}

func TestAutoscalerRemarks(t *testing.T) {
	condition := func(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason string) []autoscalingv2.HorizontalPodAutoscalerCondition {
		return []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.ScalingLimited, Status: corev1.ConditionFalse, Reason: "DesiredWithinRange"},
			{Type: kind, Status: status, Reason: reason},
		}
	}
	tests := map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		foreign    bool
		metrics    []a2av1alpha1.AutoscalingMetric
		want       string
		lacks      string
	}{
		"no status yet":  {},
		"active":         {conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound")},
		"scaled to zero": {conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled")},
		"no metrics":     {conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetPodsMetric"), want: "FailedGetPodsMetric"},
		"only turns": {
			conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetPodsMetric"),
			metrics:    []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricInFlightTurns}},
			want:       "metrics[0] (InFlightTurns) requires an adapter that serves the metric a2a_turns_in_flight", lacks: "metrics-server",
		},
		"only CPU": {
			conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetContainerResourceMetric"),
			metrics:    []a2av1alpha1.AutoscalingMetric{{Type: a2av1alpha1.AutoscalingMetricCPU}},
			want:       "metrics[0] (CPU) requires metrics-server", lacks: "adapter",
		},
		"unable to scale": {conditions: condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale"), want: "FailedGetScale"},
		"an autoscaler of another owner": {
			conditions: condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "FailedGetPodsMetric"), foreign: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "echo", UID: "uid"}}
			agent.Spec.Workload = &a2av1alpha1.AgentWorkload{Autoscaling: &a2av1alpha1.AgentAutoscaling{Metrics: test.metrics}}
			h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "echo"}}
			if !test.foreign {
				h.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))}
			}
			h.Status.Conditions = test.conditions
			got := autoscalerRemarks(state.Agent{Agent: agent, Children: state.Children{Autoscaler: h}})
			if test.want == "" {
				if len(got) > 0 {
					t.Errorf("autoscalerRemarks() = %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Message, test.want) || !strings.Contains(got[0].Message, "kubectl describe hpa -n agents echo") {
				t.Errorf("autoscalerRemarks() = %+v, want one that says %s", got, test.want)
			}
			if test.lacks != "" && len(got) == 1 && strings.Contains(got[0].Message, test.lacks) {
				t.Errorf("autoscalerRemarks() names a metric that is not used: %s", got[0].Message)
			}
		})
	}
}
