// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
)

// Reasons of the kubelet.
const (
	reasonOOMKilled        = "OOMKilled"
	reasonCrashLoopBackOff = "CrashLoopBackOff"
)

// recently is the maximal age of a restart for which doctor reports a finding.
const recently = time.Hour

// checkDeployment finds a Deployment that is missing, paused or not rolled out.
func checkDeployment(_ *SharedFacts, f *AgentFacts) []Finding {
	const check = "Deployment"
	if isUnread(f.Unread, partDeployments) {
		return nil
	}
	namespaced := "-n " + f.Agent.Namespace + " " + names.Deployment(f.Agent.Name)
	d := f.Deployment
	switch {
	case d == nil:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"there is no Deployment " + names.Deployment(f.Agent.Name)},
			Cause:   "The operator has not created the Deployment, or another program deleted it.",
			Cure:    "Correct the cause that the condition Programmed names. If every condition is as expected, check that the manager runs.",
			Command: "kubectl describe agent -n " + f.Agent.Namespace + " " + f.Agent.Name,
		}}
	case d.Spec.Paused:
		return []Finding{{
			Level: LevelProblem, Check: check, Seen: []string{"the Deployment is paused"},
			Cause: "A change of the spec does not reach the pods while the Deployment is paused.", Cure: "Resume the rollout.",
			Command: "kubectl rollout resume deployment " + namespaced,
		}}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return []Finding{{
				Level: LevelProblem, Check: check, Reason: a2av1alpha1.ReasonPodsRejected, Seen: []string{"ReplicaFailure: " + c.Message},
				Cause: advices[a2av1alpha1.ReasonPodsRejected].means, Cure: advices[a2av1alpha1.ReasonPodsRejected].action,
				Command: "kubectl describe deployment " + namespaced,
			}}
		}
	}
	return okay(check, fmt.Sprintf("%d of %d pods are ready", d.Status.ReadyReplicas, d.Status.Replicas))
}

// checkPods finds what keeps the containers of the pods from running.
func checkPods(shared *SharedFacts, f *AgentFacts) []Finding {
	if isUnread(f.Unread, partPods) {
		return nil
	}
	var findings []Finding
	for i := range f.Pods {
		pod := &f.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		findings = append(findings, podFindings(shared, f, pod)...)
	}
	return orOkay(findings, "pods", fmt.Sprintf("%d pods, and all their containers run", len(f.Pods)))
}

func podFindings(shared *SharedFacts, f *AgentFacts, pod *corev1.Pod) []Finding {
	describe := "kubectl describe pod -n " + pod.Namespace + " " + pod.Name
	of := func(reason, seen, command string) Finding {
		text := advices[reason]
		return Finding{Level: LevelProblem, Check: "pod " + pod.Name, Reason: reason, Seen: []string{seen}, Cause: text.means, Cure: text.action, Command: command}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return []Finding{of(a2av1alpha1.ReasonPodFailed, strings.TrimSpace("pod "+pod.Name+" failed: "+pod.Status.Reason+" "+pod.Status.Message), describe)}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return []Finding{of(a2av1alpha1.ReasonUnschedulable, "pod "+pod.Name+" is not scheduled: "+c.Message, describe)}
		}
	}
	var findings []Finding
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if finding, found := memoryFinding(shared, f, pod, &status); found {
			findings = append(findings, finding)
			continue
		}
		if reason, seen := waitingReason(&status); reason != "" {
			command := describe
			if reason == a2av1alpha1.ReasonContainerCrashing {
				command = fmt.Sprintf("kubectl logs -n %s %s -c %s --previous --tail 50", pod.Namespace, pod.Name, status.Name)
			}
			findings = append(findings, of(reason, fmt.Sprintf("pod %s, container %s: %s", pod.Name, status.Name, seen), command))
		}
	}
	if len(findings) > 0 {
		return findings
	}
	return unreadyFindings(shared, f, pod, of, describe)
}

// unreadyFindings finds the reasons why a pod whose containers run is not ready.
func unreadyFindings(shared *SharedFacts, f *AgentFacts, pod *corev1.Pod, of func(reason, seen, command string) Finding, describe string) []Finding {
	var findings []Finding
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		running := status.State.Running
		if running != nil && !status.Ready && shared.Now.Sub(running.StartedAt.Time) > time.Minute {
			findings = append(findings, of(a2av1alpha1.ReasonContainerNotReady,
				fmt.Sprintf("pod %s, container %s runs since %s and is not ready", pod.Name, status.Name, running.StartedAt.UTC().Format(time.RFC3339)), describe))
		}
	}
	if text := f.Readiness[pod.Name]; text != "" {
		findings = append(findings, Finding{
			Level: LevelProblem, Check: "sidecar of pod " + pod.Name, Reason: availableReason(f.Agent),
			Seen:  []string{fmt.Sprintf("the sidecar of pod %s reports: %s", pod.Name, text)},
			Cause: "The sidecar cannot serve calls, so the Service sends none to the pod.", Cure: "Correct the failure that the sidecar reports.",
			Command: fmt.Sprintf("kubectl logs -n %s %s --all-containers --prefix --tail 50", pod.Namespace, pod.Name),
		})
	}
	return findings
}

// availableReason returns the reason of the condition Available, "" if the condition is True or missing.
func availableReason(agent *a2av1alpha1.Agent) string {
	if c := meta.FindStatusCondition(agent.Status.Conditions, a2av1alpha1.ConditionAvailable); c != nil && c.Status != metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// waitingReason returns the condition reason that matches the state of a container that cannot start, and the state as
// text. It returns "" for a container that runs or starts.
func waitingReason(status *corev1.ContainerStatus) (reason, seen string) {
	w := status.State.Waiting
	if w == nil {
		return "", ""
	}
	seen = strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
	switch w.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return a2av1alpha1.ReasonImagePullFailed, seen
	case "CreateContainerConfigError":
		if strings.Contains(w.Message, "runAsNonRoot") || strings.Contains(w.Message, "non-numeric user") {
			return a2av1alpha1.ReasonRunsAsRoot, seen
		}
		return a2av1alpha1.ReasonContainerConfigInvalid, seen
	case "CreateContainerError", "RunContainerError":
		return a2av1alpha1.ReasonContainerCannotStart, seen
	case reasonCrashLoopBackOff:
		if t := status.LastTerminationState.Terminated; t != nil {
			seen += fmt.Sprintf("; it exited with status %d (%s) and was restarted %d times", t.ExitCode, t.Reason, status.RestartCount)
		}
		return a2av1alpha1.ReasonContainerCrashing, seen
	}
	return "", ""
}

// memoryFinding finds a container that the kernel killed because of its memory limit.
func memoryFinding(shared *SharedFacts, f *AgentFacts, pod *corev1.Pod, status *corev1.ContainerStatus) (Finding, bool) {
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if ended == nil || ended.Reason != reasonOOMKilled || shared.Now.Sub(ended.FinishedAt.Time) > recently {
		return Finding{}, false
	}
	limit := "none"
	cure := "Raise resources.limits.memory of the container in spec.workload.template, or let the program use less."
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Name == status.Name && !c.Resources.Limits.Memory().IsZero() {
			limit = c.Resources.Limits.Memory().String()
		}
	}
	if status.Name == a2av1alpha1.ContainerSidecar {
		cure = "Lower spec.limits or spec.workload.tasks, which bound the memory of the sidecar (https://github.com/a2a-operator/a2a-operator/blob/main/docs/reference/limits.md), " +
			"and report a sidecar that exceeds it without load."
	}
	finding := Finding{
		Level: LevelWarning, Check: "memory of container " + status.Name,
		Seen: []string{fmt.Sprintf("pod %s, container %s: %s at %s, its memory limit is %s, restarts: %d", pod.Name, status.Name, reasonOOMKilled,
			ended.FinishedAt.UTC().Format(time.RFC3339), limit, status.RestartCount)},
		Cause:   "The container used more memory than its limit, or than the node has, and the kernel killed it.",
		Cure:    cure,
		Command: "kubectl edit agent -n " + f.Agent.Namespace + " " + f.Agent.Name,
	}
	if status.State.Running == nil {
		finding.Level = LevelProblem
	}
	return finding, true
}
