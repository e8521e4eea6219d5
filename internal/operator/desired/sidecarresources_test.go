// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestSidecarResources merges the resources of an Agent with those of the installation. A contradiction
// between the two would make the API server refuse every pod.
func TestSidecarResources(t *testing.T) {
	const installed = "{requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}"
	for name, test := range map[string]struct{ installed, agent, want string }{
		"those of the installation": {installed, "{}", installed},
		"none":                      {"{}", "{}", "{}"},
		"one by one":                {installed, "{resources: {requests: {memory: 64Mi}, limits: {cpu: 1}}}", "{requests: {cpu: 10m, memory: 64Mi}, limits: {cpu: 1, memory: 256Mi}}"},
		"no limit":                  {installed, `{resources: {limits: {memory: "0"}}}`, "{requests: {cpu: 10m, memory: 32Mi}}"},
		"no request":                {installed, `{resources: {requests: {memory: "0", cpu: 0}}}`, "{limits: {memory: 256Mi}}"},
		"a request above the installation's limit": {installed, "{resources: {requests: {memory: 512Mi}}}", "{requests: {cpu: 10m, memory: 512Mi}, limits: {memory: 512Mi}}"},
		"a limit below the installation's request": {
			"{requests: {cpu: 500m, memory: 128Mi}}", "{resources: {limits: {cpu: 100m, memory: 64Mi}}}",
			"{requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 100m, memory: 64Mi}}",
		},
		"local storage": {installed, "{resources: {limits: {ephemeral-storage: 100Mi}}}", "{requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi, ephemeral-storage: 100Mi}}"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := readCase(t, "testdata/minimal/input.yaml").Agent
			platform := testPlatform
			var want corev1.ResourceRequirements
			platform.SidecarResources = corev1.ResourceRequirements{}
			parse(t, test.installed, &platform.SidecarResources)
			parse(t, test.agent, &agent.Spec.Workload.Sidecar)
			parse(t, test.want, &want)
			before := platform.SidecarResources.DeepCopy()
			if diff := cmp.Diff(want, sidecar(agent, platform).Resources); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(*before, platform.SidecarResources); diff != "" {
				t.Errorf("the settings of the installation changed:\n%s", diff)
			}
		})
	}
}

// parse parses a value in YAML.
func parse(t *testing.T, text string, to any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), to); err != nil {
		t.Fatal(err)
	}
}

// TestSidecarUser checks that the sidecar has a user of its own only if the installation names one, or if the
// pod would run it as root.
func TestSidecarUser(t *testing.T) {
	for name, test := range map[string]struct {
		pod       string
		installed int64
		want      *int64
	}{
		"none":                                {"{}", 0, nil},
		"the user of the pod":                 {"{runAsUser: 1000700000, runAsGroup: 0}", 0, nil},
		"a pod that runs as root":             {"{runAsUser: 0, runAsNonRoot: false}", 0, new(int64(imageUser))},
		"that of the installation":            {"{}", 1000700000, new(int64(1000700000))},
		"that of the installation, with root": {"{runAsUser: 0}", 1000700000, new(int64(1000700000))},
	} {
		agent := readCase(t, "testdata/minimal/input.yaml").Agent
		agent.Spec.Workload.Template.Spec.SecurityContext = &corev1.PodSecurityContext{}
		parse(t, test.pod, agent.Spec.Workload.Template.Spec.SecurityContext)
		platform := testPlatform
		platform.SidecarUser = test.installed
		own := sidecar(agent, platform).SecurityContext
		if diff := cmp.Diff(test.want, own.RunAsUser); diff != "" || own.RunAsGroup != nil || !*own.RunAsNonRoot {
			t.Errorf("%s: security context %+v (user -want +got):\n%s", name, own, diff)
		}
	}
	for _, name := range []string{"minimal", "chat-url", "everything"} {
		result, err := Agent(readCase(t, "testdata/"+name+"/input.yaml"), testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(result.Objects.Deployment.Spec.Template.Spec.InitContainers, result.Objects.Deployment.Spec.Template.Spec.Containers...) {
			if *c.Name == a2av1alpha1.ContainerSidecar && c.SecurityContext.RunAsUser != nil {
				t.Errorf("%s: the sidecar has user %d", name, *c.SecurityContext.RunAsUser)
			}
		}
	}
}
