// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// hookDir is the directory with the program of the preStop hook of kind Exec. The sidecar writes the program, and the agent's container
// reads it.
const hookDir = "/a2a-hook"

// waitForTurns adds a preStop hook to the agent's container, unless the container has
// its own. The hook waits until the running turns have ended.
func waitForTurns(agent *a2av1alpha1.Agent, platform Platform, main *corev1.Container) {
	if hasPreStop(main) {
		return
	}
	if main.Lifecycle == nil {
		main.Lifecycle = &corev1.Lifecycle{}
	}
	if !execsHook(agent, platform) {
		main.Lifecycle.PreStop = &corev1.LifecycleHandler{HTTPGet: healthGet(sidecarconfig.DrainedPath)}
		return
	}
	main.Lifecycle.PreStop = &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: drainCommand(hookDir)}}
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: a2av1alpha1.VolumeHook, MountPath: hookDir, ReadOnly: true})
}

// drainCommand returns the command of a preStop hook, whose program is in a directory.
func drainCommand(dir string) []string { return []string{path.Join(dir, "sidecar"), "drain"} }

// execsHook reports whether the operator's preStop hook of the agent's container is of kind Exec.
func execsHook(agent *a2av1alpha1.Agent, platform Platform) bool {
	containers := agent.Spec.Workload.Template.Spec.Containers
	if len(containers) == 0 || hasPreStop(&containers[0]) {
		return false
	}
	return cmp.Or(agent.Spec.Workload.Sidecar.PreStop, platform.PreStop) == a2av1alpha1.PreStopExec
}

func hasPreStop(c *corev1.Container) bool {
	return c.Lifecycle != nil && c.Lifecycle.PreStop != nil
}

// preStopRemarks returns a remark if the template has its own preStop hook.
func preStopRemarks(agent *a2av1alpha1.Agent) []state.Problem {
	containers := agent.Spec.Workload.Template.Spec.Containers
	if len(containers) == 0 || !hasPreStop(&containers[0]) {
		return nil
	}
	return []state.Problem{state.NewProblem(a2av1alpha1.ConditionProgrammed, a2av1alpha1.ReasonPreStopKept,
		"spec.workload.template.spec.containers[0].lifecycle.preStop replaces the operator's hook: "+
			"turns that run when a pod stops are canceled unless the hook waits for the response of port %d%s; "+
			"remove the hook, or let it wait", sidecarconfig.HealthPort, sidecarconfig.DrainedPath)}
}

// emptyHooks returns a problem for each hook without an action. The API server rejects an
// empty hook in a new Deployment, but accepts an empty hook that replaces another hook:
// server-side apply then removes the empty hook before the validation, and the pods would
// restart without a hook.
func emptyHooks(agent *a2av1alpha1.Agent) []state.Problem {
	pod := &agent.Spec.Workload.Template.Spec
	return append(emptyHooksOf(templateField+".initContainers", pod.InitContainers),
		emptyHooksOf(templateField+".containers", pod.Containers)...)
}

func emptyHooksOf(field string, containers []corev1.Container) []state.Problem {
	var problems []state.Problem
	for i := range containers {
		lifecycle := containers[i].Lifecycle
		if lifecycle == nil {
			continue
		}
		for _, each := range []struct {
			name string
			hook *corev1.LifecycleHandler
		}{{"postStart", lifecycle.PostStart}, {"preStop", lifecycle.PreStop}} {
			if each.hook == nil || *each.hook != (corev1.LifecycleHandler{}) {
				continue
			}
			problems = append(problems, state.NewProblem(a2av1alpha1.ConditionAccepted, a2av1alpha1.ReasonTemplateRejected,
				"%s[%d].lifecycle.%s is empty; set exec, httpGet, tcpSocket or sleep, or remove it",
				field, i, each.name))
		}
	}
	return problems
}

// defaultGracePeriodSeconds lets turns of up to a minute end after a pod begins to stop.
const defaultGracePeriodSeconds = 60

// gracePeriod returns the termination grace period of the pods, at most one day, because
// a longer period may overflow a time.Duration.
func gracePeriod(agent *a2av1alpha1.Agent) time.Duration {
	const most = 24 * 60 * 60
	seconds := ptr.Deref(agent.Spec.Workload.Template.Spec.TerminationGracePeriodSeconds, defaultGracePeriodSeconds)
	return time.Duration(min(seconds, most)) * time.Second
}
