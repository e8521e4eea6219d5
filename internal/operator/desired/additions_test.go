// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestAdditionsOfOthersAreNamed adds elements to the Deployment that the operator applied.
func TestAdditionsOfOthersAreNamed(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	first, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(first.Objects.Deployment)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   string
	}{
		"nothing":   {func(*corev1.PodTemplateSpec) {}, ""},
		"a restart": {func(p *corev1.PodTemplateSpec) { p.Annotations["kubectl.kubernetes.io/restartedAt"] = "now" }, ""},
		"a default": {func(p *corev1.PodTemplateSpec) { p.Spec.DNSPolicy = corev1.DNSClusterFirst }, ""},
		"kubectl set env": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "DEBUG", Value: "1"})
		}, `container "agent" env "DEBUG"`},
		"a container and a volume": {func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "shell", VolumeMounts: []corev1.VolumeMount{{MountPath: "/x"}}})
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "scratch"})
		}, `container "shell", volume "scratch"`},
		"a mount": {func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].VolumeMounts = append(p.Spec.InitContainers[0].VolumeMounts, corev1.VolumeMount{MountPath: "/x"})
		}, `initContainer "a2a-sidecar" volumeMount "/x"`},
	} {
		deployment := &appsv1.Deployment{}
		if err := json.Unmarshal(text, deployment); err != nil {
			t.Fatal(err)
		}
		deployment.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(in.Agent, a2av1alpha1.GroupVersion.WithKind("Agent"))}
		test.change(&deployment.Spec.Template)
		in.Children.Deployment = deployment
		result, err := Agent(in, testPlatform)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, remark := range result.Remarks {
			if remark.Reason == a2av1alpha1.ReasonFieldsAdded {
				got = remark.Message
			}
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, "pod template of the Deployment: "+test.want+";") && test.want != "" {
			t.Errorf("%s: remark %q, want %q", name, got, test.want)
		}
	}
}
