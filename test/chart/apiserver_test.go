// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/test/controlplane"
)

// TestAPIServerAcceptsTheObjects renders the chart for the version of an API server, so that Helm checks kubeVersion.
// It then applies the objects to this API server as dry runs. make test-skew runs it.
func TestAPIServerAcceptsTheObjects(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("SKIPPED: make test-skew sets KUBEBUILDER_ASSETS")
	}
	environment := controlplane.New()
	gateways, err := controlplane.GatewayAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	environment.CRDDirectoryPaths = append(environment.CRDDirectoryPaths, gateways...)
	config, err := environment.Start()
	t.Cleanup(func() { _ = environment.Stop() })
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	version, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{
		"defaults": "",
		"more":     "replicas: 2\nmonitoring: {dashboards: {enabled: true}}\n",
	} {
		out, err := helm(t, values, "--kube-version", version.GitVersion)
		if err != nil {
			t.Fatal(err)
		}
		for key, object := range objects(t, out) {
			err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("helm"), client.ForceOwnership, client.DryRunAll)
			if err != nil {
				t.Errorf("%s: Kubernetes %s rejects %s: %v", name, version.GitVersion, key, err)
			}
		}
	}
}
