// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// makeAgent returns a minimal Agent.
func makeAgent(namespace, name string, change ...func(*a2av1alpha1.Agent)) *a2av1alpha1.Agent {
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: a2av1alpha1.AgentSpec{
			Description: "Repeats what it is told.",
			Workload: &a2av1alpha1.AgentWorkload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
			}}},
		},
	}
	for _, c := range change {
		c(agent)
	}
	return agent
}

func makeSkill(namespace, name string, labels map[string]string) *a2av1alpha1.AgentSkill {
	return &a2av1alpha1.AgentSkill{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{
			Name: name, Description: "Does " + name + ".", Tags: []string{"test"},
		}},
	}
}

// expectApplied creates objects.
func expectApplied(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, obj := range objects {
		Expect(cluster.Create(ctx, obj)).To(Succeed())
	}
}

// expectEdited updates an object as a user does.
func expectEdited[O client.Object](ctx context.Context, obj O, change func(O)) {
	GinkgoHelper()
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	change(obj)
	Expect(cluster.Update(ctx, obj)).To(Succeed())
}

// expectClaimsRead updates the index of claims, as the handlers of events do.
func (f *fixture) expectClaimsRead(ctx context.Context, agents ...*a2av1alpha1.Agent) {
	GinkgoHelper()
	for _, agent := range agents {
		_, err := f.reconciler.claims.refresh(ctx, client.ObjectKeyFromObject(agent))
		Expect(err).NotTo(HaveOccurred())
	}
}

// expectReconciled reconciles an Agent once and reads it again. f.requests has the requests
// of this reconcile.
func (f *fixture) expectReconciled(ctx context.Context, agent *a2av1alpha1.Agent) ctrl.Result {
	GinkgoHelper()
	f.requests = nil
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
	cached := agent.DeepCopy()
	state.CompleteWorkload(cached) // as the manager's cache does
	result, err := f.reconciler.Reconcile(ctx, cached)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
	return result
}

// expectInSync reconciles an Agent and expects no request.
func (f *fixture) expectInSync(ctx context.Context, agent *a2av1alpha1.Agent) {
	GinkgoHelper()
	f.expectReconciled(ctx, agent)
	Expect(f.requests).To(BeEmpty(), "an Agent in sync costs no request")
}

// recorder keeps all events. Unlike events.FakeRecorder, whose channel has a size, it never blocks a reconcile.
type recorder struct{ sent []string }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(_, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.sent = append(r.sent, eventType+" "+reason+" "+fmt.Sprintf(note, args...))
}

// newEvents returns the events since the last call, as "Type Reason Note".
func (f *fixture) newEvents() []string {
	got := f.events.sent
	f.events.sent = nil
	return got
}

// read returns an object of an Agent.
func read[T any, O interface {
	*T
	client.Object
}](ctx context.Context, agent *a2av1alpha1.Agent, name string) O {
	GinkgoHelper()
	obj := O(new(T))
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: agent.Namespace, Name: name}, obj)).To(Succeed())
	return obj
}

func deploymentOf(ctx context.Context, agent *a2av1alpha1.Agent) *appsv1.Deployment {
	GinkgoHelper()
	return read[appsv1.Deployment](ctx, agent, names.Deployment(agent.Name))
}

func configMapOf(ctx context.Context, agent *a2av1alpha1.Agent) *corev1.ConfigMap {
	GinkgoHelper()
	return read[corev1.ConfigMap](ctx, agent, names.ConfigMap(agent.Name))
}

// configurationOf returns the sidecar configuration of an Agent.
func configurationOf(ctx context.Context, agent *a2av1alpha1.Agent) *sidecarconfig.Config {
	GinkgoHelper()
	decoded, err := sidecarconfig.Decode([]byte(configMapOf(ctx, agent).Data[sidecarconfig.FileName]))
	Expect(err).NotTo(HaveOccurred())
	return decoded
}

// skillIDs returns the ids of the skills on an Agent's card.
func skillIDs(ctx context.Context, agent *a2av1alpha1.Agent) []string {
	GinkgoHelper()
	var ids []string
	for _, s := range configurationOf(ctx, agent).Card.Skills {
		ids = append(ids, s.ID)
	}
	return ids
}

// describe returns a condition as "Status Reason: Message", or "" if the condition belongs to an
// earlier generation.
func describe(agent *a2av1alpha1.Agent, condition string) string {
	c := meta.FindStatusCondition(agent.Status.Conditions, condition)
	if c == nil || c.ObservedGeneration != agent.Generation {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// expectCondition expects a condition with the status and reason in verdict, "Status Reason",
// and with the given parts in its message.
func expectCondition(agent *a2av1alpha1.Agent, condition, verdict string, parts ...string) {
	GinkgoHelper()
	got := describe(agent, condition)
	Expect(got).To(HavePrefix(verdict+":"), condition)
	for _, part := range parts {
		Expect(got).To(ContainSubstring(part), condition)
	}
}

// runDeployment acts as the Deployment controller and a kubelet: it creates one pod from the
// template. The pod is ready, or its container has the given state.
func runDeployment(ctx context.Context, agent *a2av1alpha1.Agent, name string, ready bool, state corev1.ContainerState) *corev1.Pod {
	GinkgoHelper()
	deployment := deploymentOf(ctx, agent)
	template := deployment.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agent.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: agent.Name + "-5d9c", UID: "uid", Controller: new(true)}},
		},
		Spec: template.Spec,
	}
	Expect(cluster.Create(ctx, pod)).To(Succeed())
	setPodStatus(ctx, pod, ready, state)
	if ready {
		setRollout(ctx, agent, 1, 1, 1)
	}
	return pod
}

// setPodStatus writes the status of a pod as a kubelet does.
func setPodStatus(ctx context.Context, pod *corev1.Pod, ready bool, state corev1.ContainerState) {
	GinkgoHelper()
	Expect(cluster.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod.Status.Phase = corev1.PodRunning
	if state.Waiting != nil {
		pod.Status.Phase = corev1.PodPending
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.Now()},
		{Type: a2av1alpha1.PodConditionPrefix + "Registry", Status: corev1.ConditionTrue}, // the report of the sidecar
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: a2av1alpha1.ContainerSidecar, Image: "x", ImageID: "x",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", Image: "x", ImageID: "x", State: state}}
	Expect(cluster.Status().Update(ctx, pod)).To(Succeed())
}

// setRollout writes the status of a Deployment as its controller does.
func setRollout(ctx context.Context, agent *a2av1alpha1.Agent, replicas, updated, available int32) {
	GinkgoHelper()
	deployment := deploymentOf(ctx, agent)
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation,
		Replicas:           replicas, UpdatedReplicas: updated, AvailableReplicas: available, ReadyReplicas: available,
	}
	Expect(cluster.Status().Update(ctx, deployment)).To(Succeed())
}

func (f *fixture) runningNow() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(f.clock.Now())}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// expectReady creates an Agent and reconciles it until it is Ready.
func (f *fixture) expectReady(ctx context.Context, agent *a2av1alpha1.Agent) *corev1.Pod {
	GinkgoHelper()
	expectApplied(ctx, agent)
	f.expectReconciled(ctx, agent)
	pod := runDeployment(ctx, agent, agent.Name+"-1", true, f.runningNow())
	f.expectReconciled(ctx, agent)
	expectCondition(agent, a2av1alpha1.ConditionReady, "True Ready")
	f.newEvents()
	return pod
}

// edited updates an object and returns the JSON that the object had before.
func edited[O client.Object](ctx context.Context, obj O, change func(O)) string {
	GinkgoHelper()
	before := specOf(obj)
	expectEdited(ctx, obj, change)
	Expect(specOf(obj)).NotTo(Equal(before))
	return before
}

// specOf returns the JSON of an object without its status, versions and managed fields.
func specOf(obj client.Object) string {
	GinkgoHelper()
	encoded, err := json.Marshal(obj)
	Expect(err).NotTo(HaveOccurred())
	var fields map[string]any
	Expect(json.Unmarshal(encoded, &fields)).To(Succeed())
	delete(fields, "status")
	metadata, _ := fields["metadata"].(map[string]any)
	for _, counted := range []string{"resourceVersion", "generation", "managedFields"} {
		delete(metadata, counted)
	}
	encoded, err = json.Marshal(fields)
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(encoded))
}
