// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// createNamespace creates a namespace and returns its name.
func createNamespace(ctx context.Context, prefix string) string {
	GinkgoHelper()
	created := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	Expect(cluster.Create(ctx, created)).To(Succeed())
	return created.Name
}

// makeAgent returns a minimal Agent.
func makeAgent(namespace, name string, refs ...a2av1alpha1.AgentSkillRef) *a2av1alpha1.Agent {
	return &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: a2av1alpha1.AgentSpec{
		Description: "Repeats what it is told.", SkillRefs: refs,
		Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
		}}},
	}}
}

// createAgent creates a minimal Agent.
func createAgent(ctx context.Context, namespace, name string, refs ...a2av1alpha1.AgentSkillRef) *a2av1alpha1.Agent {
	GinkgoHelper()
	agent := makeAgent(namespace, name, refs...)
	Expect(cluster.Create(ctx, agent)).To(Succeed())
	return agent
}

// editAgent updates the spec of an Agent.
func editAgent(ctx context.Context, agent *a2av1alpha1.Agent, change func(*a2av1alpha1.AgentSpec)) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return err
		}
		change(&agent.Spec)
		return cluster.Update(ctx, agent)
	}).WithContext(ctx).Should(Succeed())
}

// mergePatch sends a JSON merge patch.
func mergePatch(ctx context.Context, obj client.Object, patch string) {
	GinkgoHelper()
	Expect(cluster.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// condition returns a function that reads an Agent and returns one of its conditions, or an
// empty condition if there is none.
func condition(agent *a2av1alpha1.Agent, conditionType string) func(context.Context) metav1.Condition {
	return func(ctx context.Context) metav1.Condition {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent); err != nil {
			return metav1.Condition{Reason: err.Error()}
		}
		if c := meta.FindStatusCondition(agent.Status.Conditions, conditionType); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

// reason returns a function that returns the reason of a condition.
func reason(agent *a2av1alpha1.Agent, conditionType string) func(context.Context) string {
	return func(ctx context.Context) string { return condition(agent, conditionType)(ctx).Reason }
}

// currentReason returns a function that returns the reason of a condition of the Agent's current
// generation, or "" if there is none.
func currentReason(agent *a2av1alpha1.Agent, conditionType string) func(context.Context) string {
	return func(ctx context.Context) string {
		c := condition(agent, conditionType)(ctx)
		if c.ObservedGeneration != agent.Generation {
			return ""
		}
		return c.Reason
	}
}

// message returns a function that returns the message of a condition.
func message(agent *a2av1alpha1.Agent, conditionType string) func(context.Context) string {
	return func(ctx context.Context) string { return condition(agent, conditionType)(ctx).Message }
}

// runPod acts as the Deployment controller and a kubelet: it creates a ready pod of an Agent.
func runPod(ctx context.Context, agent *a2av1alpha1.Agent, name string) {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), deployment)).To(Succeed())
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agent.Namespace, Name: name, Labels: deployment.Spec.Template.Labels, Annotations: deployment.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: agent.Name + "-5d9c", UID: "uid", Controller: new(true)}},
		},
		Spec: deployment.Spec.Template.Spec,
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	// The manager may write the pod and the Deployment meanwhile. A patch without a resource
	// version cannot fail with a conflict.
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(cluster.Status().Patch(ctx, pod, client.MergeFrom(before))).To(Succeed())
	observed := deployment.DeepCopy()
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
	}
	Expect(cluster.Status().Patch(ctx, deployment, client.MergeFrom(observed))).To(Succeed())
}

// eventReasons returns the reasons of the events of a namespace.
func eventReasons(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	list := &eventsv1.EventList{}
	Expect(cluster.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var reasons []string
	for _, e := range list.Items {
		reasons = append(reasons, e.Reason)
	}
	return reasons
}
