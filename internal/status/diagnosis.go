// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// startGrace is how long a container must run before a pod that is not ready counts as
// failed: its agent does not listen, a readiness probe fails, or its sidecar does not reach
// the model server. A restarted container that has run for as long counts as stable.
const startGrace = 20 * time.Second

// The kubelet's reasons for a waiting container.
const (
	waitingErrImagePull      = "ErrImagePull"
	waitingImagePullBackOff  = "ImagePullBackOff"
	waitingInvalidImageName  = "InvalidImageName"
	waitingErrImageNeverPull = "ErrImageNeverPull"
	waitingConfigError       = "CreateContainerConfigError"
	waitingCreateError       = "CreateContainerError"
	waitingRunError          = "RunContainerError"
	waitingCrashLoopBackOff  = "CrashLoopBackOff"
)

// terminatedStartError is the reason of a container that the runtime could not start. The
// kubelet alternates between this reason and waitingRunError, so the status has the same
// message for both.
const terminatedStartError = "StartError"

// terminatedOOMKilled is the reason of a container that the kernel killed at its memory limit.
const terminatedOOMKilled = "OOMKilled"

// diagnosePod returns why a pod is not ready, or false if the pod shows no cause.
func diagnosePod(in Inputs, pod *corev1.Pod) (diagnosis, bool) {
	if pod.Status.Phase == corev1.PodFailed {
		return diagnosis{
			reason:  a2av1alpha1.ReasonPodFailed,
			message: podFailed(pod),
			failing: true,
		}, true
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return diagnosis{
				reason:  a2av1alpha1.ReasonUnschedulable,
				message: fmt.Sprintf("The scheduler finds no node for the pod: %s; add capacity, or change the requests and constraints of %s", strings.TrimSuffix(c.Message, "."), template),
				failing: true,
			}, true
		}
	}
	if d, found := gateNotMet(pod); found {
		return d, true
	}
	containers := containersOf(in.Observed.Agent, pod)
	for _, c := range containers {
		if d, found := diagnoseContainer(in, c); found {
			return d, true
		}
	}
	if d, found := dependencyFailed(in.Observed.Agent, pod); found {
		return d, true
	}
	return diagnoseReadiness(in, containers)
}

// diagnoseContainer returns why a container does not run or counts as crashing, or false if
// neither is the case.
func diagnoseContainer(in Inputs, c container) (diagnosis, bool) {
	if w := c.status.State.Waiting; w != nil {
		switch w.Reason {
		case waitingErrImagePull, waitingImagePullBackOff, waitingInvalidImageName, waitingErrImageNeverPull:
			return imagePullFailed(c), true
		case waitingConfigError:
			return configInvalid(c, w.Message), true
		case waitingCreateError, waitingRunError:
			return cannotStart(c, w.Message), true
		}
	}
	if crashed(c.status) {
		return containerCrashing(in, c), true
	}
	// A container that exited and runs again may exit once more, so it counts as crashing
	// until startGrace has passed.
	if running := c.status.State.Running; running != nil && c.status.LastTerminationState.Terminated != nil {
		if left := graceLeft(in, running); left > 0 {
			d := containerCrashing(in, c)
			d.recheckAfter = left
			return d, true
		}
	}
	return diagnosis{}, false
}

// podFailed returns the message about a pod that failed as a whole, such as an evicted pod.
func podFailed(pod *corev1.Pod) string {
	cause := orElse(pod.Status.Reason, "no reason given")
	if m := strings.TrimSuffix(pod.Status.Message, "."); m != "" {
		cause += ": " + m
	}
	return fmt.Sprintf("Pod %q failed (%s), and the Deployment replaces it; if this recurs, kubectl describe pod -n %s %s shows the events of the pod",
		pod.Name, cause, pod.Namespace, pod.Name)
}

// crashed reports whether a container exited with an error, or waits after such exits
// (CrashLoopBackOff).
func crashed(s corev1.ContainerStatus) bool {
	if t := s.State.Terminated; t != nil {
		return t.ExitCode != 0
	}
	w := s.State.Waiting
	return w != nil && w.Reason == waitingCrashLoopBackOff
}

// graceLeft returns the remaining part of startGrace for a running container. It is zero or
// negative after startGrace.
func graceLeft(in Inputs, running *corev1.ContainerStateRunning) time.Duration {
	return startGrace - in.Now.Sub(running.StartedAt.Time)
}

func imagePullFailed(c container) diagnosis {
	action := c.action(".image, or set " + template + ".imagePullSecrets")
	if c.name == a2av1alpha1.ContainerSidecar {
		action = "ask the administrator of the operator to correct its flag --sidecar-image"
	}
	return diagnosis{
		reason: a2av1alpha1.ReasonImagePullFailed,
		message: fmt.Sprintf("The image %q of container %q cannot be pulled; %s; kubectl describe pod -n %s %s shows the cause",
			c.image, c.name, action, c.pod.Namespace, c.pod.Name),
		failing: true,
	}
}

// rootHints are parts of the kubelet's messages about a container that would run as root,
// or as a user that is not a number. The kubelet has no specific reason for this case. A
// message without one of these parts is reported unchanged.
var rootHints = []string{"runAsNonRoot", "non-root policy"}

func configInvalid(c container, message string) diagnosis {
	root := slices.ContainsFunc(rootHints, func(hint string) bool { return strings.Contains(message, hint) })
	if root && c.field != "" {
		return diagnosis{
			reason: a2av1alpha1.ReasonRunsAsRoot,
			message: fmt.Sprintf("Container %q of image %q would run as root, or as a user that is not a number, and the pod forbids both; "+
				"build the image with a numeric USER such as 65532, or set %s.securityContext.runAsUser to one", c.name, c.image, c.field),
			failing: true,
		}
	}
	action := c.action("")
	if strings.Contains(message, "not found") || strings.Contains(message, "couldn't find key") {
		action = "create it, or " + action
	}
	return diagnosis{
		reason:  a2av1alpha1.ReasonContainerConfigInvalid,
		message: fmt.Sprintf("Container %q cannot be created: %s; %s", c.name, message, action),
		failing: true,
	}
}

func cannotStart(c container, message string) diagnosis {
	return diagnosis{
		reason: a2av1alpha1.ReasonContainerCannotStart,
		message: fmt.Sprintf("Container %q of image %q cannot be started: %s; %s",
			c.name, c.image, message, c.action(".command, .args or the image")),
		failing: true,
	}
}

func containerCrashing(in Inputs, c container) diagnosis {
	ended := c.status.State.Terminated
	if ended == nil {
		ended = c.status.LastTerminationState.Terminated
	}
	if ended != nil && ended.Reason == terminatedStartError {
		return cannotStart(c, ended.Message)
	}
	if ended != nil && c.name == a2av1alpha1.ContainerSidecar {
		if d, found := credentialUnusable(in, c, ended); found {
			return d
		}
	}
	if ended != nil && ended.Reason == terminatedOOMKilled {
		return outOfMemory(c)
	}
	how := ""
	if ended != nil {
		how = fmt.Sprintf(" with exit code %d (%s)", ended.ExitCode, orElse(ended.Reason, "Error"))
	}
	return diagnosis{
		reason: a2av1alpha1.ReasonContainerCrashing,
		message: fmt.Sprintf("Container %q of image %q exits repeatedly%s; kubectl logs -n %s %s -c %s --previous shows its log",
			c.name, c.image, how, c.pod.Namespace, c.pod.Name, c.name),
		failing: true,
	}
}

// outOfMemory returns the diagnosis of a container that the kernel kills at its memory
// limit. The log of such a container shows no cause.
func outOfMemory(c container) diagnosis {
	action := "raise " + c.field + ".resources.limits.memory, or let the program use less memory"
	switch {
	case c.name == a2av1alpha1.ContainerSidecar:
		action = "lower spec.limits, or ask the administrator of the operator to raise the memory limit of the sidecar"
	case c.field == "":
		action = "raise its memory limit in the " + injector
	}
	return diagnosis{
		reason:  a2av1alpha1.ReasonContainerCrashing,
		message: fmt.Sprintf("Container %q of image %q is killed at its memory limit (OOMKilled); %s", c.name, c.image, action),
		failing: true,
	}
}

// gatesNotReady is the kubelet's reason for a pod whose containers are ready and whose
// readiness gates are not met.
const gatesNotReady = "ReadinessGatesNotReady"

// gateNotMet returns the diagnosis of a pod whose readiness gates are not met.
func gateNotMet(pod *corev1.Pod) (diagnosis, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == gatesNotReady {
			return diagnosis{
				reason: a2av1alpha1.ReasonReadinessGateNotMet,
				message: fmt.Sprintf("All containers of pod %q are ready, and a readiness gate is not met: %s; check that the controller that sets the gate runs",
					pod.Name, strings.TrimSuffix(c.Message, ".")),
			}, true
		}
	}
	return diagnosis{}, false
}

// diagnoseReadiness returns why a pod is not ready although its sidecar and its agent's
// container (if it has one) run. It returns false if one of the two does not run. The
// sidecar is ready after the agent listens, or after the sidecar has reached the external
// model server. The template may also have readiness probes.
func diagnoseReadiness(in Inputs, containers []container) (diagnosis, bool) {
	var main, unready, own *container
	listens := false
	for i := range containers {
		c := &containers[i]
		running := c.status.State.Running != nil
		switch {
		case c.name == a2av1alpha1.ContainerSidecar && !running:
			return diagnosis{}, false
		case c.name == a2av1alpha1.ContainerSidecar:
			listens, own = c.status.Ready, c
		case running && !c.status.Ready && unready == nil:
			unready = c
		}
		if c.field == template+".containers[0]" {
			main = c
		}
	}
	chat := in.Observed.Agent.Spec.Workload.Backend.Chat
	switch {
	case listens && unready != nil && chat != nil && chat.URL != "":
		return notReady(in, *unready), true
	case main == nil && own != nil && !listens && chat != nil && chat.URL != "":
		return modelServerUnreachable(in, *own, chat.URL), true
	case main == nil || main.status.State.Running == nil:
		return diagnosis{}, false
	case listens && unready != nil:
		return notReady(in, *unready), true
	default:
		return notListening(in, *main), true
	}
}

func notReady(in Inputs, c container) diagnosis {
	message := fmt.Sprintf("Container %q runs, and its readinessProbe fails", c.name)
	if left := graceLeft(in, c.status.State.Running); left > 0 {
		return diagnosis{reason: a2av1alpha1.ReasonAgentStarting, message: message, recheckAfter: left}
	}
	return diagnosis{
		reason: a2av1alpha1.ReasonContainerNotReady,
		message: fmt.Sprintf("%s; %s; kubectl describe pod -n %s %s shows the cause",
			message, c.action(".readinessProbe or the program"), c.pod.Namespace, c.pod.Name),
		failing: true,
	}
}

func notListening(in Inputs, c container) diagnosis {
	address := fmt.Sprintf("127.0.0.1:%d", in.Observed.Agent.Spec.Workload.Backend.Port)
	if left := graceLeft(in, c.status.State.Running); left > 0 {
		return diagnosis{
			reason:       a2av1alpha1.ReasonAgentStarting,
			message:      fmt.Sprintf("Container %q does not listen on %s yet", c.name, address),
			recheckAfter: left,
		}
	}
	return diagnosis{
		reason: a2av1alpha1.ReasonAgentNotListening,
		message: fmt.Sprintf("Container %q does not listen on %s; let its program listen on the port "+
			"in the variable PORT, or set spec.workload.backend.port to the port of the program. If the port is correct, "+
			"kubectl logs -n %s %s -c %s shows the error of the sidecar", c.name, address, c.pod.Namespace, c.pod.Name, a2av1alpha1.ContainerSidecar),
		failing: true,
	}
}

func modelServerUnreachable(in Inputs, c container, url string) diagnosis {
	message := fmt.Sprintf("The sidecar cannot reach the model server at %q (spec.workload.backend.chat.url)", url)
	if left := graceLeft(in, c.status.State.Running); left > 0 {
		return diagnosis{reason: a2av1alpha1.ReasonAgentStarting, message: message + " yet", recheckAfter: left}
	}
	return diagnosis{
		reason: a2av1alpha1.ReasonModelServerUnreachable,
		message: fmt.Sprintf("%s; check that the server runs, that it accepts the API key, and that network policies allow the connection; kubectl logs -n %s %s -c %s shows the cause",
			message, c.pod.Namespace, c.pod.Name, c.name),
		failing: true,
	}
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
