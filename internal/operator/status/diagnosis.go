// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

// startGrace is how long a container must run before its pod counts as failed because the
// agent does not listen, a readiness probe fails, or the sidecar does not reach the model
// server. A restarted container counts as stable after the same time.
const startGrace = state.StartGrace

// eventsAge is the time after which the operator looks again for a warning about a pod that does not start.
const eventsAge = time.Minute

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
				"The scheduler finds no node for the pod: %s; %s", strings.TrimSuffix(c.Message, "."), schedulingAction(in, c.Message)), true
		}
	}
	if d, found := nodeNotReady(pod); found {
		return d, true
	}
	if d, found := gateNotMet(pod); found {
		return d, true
	}
	if d, found := notStarted(in, pod); found {
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

// nodeNotReady returns the diagnosis of a pod whose node does not report any more. Kubernetes then sets
// Ready of the pod to False, and the rest of the status stays as the kubelet last wrote it. A kubelet
// writes Ready and ContainersReady together, with a reason.
func nodeNotReady(pod *corev1.Pod) (diagnosis, bool) {
	var unready, containersReady bool
	for _, c := range pod.Status.Conditions {
		unready = unready || c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.Reason == ""
		containersReady = containersReady || c.Type == corev1.ContainersReady && c.Status == corev1.ConditionTrue
	}
	return failure(a2av1alpha1.ReasonNodeNotReady, "Node %q of pod %q does not report that it is alive; repair the node or delete it: "+
		"Kubernetes replaces the pod after some minutes; kubectl describe node %s shows the cause", pod.Spec.NodeName, pod.Name, pod.Spec.NodeName), unready && containersReady
}

// notStarted returns the diagnosis of a scheduled pod of which no container has started. Before StartGrace,
// and without a warning, it only says when to look again.
func notStarted(in Inputs, pod *corev1.Pod) (diagnosis, bool) {
	since, waits := state.NotStarted(pod)
	if !waits {
		return diagnosis{}, false
	}
	if left := startGrace - in.Now.Sub(since); left > 0 {
		return diagnosis{recheckAfter: left}, true
	}
	warning := in.Observed.PodWarnings[pod.UID]
	if warning == "" {
		return diagnosis{recheckAfter: eventsAge}, true
	}
	action := "correct " + template
	if named := namedObjects(&in.Observed.Agent.Spec.Workload.Template.Spec); named != "" {
		action = "create what is missing, or " + action + ", which names " + named
	}
	if cure := heldByFormer(in, warning); cure != "" {
		action = cure
	}
	if strings.Contains(warning, `"`+a2av1alpha1.VolumeClientCertificate+`"`) {
		action = "ask the administrator to check the driver of the chart's sidecar.clientCertificate (--sidecar-client-certificate-driver)"
		if strings.Contains(warning, "not found in the list of registered CSI drivers") {
			action = "ask the administrator to install the CSI driver on the node, or to correct the chart's sidecar.clientCertificate (--sidecar-client-certificate-driver)"
		}
	}
	d := failure(a2av1alpha1.ReasonPodNotStarting, "Pod %q does not start: %s; %s", pod.Name, strings.TrimSuffix(warning, "."), action)
	d.recheckAfter = eventsAge
	return d, true
}

// maxNamed bounds the objects in a message.
const maxNamed = 8

// namedObjects lists the objects that a pod spec names and that the kubelet needs before it starts a
// container, "" for none.
func namedObjects(pod *corev1.PodSpec) string {
	var all []string
	add := func(kind, name string) {
		if text := fmt.Sprintf("%s %q", kind, name); name != "" && !slices.Contains(all, text) && len(all) < maxNamed {
			all = append(all, text)
		}
	}
	if pod.RuntimeClassName != nil {
		add("RuntimeClass", *pod.RuntimeClassName)
	}
	for i := range pod.Volumes {
		v := &pod.Volumes[i].VolumeSource
		switch {
		case v.Secret != nil:
			add("Secret", v.Secret.SecretName)
		case v.ConfigMap != nil:
			add("ConfigMap", v.ConfigMap.Name)
		case v.PersistentVolumeClaim != nil:
			add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
		case v.CSI != nil:
			add("CSIDriver", v.CSI.Driver)
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				if source.Secret != nil {
					add("Secret", source.Secret.Name)
				}
				if source.ConfigMap != nil {
					add("ConfigMap", source.ConfigMap.Name)
				}
			}
		}
	}
	return strings.Join(all, ", ")
}

// diagnoseContainer returns why a container does not run or counts as crashing, or false if
// neither is the case.
func diagnoseContainer(in Inputs, c container) (diagnosis, bool) {
	if w := c.status.State.Waiting; w != nil {
		switch w.Reason {
		case waitingErrImagePull, waitingImagePullBackOff, waitingInvalidImageName, waitingErrImageNeverPull:
			return imagePullFailed(in, c, w.Message), true
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

// imagePullFailed returns the diagnosis of a container whose image cannot be pulled. The kubelet tries again and
// again, and some versions do not repeat the cause while they wait. The message then keeps the cause that
// the condition has.
func imagePullFailed(in Inputs, c container, message string) diagnosis {
	begin := fmt.Sprintf("The image %q of container %q cannot be pulled", c.image, c.name)
	skill := skillImage(c, message)
	if skill != "" {
		begin = fmt.Sprintf("The image %q of a skill cannot be pulled", skill)
	}
	cause := pullCause(message)
	if is := meta.FindStatusCondition(in.Observed.Agent.Status.Conditions, a2av1alpha1.ConditionAvailable); cause == "" && is != nil {
		_, rest, _ := strings.Cut(is.Message, begin+": ")
		cause, _, _ = strings.Cut(rest, "; ")
	}
	if cause != "" {
		begin += ": " + cause
	}
	action := c.action(".image, or set " + template + ".imagePullSecrets")
	switch {
	case skill != "":
		action = "correct the image of the skill in spec.skills or in its AgentSkill, or set " + template + ".imagePullSecrets"
	case c.name == a2av1alpha1.ContainerSidecar:
		action = "ask the administrator of the operator to correct its flag --sidecar-image"
	}
	return failure(a2av1alpha1.ReasonImagePullFailed, "%s; %s; kubectl describe pod -n %s %s shows the events", begin, action, c.pod.Namespace, c.pod.Name)
}

// skillImage returns the image of a skill that the kubelet's message about a container names, "" for none. The kubelet reports an image
// volume that it cannot pull as the state of the containers that mount it.
func skillImage(c container, message string) string {
	if strings.Contains(message, c.image) {
		return ""
	}
	for i := range c.pod.Spec.Volumes {
		if image := c.pod.Spec.Volumes[i].Image; image != nil && image.Reference != "" && strings.Contains(message, image.Reference) {
			return image.Reference
		}
	}
	return ""
}

// maxPullCause bounds the cause of a failed pull in a message, in bytes.
const maxPullCause = 400

var (
	// rpcCode matches the beginning of an error of the container runtime.
	rpcCode = regexp.MustCompile(`rpc error: code = \w+ desc = `)
	// localAddress matches the local end of a connection in an error, which differs in each attempt.
	localAddress = regexp.MustCompile(`\S+:\d+->`)
)

// pullCause returns the container runtime's error in the kubelet's message about an image, "" for none.
func pullCause(message string) string {
	if _, cause, found := strings.Cut(message, waitingErrImagePull+": "); found {
		message = cause
	} else if strings.HasPrefix(message, "Back-off pulling") {
		return ""
	}
	message = localAddress.ReplaceAllString(rpcCode.ReplaceAllString(message, ""), "")
	message = strings.ReplaceAll(strings.Join(strings.Fields(message), " "), "; ", ", ")
	return cut(strings.TrimSuffix(message, "."), maxPullCause)
}

// schedulingAction returns what to do about the scheduler's message.
func schedulingAction(in Inputs, message string) string {
	if cure := heldByFormer(in, message); cure != "" {
		return cure
	}
	pod := &in.Observed.Agent.Spec.Workload.Template.Spec
	var actions []string
	add := func(contains, action string) {
		if strings.Contains(message, contains) && !slices.Contains(actions, action) {
			actions = append(actions, action)
		}
	}
	selection := "affinity"
	if len(pod.NodeSelector) > 0 {
		selection = "nodeSelector"
	}
	add("node affinity/selector", "correct "+template+"."+selection+", or label a node")
	add("untolerated taint", "add the toleration to "+template+".tolerations, or remove the taint")
	add("persistentvolumeclaim", "create the PersistentVolumeClaim, or correct "+template+".volumes")
	add("PersistentVolumeClaims", "let a PersistentVolume bind the claim, or correct "+template+".volumes")
	add("volume node affinity", "correct the PersistentVolume, whose node has no room for the pod")
	add("Insufficient", "add capacity, or reduce the resource requests of "+template)
	add("free ports", "remove hostPort from "+template)
	add("topology spread", "correct "+template+".topologySpreadConstraints")
	add("pod affinity", "correct "+template+".affinity")
	add("anti-affinity", "correct "+template+".affinity")
	if len(actions) == 0 {
		return "add capacity, or change the requests and constraints of " + template
	}
	return strings.Join(actions, "; ")
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
		action = "raise " + sidecarResources + ".limits.memory, or lower spec.limits"
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
			listens = c.status.Ready
			own = c
		case running && !c.status.Ready && unready == nil:
			unready = c
		}
		if c.field == template+".containers[0]" {
			main = c
		}
	}
	model := in.Observed.Agent.Spec.Model
	isOutside := model != nil && model.URL != ""
	switch {
	case listens && unready != nil && isOutside:
		return notReady(in, *unready), true
	case own != nil && !listens && isOutside:
		return modelServerUnreachable(in, *own, model.URL), true
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
	message := fmt.Sprintf("The sidecar cannot reach the model server at %q (spec.model.url)", url)
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
