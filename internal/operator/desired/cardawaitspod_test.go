// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestCardChangesWithTheProgramThatServesIt edits the image and the description of an Agent whose pods serve.
func TestCardChangesWithTheProgramThatServesIt(t *testing.T) {
	in := readCase(t, filepath.Join("testdata", "minimal", "input.yaml"))
	first, err := Agent(in, testPlatform)
	if err != nil || first.Objects == nil {
		t.Fatalf("Agent() = %+v, %v", first, err)
	}
	in.Children.ConfigMap = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Annotations:     first.Objects.ConfigMap.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Agent, a2av1alpha1.GroupVersion.WithKind("Agent"))},
		},
		Data: first.Objects.ConfigMap.Data,
	}
	pod := func(digest string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{a2av1alpha1.AnnotationTemplateDigest: digest}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
	}
	in.Agent = in.Agent.DeepCopy()
	in.Agent.Spec.Description = "A new program"
	in.Agent.Spec.Workload.Template.Spec.Containers[0].Image = "example/echo:2"
	next, err := Agent(in, testPlatform)
	if err != nil {
		t.Fatal(err)
	}
	unready := pod(next.TemplateDigest)
	unready.Status.Conditions[0].Status = corev1.ConditionFalse
	for name, test := range map[string]struct {
		pods      []corev1.Pod
		sameImage bool
		awaits    bool
	}{
		"no pod":                         {nil, false, false},
		"pods of the former program":     {[]corev1.Pod{pod(first.TemplateDigest), unready}, false, true},
		"a pod of each program":          {[]corev1.Pod{pod(first.TemplateDigest), pod(next.TemplateDigest)}, false, false},
		"pods of the new program":        {[]corev1.Pod{pod(next.TemplateDigest)}, false, false},
		"no ready pod":                   {[]corev1.Pod{unready}, false, false},
		"only the description is edited": {[]corev1.Pod{pod(first.TemplateDigest)}, true, false},
	} {
		edited := in
		edited.Pods = test.pods
		if test.sameImage {
			edited.Agent = in.Agent.DeepCopy()
			image := readCase(t, filepath.Join("testdata", "minimal", "input.yaml")).Agent.Spec.Workload.Template.Spec.Containers[0].Image
			edited.Agent.Spec.Workload.Template.Spec.Containers[0].Image = image
		}
		result, err := Agent(edited, testPlatform)
		if err != nil || result.Objects == nil {
			t.Fatalf("%s: Agent() = %+v, %v", name, result, err)
		}
		published := strings.Contains(result.Objects.ConfigMap.Data[sidecarconfig.FileName], "A new program")
		if result.CardAwaitsPod != test.awaits || published == test.awaits || result.CardKept {
			t.Errorf("%s: CardAwaitsPod = %t, the new card is published: %t", name, result.CardAwaitsPod, published)
		}
		if test.awaits && result.Card.CardDigest != first.Card.CardDigest {
			t.Errorf("%s: the card has another digest", name)
		}
	}
}
