// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// startGrace is how long a container must run before its pod counts as failed because the
// agent does not listen, a readiness probe fails, or the sidecar does not reach the model
// server. A restarted container counts as stable after the same time.
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
		return podFailed(pod), true
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return failure(a2av1alpha1.ReasonUnschedulable,
				"The scheduler finds no node for the pod: %s; add capacity, or change the requests and constraints of %s", strings.TrimSuffix(c.Message, "."), template), true
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

// podFailed returns the diagnosis of a pod that failed as a whole, such as an evicted pod.
func podFailed(pod *corev1.Pod) diagnosis {
	cause := cmp.Or(pod.Status.Reason, "no reason given")
	if m := strings.TrimSuffix(pod.Status.Message, "."); m != "" {
		cause += ": " + m
	}
	return failure(a2av1alpha1.ReasonPodFailed,
		"Pod %q failed (%s), and the Deployment replaces it; if this recurs, kubectl describe pod -n %s %s shows the events of the pod",
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
	return failure(a2av1alpha1.ReasonImagePullFailed, "The image %q of container %q cannot be pulled; %s; kubectl describe pod -n %s %s shows the cause",
		c.image, c.name, action, c.pod.Namespace, c.pod.Name)
}

// rootHints are parts of the kubelet's messages about a container that would run as root,
// or as a user that the image names instead of numbers. The kubelet has no specific reason
// for this case. For a message without one of these parts, configInvalid returns
// ReasonContainerConfigInvalid with the kubelet's message.
var rootHints = []string{"runAsNonRoot", "non-root policy"}

func configInvalid(c container, message string) diagnosis {
	root := slices.ContainsFunc(rootHints, func(hint string) bool { return strings.Contains(message, hint) })
	if root && c.field != "" {
		return failure(a2av1alpha1.ReasonRunsAsRoot, "Container %q of image %q would run as root, or as a user that is not a number, and the pod forbids both; "+
			"build the image with a numeric USER such as 65532, or set %s.securityContext.runAsUser to one", c.name, c.image, c.field)
	}
	action := c.action("")
	if strings.Contains(message, "not found") || strings.Contains(message, "couldn't find key") {
		action = "create it, or " + action
	}
	return failure(a2av1alpha1.ReasonContainerConfigInvalid, "Container %q cannot be created: %s; %s", c.name, message, action)
}

func cannotStart(c container, message string) diagnosis {
	return failure(a2av1alpha1.ReasonContainerCannotStart, "Container %q of image %q cannot be started: %s; %s",
		c.name, c.image, message, c.action(".command, .args or the image"))
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
		how = fmt.Sprintf(" with exit code %d (%s)", ended.ExitCode, cmp.Or(ended.Reason, "Error"))
	}
	return failure(a2av1alpha1.ReasonContainerCrashing, "Container %q of image %q exits repeatedly%s; kubectl logs -n %s %s -c %s --previous shows its log",
		c.name, c.image, how, c.pod.Namespace, c.pod.Name, c.name)
}

// outOfMemory returns the diagnosis of a container that the kernel kills at its memory
// limit. The log of such a container shows no cause.
func outOfMemory(c container) diagnosis {
	action := "raise " + c.field + ".resources.limits.memory, or let the program use less memory"
	switch {
	case c.name == a2av1alpha1.ContainerSidecar:
		action = "raise its memory limit, which a LimitRange of the namespace may set, or lower spec.limits"
	case c.field == "":
		action = "raise its memory limit in the " + injector
	}
	return failure(a2av1alpha1.ReasonContainerCrashing, "Container %q of image %q is killed at its memory limit (OOMKilled); %s", c.name, c.image, action)
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
// sidecar becomes ready when the agent listens or, without a container of the agent, when
// the sidecar has reached the external model server. Containers of the template may also
// have readiness probes.
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
	return startingOr(in, c, message, failure(a2av1alpha1.ReasonContainerNotReady, "%s; %s; kubectl describe pod -n %s %s shows the cause",
		message, c.action(".readinessProbe or the program"), c.pod.Namespace, c.pod.Name))
}

func notListening(in Inputs, c container) diagnosis {
	message := fmt.Sprintf("Container %q does not listen on 127.0.0.1:%d", c.name, in.Observed.Agent.Spec.Workload.Backend.Port)
	return startingOr(in, c, message+" yet", failure(a2av1alpha1.ReasonAgentNotListening, "%s; let its program listen on the port "+
		"in the variable PORT, or set spec.workload.backend.port to the port of the program. If the port is correct, "+
		"kubectl logs -n %s %s -c %s shows the error of the sidecar", message, c.pod.Namespace, c.pod.Name, a2av1alpha1.ContainerSidecar))
}

func modelServerUnreachable(in Inputs, c container, url string) diagnosis {
	message := fmt.Sprintf("The sidecar cannot reach the model server at %q (spec.workload.backend.chat.url)", url)
	return startingOr(in, c, message+" yet", failure(a2av1alpha1.ReasonModelServerUnreachable,
		"%s; check that the server runs, that it accepts the API key, and that network policies allow the connection; kubectl logs -n %s %s -c %s shows the cause",
		message, c.pod.Namespace, c.pod.Name, c.name))
}

// startingOr returns failed if the container has run for startGrace. Before that time, it
// returns the diagnosis that the agent starts, with the given message.
func startingOr(in Inputs, c container, message string, failed diagnosis) diagnosis {
	if left := graceLeft(in, c.status.State.Running); left > 0 {
		return diagnosis{reason: a2av1alpha1.ReasonAgentStarting, message: message, recheckAfter: left}
	}
	return failed
}
