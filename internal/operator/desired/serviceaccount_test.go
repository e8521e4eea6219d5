// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// TestPodsAreReplacedWithTheirServiceAccount shows that a ServiceAccount that was deleted and created again
// changes the pod template, and that nothing else does: the first ServiceAccount of an Agent, and one that
// is missing for a moment.
func TestPodsAreReplacedWithTheirServiceAccount(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	account := func(uid types.UID, created time.Time) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: uid, CreationTimestamp: metav1.NewTime(created)}}
	}
	marked := func(deployment *appsv1.Deployment, account *corev1.ServiceAccount) string {
		t.Helper()
		in.Children.Deployment = deployment
		in.Account = account
		result, err := Agent(in, testPlatform)
		if err != nil || result.Objects == nil {
			t.Fatalf("Agent() = %+v, %v", result, err)
		}
		return result.Objects.Deployment.Spec.Template.Annotations[a2av1alpha1.AnnotationServiceAccountUID]
	}
	current := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		CreationTimestamp: metav1.NewTime(noon), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
	}}
	replaced := current.DeepCopy()
	replaced.Spec.Template.Annotations = map[string]string{a2av1alpha1.AnnotationServiceAccountUID: "second"}
	for name, test := range map[string]struct {
		deployment *appsv1.Deployment
		account    *corev1.ServiceAccount
		want       string
	}{
		"nothing exists":                  {nil, nil, ""},
		"no Deployment":                   {nil, account("first", noon), ""},
		"made before the Deployment":      {current, account("first", noon.Add(-time.Second)), ""},
		"made in the same second":         {current, account("first", noon), ""},
		"created again":                   {current, account("second", noon.Add(time.Hour)), "second"},
		"created again, and replaced":     {replaced, account("second", noon.Add(time.Hour)), "second"},
		"created a third time":            {replaced, account("third", noon.Add(2*time.Hour)), "third"},
		"missing":                         {current, nil, ""},
		"missing after it was replaced":   {replaced, nil, "second"},
		"a Deployment of a foreign owner": {&appsv1.Deployment{}, account("second", noon), ""},
	} {
		if got := marked(test.deployment, test.account); got != test.want {
			t.Errorf("%s: annotation %q, want %q", name, got, test.want)
		}
	}
}
