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
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// Reasons of the kubelet.
const (
	reasonOOMKilled        = "OOMKilled"
	reasonCrashLoopBackOff = "CrashLoopBackOff"
)

// recently is the maximal age of a restart for which doctor reports a finding.
const recently = time.Hour

// checkDeployment finds a Deployment that is missing or paused, or whose pods the API server rejects (ReplicaFailure).
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
			Level: LevelProblem, Check: check, Reason: a2av1alpha1.ReasonRolloutPaused, Seen: []string{"the Deployment is paused"},
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
	return okay(check, fmt.Sprintf("%d of %s ready", d.Status.ReadyReplicas, podCount(int(d.Status.Replicas))))
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
	return orOkay(findings, "pods", runText(f.Pods))
}

// podCount returns a number of pods with its verb.
func podCount(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return fmt.Sprintf("%d pods are", n)
}

// runText says how many containers of pods run.
func runText(pods []corev1.Pod) string {
	running := 0
	all := 0
	for i := range pods {
		if pods[i].DeletionTimestamp != nil {
			continue
		}
		for _, status := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			ended := status.State.Terminated != nil && status.State.Terminated.ExitCode == 0 // an init container
			all++
			if status.State.Running != nil || ended {
				running++
			}
		}
	}
	noun := "pods"
	if len(pods) == 1 {
		noun = "pod"
	}
	if running < all {
		return fmt.Sprintf("%d %s, and %d of %d containers run", len(pods), noun, running, all)
	}
	return fmt.Sprintf("%d %s, and all their containers run", len(pods), noun)
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
	if finding, found := startFinding(shared, pod, of, describe); found {
		return []Finding{finding}
	}
	return unreadyFindings(shared, f, pod, of, describe)
}

// startLimit is how long a scheduled pod may take to start its first container.
const startLimit = 20 * time.Second

// startFinding finds a pod of which no container has started, although it is scheduled, and one whose node does not
// report. The condition has the newest warning of such a pod.
func startFinding(shared *SharedFacts, pod *corev1.Pod, of func(reason, seen, command string) Finding, describe string) (Finding, bool) {
	var scheduled time.Time
	var unready, containersReady bool
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue:
			scheduled = c.LastTransitionTime.Time
		case c.Type == corev1.PodReady:
			unready = c.Status == corev1.ConditionFalse && c.Reason == ""
		case c.Type == corev1.ContainersReady:
			containersReady = c.Status == corev1.ConditionTrue
		}
	}
	if unready && containersReady {
		return of(a2av1alpha1.ReasonNodeNotReady, fmt.Sprintf("node %s of pod %s does not report", pod.Spec.NodeName, pod.Name), "kubectl describe node "+pod.Spec.NodeName), true
	}
	started := func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil
	}
	all := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	if pod.Status.Phase != corev1.PodPending || scheduled.IsZero() || shared.Now.Sub(scheduled) < startLimit || slices.ContainsFunc(all, started) {
		return Finding{}, false
	}
	return of(a2av1alpha1.ReasonPodNotStarting, fmt.Sprintf("pod %s is scheduled since %s, and none of its containers has started", pod.Name, scheduled.UTC().Format(time.RFC3339)), describe), true
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
			seen += fmt.Sprintf("; it exited with status %d (%s) and was restarted %s", t.ExitCode, t.Reason, quantity(int(status.RestartCount), "time"))
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

// checkSidecars finds pods without a sidecar, with an old sidecar or configuration, with containers
// of a service mesh, and with a DNS policy that resolves no names of the cluster.
func checkSidecars(shared *SharedFacts, f *AgentFacts) []Finding {
	if isUnread(f.Unread, partPods) || len(f.Pods) == 0 {
		return nil
	}
	var findings []Finding
	for i := range f.Pods {
		pod := &f.Pods[i]
		if pod.DeletionTimestamp != nil {
			continue
		}
		for _, find := range []func(*SharedFacts, *AgentFacts, *corev1.Pod) (Finding, bool){sidecarAge, configurationAge, injectedContainers, dnsPolicy} {
			if finding, found := find(shared, f, pod); found && !slices.ContainsFunc(findings, func(x Finding) bool { return x.Check == finding.Check }) {
				findings = append(findings, finding)
			}
		}
	}
	return orOkay(findings, "sidecars", "the sidecars have the current image and configuration")
}

// sidecarAge compares the image of a pod's sidecar with the image in the manager's flag --sidecar-image.
func sidecarAge(shared *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	image := imageOf(&pod.Spec, a2av1alpha1.ContainerSidecar)
	if image == "" || !names.OwnsPod(f.Agent.Name, pod) {
		return Finding{
			Level: LevelProblem, Check: "foreign pod", Reason: a2av1alpha1.ReasonForeignPodServes,
			Seen:  []string{fmt.Sprintf("pod %s has the label %s, and the Deployment of the Agent did not make it", pod.Name, a2av1alpha1.LabelAgent)},
			Cause: advices[a2av1alpha1.ReasonForeignPodServes].means, Cure: advices[a2av1alpha1.ReasonForeignPodServes].action,
			Command: fmt.Sprintf("kubectl label pod -n %s %s %s-", pod.Namespace, pod.Name, a2av1alpha1.LabelAgent),
		}, true
	}
	want := sidecarImageFlag(shared.Manager)
	if want == "" || want == image || isRewritten(f, want) {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "sidecar image", Seen: []string{fmt.Sprintf("pod %s runs %s, and the manager's --sidecar-image is %s", pod.Name, image, want)},
		Cause:   "The rollout to the new sidecar is not complete, or the operator does not apply the Deployment.",
		Cure:    "Wait for the rollout. If it does not proceed, correct the causes that the conditions name.",
		Command: "kubectl rollout status deployment -n " + pod.Namespace + " " + names.Deployment(f.Agent.Name),
	}, true
}

// isRewritten reports whether a policy of the cluster replaces the image of the sidecar: the rollout is complete, and the Deployment has the
// wanted image, or a policy changes its fields, which the condition Programmed then names.
func isRewritten(f *AgentFacts, want string) bool {
	d := f.Deployment
	if d == nil || d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas != d.Status.Replicas {
		return false
	}
	programmed := meta.FindStatusCondition(f.Agent.Status.Conditions, a2av1alpha1.ConditionProgrammed)
	isContested := programmed != nil && programmed.Reason == a2av1alpha1.ReasonFieldsContested
	return isContested || imageOf(&d.Spec.Template.Spec, a2av1alpha1.ContainerSidecar) == want
}

func imageOf(spec *corev1.PodSpec, container string) string {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if c.Name == container {
			return c.Image
		}
	}
	return ""
}

// sidecarImageFlag returns the sidecar image in the flags of the manager, "" if it is unknown.
func sidecarImageFlag(manager *appsv1.Deployment) string {
	if manager == nil {
		return ""
	}
	for _, c := range manager.Spec.Template.Spec.Containers {
		for _, arg := range c.Args {
			if image, ok := strings.CutPrefix(arg, "--sidecar-image="); ok {
				return image
			}
		}
	}
	return ""
}

// configurationAge compares the digest of the configuration that the operator announced to a pod with the digest of the
// ConfigMap.
func configurationAge(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if f.ConfigMap == nil || !isReady(pod) {
		return Finding{}, false
	}
	want := f.ConfigMap.Annotations[a2av1alpha1.AnnotationConfigDigest]
	got := pod.Annotations[a2av1alpha1.AnnotationConfigDigest]
	if want == "" || want == got {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "sidecar configuration", Seen: []string{fmt.Sprintf("pod %s has the configuration %q, and the ConfigMap %q", pod.Name, got, want)},
		Cause:   "The operator announces a new configuration to the pod by an annotation, and has not done so yet. The kubelet reads the ConfigMap after about a minute without it.",
		Cure:    "Wait a minute. If the difference persists, check that the manager runs and may patch pods.",
		Command: fmt.Sprintf("kubectl logs -n %s %s -c %s --tail 50", pod.Namespace, pod.Name, a2av1alpha1.ContainerSidecar),
	}, true
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// meshes are the names of service meshes, by the names of their containers.
var meshes = map[string]string{
	"istio-proxy": "Istio", "istio-init": "Istio", "istio-validation": "Istio", "linkerd-proxy": "Linkerd", "linkerd-init": "Linkerd",
	"kuma-sidecar": "Kuma", "kuma-init": "Kuma", "consul-dataplane": "Consul", "consul-connect-inject-init": "Consul", "envoy-sidecar": "App Mesh",
}

// injectedContainers finds containers of a service mesh, which neither the pod template nor the operator added.
func injectedContainers(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if f.Agent.Spec.Remote != nil {
		return Finding{}, false
	}
	known := []string{a2av1alpha1.ContainerSidecar}
	if workload := f.Agent.Spec.Workload; workload != nil { // an agent without code may have none
		template := &workload.Template.Spec
		for _, c := range slices.Concat(template.InitContainers, template.Containers) {
			known = append(known, c.Name)
		}
	}
	var injected []string
	product := ""
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.Contains(known, c.Name) {
			continue
		}
		injected = append(injected, c.Name)
		if name, ok := meshes[c.Name]; ok {
			product = name
		}
	}
	if product == "" { // other injected containers do not intercept traffic
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "service mesh", Seen: []string{fmt.Sprintf("pod %s has the containers %s", pod.Name, strings.Join(injected, ", "))},
		Cause: fmt.Sprintf("A webhook of %s added a proxy to the pod. The proxy may require mutual TLS of callers, deny calls by its own policies, "+
			"end streams by its timeouts, and intercept calls of the sidecar before the proxy has started.", product),
		Cure: "If calls fail, let the mesh admit plain traffic to port 8641 and 8642, remove its timeout for this Service, and start its proxy as a native sidecar; " +
			"or exclude the pods with an annotation in spec.workload.template.metadata.",
		Command: "kubectl get pod -n " + pod.Namespace + " " + pod.Name + " -o yaml",
	}, true
}

// dnsPolicy finds pods that do not use the DNS of the cluster.
func dnsPolicy(_ *SharedFacts, f *AgentFacts, pod *corev1.Pod) (Finding, bool) {
	if policy := pod.Spec.DNSPolicy; policy != corev1.DNSDefault && (policy != corev1.DNSNone || pod.Spec.DNSConfig != nil && len(pod.Spec.DNSConfig.Nameservers) > 0) {
		return Finding{}, false
	}
	return Finding{
		Level: LevelWarning, Check: "DNS policy", Seen: []string{fmt.Sprintf("pod %s has dnsPolicy %s", pod.Name, pod.Spec.DNSPolicy)},
		Cause:   "The pod does not use the DNS of the cluster, so the sidecar cannot find the registry and other agents.",
		Cure:    "Remove dnsPolicy from spec.workload.template.spec, or set it to ClusterFirst.",
		Command: "kubectl edit agent -n " + f.Agent.Namespace + " " + f.Agent.Name,
	}, true
}
