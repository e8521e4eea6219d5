// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// sidecarAlone returns a pod that contains only the sidecar and is not ready.
func sidecarAlone(s corev1.ContainerStatus) corev1.Pod {
	p := pod("echo-1", false, s)
	p.Spec.Containers, p.Spec.InitContainers = p.Spec.InitContainers, nil
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses = []corev1.ContainerStatus{s}, nil
	p.Status.ContainerStatuses[0].Name = a2av1alpha1.ContainerSidecar
	return p
}

// TestAgentOfAModelServer checks that the status of an Agent without a container contains the reason why
// its sidecar is not ready.
func TestAgentOfAModelServer(t *testing.T) {
	keyless := waiting(waitingCrashLoopBackOff, "")
	keyless.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: sidecarconfig.ExitModelKey, Reason: "Error"}
	tests := map[string]struct {
		pod           corev1.Pod
		want, message string
	}{
		"just started": {
			sidecarAlone(runningSince(now.Add(-time.Second))), "AgentStarting", `cannot reach the model server at "http://vllm.models:8000" (spec.model.url) yet`,
		},
		"not reached": {
			sidecarAlone(runningSince(now.Add(-time.Minute))), "ModelServerUnreachable",
			"accepts the API key, and that network policies allow the connection; kubectl logs -n agents echo-1 -c a2a-sidecar shows the cause",
		},
		"no key": {
			sidecarAlone(keyless), "ModelAPIKeyUnusable",
			`into Secret "models" (spec.model.apiKeySecretRef) under "api-key"`,
		},
		"image": {
			sidecarAlone(waiting(waitingImagePullBackOff, "")), "ImagePullFailed", "ask the administrator of the operator to correct its flag --sidecar-image",
		},
		"a container of others is not ready": {
			injected(sidecarAlone(ready(runningSince(now.Add(-time.Hour)))), runningSince(now.Add(-time.Hour))), "ContainerNotReady",
			`"mesh" runs, and its readinessProbe fails; correct the admission webhook`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := healthy(onlyPod(test.pod), func(in *Inputs) {
				workload := in.Observed.Agent.Spec.Workload
				workload.Template = corev1.PodTemplateSpec{}
				in.Observed.Agent.Spec.Model = &a2av1alpha1.AgentModel{
					URL: "http://vllm.models:8000", APIKeySecretRef: &a2av1alpha1.ModelKeyReference{Name: "models"},
				}
			})
			conditions := Agent(in).Status.Conditions
			for _, of := range []string{a2av1alpha1.ConditionAvailable, a2av1alpha1.ConditionReady} {
				if c := meta.FindStatusCondition(conditions, of); c.Status != "False" || c.Reason != test.want || !strings.Contains(c.Message, test.message) {
					t.Errorf("%s = %s %s, %s; want False %s, %s", of, c.Status, c.Reason, c.Message, test.want, test.message)
				}
			}
		})
	}
}
