// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// relaxedCase is the golden case whose template violates the restricted level.
const relaxedCase = "relaxed-security"

var _ = It("T-PSA: a namespace that enforces the restricted level admits the pods", func(ctx context.Context) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "restricted-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(cluster.Create(ctx, namespace)).To(Succeed())
	cases, err := filepath.Glob("desired/testdata/*/want.yaml")
	Expect(err).NotTo(HaveOccurred())
	admitted := 0
	for _, path := range cases {
		name := filepath.Base(filepath.Dir(path))
		template := goldenPod(path)
		if template == nil {
			continue // a rejected Agent has no pod
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, GenerateName: "agent-", Labels: template.Labels},
			Spec:       template.Spec,
		}
		err := cluster.Create(ctx, pod, client.DryRunAll)
		if name == relaxedCase {
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error = %v", err)
			Expect(err).To(MatchError(ContainSubstring(`violates PodSecurity "restricted:latest"`)))
			continue
		}
		Expect(err).NotTo(HaveOccurred(), name)
		admitted++
	}
	Expect(admitted).To(BeNumerically(">=", 15))
})

// goldenPod returns the pod of the Deployment in a golden file, nil if there is none.
func goldenPod(path string) *corev1.PodTemplateSpec {
	GinkgoHelper()
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		if !strings.Contains(document, "\nkind: Deployment\n") {
			continue
		}
		deployment := &appsv1.Deployment{}
		Expect(yaml.UnmarshalStrict([]byte(document), deployment)).To(Succeed(), path)
		return &deployment.Spec.Template
	}
	return nil
}
