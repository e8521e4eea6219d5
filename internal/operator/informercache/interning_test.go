// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// configMapOf returns the ConfigMap of an Agent as the API server sends it.
func configMapOf(agent string) *corev1.ConfigMap {
	owner := metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: agent, Controller: new(true)}
	m := metadata(owner)
	m.Name, m.Labels, m.Annotations = names.ConfigMap(agent), names.Labels(agent), nil
	m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{sidecarconfig.FileName: "same"}}
}

func TestEqualPartsAreStoredOnce(t *testing.T) {
	t.Parallel()
	transform := newInterner().after(StripForeign)
	kept := func(obj *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		for range 2 { // an informer that fills its cache transforms each object twice
			want := obj.DeepCopy()
			want.ManagedFields = nil
			got, err := transform(obj)
			if err != nil {
				t.Fatal(err)
			}
			obj = got.(*corev1.ConfigMap)
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Error(diff)
			}
		}
		return obj
	}
	one := kept(configMapOf("echo"))
	// The parts of many other Agents do not evict the labels and owner references of this
	// Agent.
	for i := range maxParts {
		kept(configMapOf(fmt.Sprint(i)))
	}
	two := kept(configMapOf("echo"))
	if reflect.ValueOf(one.Labels).Pointer() != reflect.ValueOf(two.Labels).Pointer() {
		t.Error("two objects of one Agent have copies of the labels")
	}
	if &one.OwnerReferences[0] != &two.OwnerReferences[0] {
		t.Error("two objects of one Agent have copies of the owner references")
	}
	if reflect.ValueOf(one.Data).Pointer() != reflect.ValueOf(two.Data).Pointer() {
		t.Error("two objects have copies of the data")
	}
}

// TestOrphansAreNotInterned checks that orphans share no parts. The transform recognizes an
// object that it has transformed before by its missing managedFields, and StripForeign keeps
// one entry of managedFields of an orphan.
func TestOrphansAreNotInterned(t *testing.T) {
	t.Parallel()
	orphan := configMapOf("echo")
	orphan.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Name: "other"}}
	orphan.Labels = map[string]string{a2av1alpha1.LabelAgent: "echo"}
	orphan.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	transform := newInterner().after(StripForeign)
	a, errA := transform(orphan.DeepCopy())
	b, errB := transform(orphan.DeepCopy())
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if reflect.ValueOf(a.(*corev1.ConfigMap).Labels).Pointer() == reflect.ValueOf(b.(*corev1.ConfigMap).Labels).Pointer() {
		t.Error("two orphans share labels")
	}
}
