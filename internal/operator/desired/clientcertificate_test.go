// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"slices"
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestClientCertificateOfThePlatform checks that only the sidecar mounts the volume of the driver, and that agents without a gateway have none.
func TestClientCertificateOfThePlatform(t *testing.T) {
	platform := testPlatform
	platform.ClientCertificate = ClientCertificate{
		Driver: "spiffe.csi.cert-manager.io", Attributes: map[string]string{"spiffe.csi.cert-manager.io/fs-group": "65532"}, Hosts: []string{"*.partner.example"},
	}
	podOf := func() *corev1ac.PodSpecApplyConfiguration {
		result, err := Agent(readCase(t, filepath.Join("testdata", "minimal", "input.yaml")), platform)
		if err != nil {
			t.Fatal(err)
		}
		return result.Objects.Deployment.Spec.Template.Spec
	}
	named := func(v corev1ac.VolumeApplyConfiguration) bool { return *v.Name == a2av1alpha1.VolumeClientCertificate }
	mounts := func(c corev1ac.ContainerApplyConfiguration) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1ac.VolumeMountApplyConfiguration) bool {
			return *m.Name == a2av1alpha1.VolumeClientCertificate && *m.ReadOnly
		})
	}
	pod := podOf()
	at := slices.IndexFunc(pod.Volumes, named)
	if at < 0 || pod.Volumes[at].CSI == nil || *pod.Volumes[at].CSI.Driver != platform.ClientCertificate.Driver || !*pod.Volumes[at].CSI.ReadOnly ||
		pod.Volumes[at].CSI.VolumeAttributes["spiffe.csi.cert-manager.io/fs-group"] != "65532" {
		t.Fatalf("volumes: %+v", pod.Volumes)
	}
	if !mounts(pod.InitContainers[0]) || mounts(pod.Containers[0]) {
		t.Error("the sidecar does not mount the certificate, or another container does")
	}
	args := pod.InitContainers[0].Args
	at = slices.Index(args, "--client-certificate")
	want := []string{"--client-certificate", clientCertificateDir, "--client-certificate-host", "*.partner.example"}
	if at < 0 || !slices.Equal(args[at:at+len(want)], want) {
		t.Errorf("args: %q", args)
	}

	platform.RegistryURL = ""
	if slices.ContainsFunc(podOf().Volumes, named) {
		t.Error("an agent without a gateway has a client certificate")
	}
}
