// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

func TestTemplateFields(t *testing.T) {
	agent := &a2av1alpha1.Agent{Spec: a2av1alpha1.AgentSpec{Workload: &a2av1alpha1.AgentWorkload{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent"}}}},
	}}}
	withPort := agent.DeepCopy()
	withPort.Spec.Workload.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "PORT"}}
	for _, test := range []struct {
		agent      *a2av1alpha1.Agent
		said, want string
	}{
		{agent, "[spec.template.spec.containers[0].env[2].name: no, spec.template.spec.containers[0].env[13].name: no]", "[spec.workload.template.spec.containers[0].env[0].name: no, spec.workload.template.spec.containers[0].env[11].name: no]"},
		{withPort, "spec.template.spec.containers[0].env[1].name: no", "spec.workload.template.spec.containers[0].env[0].name: no"},
		{agent, "spec.template.spec.containers[1].env[1].name: no", "spec.workload.template.spec.containers[1].env[1].name: no"},
		{agent, "spec.template.spec.initContainers[1].image: no", "spec.workload.template.spec.initContainers[0].image: no"},
		{agent, "spec.template.spec.initContainers[0].securityContext: no", "the operator's spec.initContainers[0].securityContext: no"},
		{agent, "spec.template.labels: no", "spec.workload.template.metadata.labels: no"},
		{agent, "spec.template.annotations[a]: no", "spec.workload.template.metadata.annotations[a]: no"},
		{agent, "spec.template.spec.volumes[1].name: no", "spec.workload.template.spec.volumes[1].name: no"},
		{agent, "(ns/d; apps/v1, Kind=Deployment): .spec.template.spec.x: no", "(ns/d; apps/v1, Kind=Deployment): .spec.workload.template.spec.x: no"},
		{agent, "spec.workload.template.spec.x is not spec.templates.spec.y", "spec.workload.template.spec.x is not spec.templates.spec.y"},
		{&a2av1alpha1.Agent{}, "spec.template.spec.x: no", "spec.template.spec.x: no"},
	} {
		if got := TemplateFields(test.agent, Platform{RegistryURL: "http://registry"}, test.said); got != test.want {
			t.Errorf("TemplateFields(%q) = %q, want %q", test.said, got, test.want)
		}
	}
	if got := EgressFields("spec.egress[0].to[0]: no"); got != "spec.networkPolicy.egress[0].to[0]: no" {
		t.Errorf("EgressFields() = %q", got)
	}
}
