// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/randfill"
)

// A template must be applied as if it were encoded and decoded again.
func TestApplyTemplate(t *testing.T) {
	for seed := range int64(100) {
		fill := randfill.NewWithSeed(seed).NilChance(0.6).NumElements(1, 2).MaxDepth(12).Funcs(
			func(q *resource.Quantity, c randfill.Continue) {
				*q = *resource.NewQuantity(c.Int63n(9), resource.DecimalSI)
			},
			func(m *metav1.Time, c randfill.Continue) { *m = metav1.Unix(c.Int63n(2), 0).Rfc3339Copy() },
			func(m *metav1.MicroTime, c randfill.Continue) { *m = metav1.NewMicroTime(time.Unix(c.Int63n(9), 0)) },
			func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(int32(c.Int63n(9))) },
			func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString(`{"f:a":{}}`) },
		)
		template := &corev1.PodTemplateSpec{}
		fill.Fill(template)
		if seed == 0 {
			template = &corev1.PodTemplateSpec{}
		}
		want, got := encoded(t, recoded(t, template)), encoded(t, applyConfiguration[corev1ac.PodTemplateSpecApplyConfiguration](template.DeepCopy()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("applyConfiguration() of template %d (-recoded +got):\n%s", seed, diff)
		}
	}
}

func encoded(t *testing.T, config *corev1ac.PodTemplateSpecApplyConfiguration) string {
	t.Helper()
	text, err := json.MarshalIndent(config, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recoded returns the apply configuration that results from encoding and decoding a template.
func recoded(t *testing.T, template *corev1.PodTemplateSpec) *corev1ac.PodTemplateSpecApplyConfiguration {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		t.Fatal(err)
	}
	dropUnwritten(fields)
	config := &corev1ac.PodTemplateSpecApplyConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, config); err != nil {
		t.Fatal(err)
	}
	return config
}

// dropUnwritten removes null members and empty ones of alwaysWritten.
func dropUnwritten(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			dropUnwritten(member)
			object, isObject := member.(map[string]any)
			if member == nil || isObject && len(object) == 0 && slices.Contains(alwaysWritten, key) {
				delete(v, key)
			}
		}
	case []any:
		for _, element := range v {
			dropUnwritten(element)
		}
	}
}
