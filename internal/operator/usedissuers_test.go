// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

func TestUsedIssuers(t *testing.T) {
	const former, published = "https://former.example", "https://issuer.example"
	configuration := func(namespace, name, content string) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{a2av1alpha1.LabelAgent: name}},
			Data:       map[string]string{sidecarconfig.FileName: content},
		}
	}
	accepts := func(issuers ...string) string {
		text := ""
		for _, issuer := range issuers {
			text += fmt.Sprintf(`{"type":"Kubernetes","kubernetes":{"issuer":%q,"audiences":["a"],"keys":{"keys":[]}}},`, issuer)
		}
		return `{"access":{"authentication":[` + text + `{"type":"Anonymous"},{"type":"Kubernetes"}]}}`
	}
	hostile := []string{"https://0.example", "https://1.example"}
	everywhere := []string{"", "not a URL", "http://plain.example", "https://" + strings.Repeat("a", maxIssuerLength)}
	reader := fake.NewClientBuilder().WithObjects(
		configuration("a", "one", accepts(append(everywhere, published, former, sidecarconfig.TokenIssuer)...)),
		configuration("b", "one", accepts(append(everywhere, published, former, sidecarconfig.TokenIssuer)...)),
		configuration("c", "one", accepts(append(everywhere, published, former)...)),
		configuration("d", "one", `{"access":{"authentication":[{"type":"Anonymous"}]}}`),
		configuration("e", "one", `{"access":{"authentication":[{"type":"Anonymous"}]}}`),
		configuration("tenant", "one", accepts(hostile...)),
		configuration("tenant", "two", accepts(hostile...)),
		configuration("other-of-tenant", "three", accepts(append(everywhere, hostile...)...)),
		configuration("tenant", "torn", "{"),
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "c", Name: "of-nobody"}, Data: map[string]string{sidecarconfig.FileName: accepts("https://nobody.example")},
		},
	).Build()
	securitypage.Attempts(t, "T-FORMER", len(hostile)+len(everywhere)+1)
	want := []string{former, published}
	if got := usedIssuers(t.Context(), reader); !slices.Equal(got, want) {
		t.Errorf("issuers = %s, want %s: those of more than half of the namespaces with an issuer that are URLs", got, want)
	}
}
