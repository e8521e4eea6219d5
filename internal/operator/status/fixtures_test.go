// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// healthy returns the inputs of a Ready Agent, modified by change.
func healthy(change ...func(*Inputs)) Inputs {
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "echo", UID: "agent-uid", Generation: 7},
		Spec: a2av1alpha1.AgentSpec{Workload: &a2av1alpha1.AgentWorkload{
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "example/echo:1"}}}},
			Replicas: new(int32(1)),
			Backend:  a2av1alpha1.AgentBackend{Port: 8080},
		}},
	}
	in := Inputs{
		Observed: state.Agent{
			Agent:    agent,
			Children: state.Children{Deployment: deployment(agent, 1, 1, 1)},
			Pods:     []corev1.Pod{pod("echo-1", true, runningSince(now.Add(-time.Hour)))},
		},
		Card:    &Card{URL: "http://echo.agents.svc.cluster.local/", CardDigest: "card", ConfigDigest: "digest", Skills: 2},
		Applied: true,
		Now:     now,
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

// withoutStalled returns the conditions except Stalled, which an Agent does not always
// have.
func withoutStalled(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == a2av1alpha1.ConditionStalled })
}

func deployment(agent *a2av1alpha1.Agent, replicas, updated, available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: agent.Namespace, Name: agent.Name, Generation: 3,
			Labels:          map[string]string{a2av1alpha1.LabelAgent: agent.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
		},
		Spec:   appsv1.DeploymentSpec{Replicas: new(int32(1))},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: replicas, UpdatedReplicas: updated, AvailableReplicas: available},
	}
}

// pod returns a pod whose agent container has a state, beside a running sidecar.
func pod(name string, ready bool, agent corev1.ContainerStatus) corev1.Pod {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	agent.Name = "agent"
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "agents", Name: name,
			Annotations: map[string]string{a2av1alpha1.AnnotationConfigDigest: "digest"},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: a2av1alpha1.ContainerSidecar, Image: "example/sidecar:1"}},
			Containers:     []corev1.Container{{Name: "agent", Image: "example/echo:1"}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: status}},
			InitContainerStatuses: []corev1.ContainerStatus{{
				Name:  a2av1alpha1.ContainerSidecar,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
			ContainerStatuses: []corev1.ContainerStatus{agent},
		},
	}
}

func runningSince(t time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t)}}}
}

func waiting(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

// ready returns the state of a container that is ready.
func ready(s corev1.ContainerStatus) corev1.ContainerStatus {
	s.Ready = true
	return s
}

// injected adds a container that the Agent does not have, as an admission webhook does.
func injected(p corev1.Pod, s corev1.ContainerStatus) corev1.Pod {
	s.Name = "mesh"
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "mesh", Image: "mesh:1"})
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	return p
}

// afterCrash returns the state of a container that ended with exit code 2 and runs again.
func afterCrash(s corev1.ContainerStatus) corev1.ContainerStatus {
	s.RestartCount = 1
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}
	return s
}

// afterOOMKill returns the status of a container that the kernel killed at its memory limit.
func afterOOMKill(s corev1.ContainerStatus) corev1.ContainerStatus {
	s.RestartCount = 1
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: terminatedOOMKilled}
	return s
}

// ending returns a pod whose sidecar exited with an exit code.
func ending(exitCode int32, p corev1.Pod) corev1.Pod {
	s := &p.Status.InitContainerStatuses[0]
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waitingCrashLoopBackOff}}
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: "Error"}
	return p
}

// exposed sets spec.exposure to a Gateway.
func exposed(in *Inputs) {
	in.Observed.Agent.Spec.Exposure = &a2av1alpha1.AgentExposure{ParentRefs: []a2av1alpha1.GatewayRef{{Name: "public"}}}
}

// onlyPod replaces all pods by one that is not ready.
func onlyPod(p corev1.Pod) func(*Inputs) {
	return func(in *Inputs) {
		in.Observed.Pods = []corev1.Pod{p}
		in.Observed.Children.Deployment.Status.AvailableReplicas = 0
	}
}

// rollingOutTo adds a newer pod that is not ready.
func rollingOutTo(p corev1.Pod) func(*Inputs) {
	return func(in *Inputs) {
		p.CreationTimestamp = metav1.NewTime(now)
		in.Observed.Pods = append(in.Observed.Pods, p)
		in.Observed.Children.Deployment.Status.Replicas = 2
	}
}

// failing returns a pod whose agent crashes.
func failing(name string) corev1.Pod {
	return pod(name, false, afterCrash(waiting(waitingCrashLoopBackOff, "")))
}

// of gives a pod the digest of a template.
func of(digest string, p corev1.Pod) corev1.Pod {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, a2av1alpha1.AnnotationTemplateDigest, digest)
	return p
}

// former makes a pod one of an earlier spec.
func former(p corev1.Pod) corev1.Pod { return of("former", p) }

// currentTemplate gives the current spec the template "new".
func currentTemplate(in *Inputs) { in.TemplateDigest = "new" }

// scheduled returns a pod that was scheduled and of which no container has started.
func scheduled(at time.Time) corev1.Pod {
	p := pod("echo-1", false, waiting("PodInitializing", ""))
	p.UID = "uid-of-pod"
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)})
	p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	return p
}

// warned adds a warning about the pod of scheduled.
func warned(in *Inputs) {
	in.Observed.PodWarnings = map[types.UID]string{"uid-of-pod": `FailedMount: secret "keys" not found`}
}
