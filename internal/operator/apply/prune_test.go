// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/a2a-operator/a2a-operator/internal/operator/state"
)

func TestPrune(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.ConfigMap)
		want   []string
	}{
		"deletes an object of the owner, with its UID as precondition": {
			change: func(*corev1.ConfigMap) {}, want: []string{"delete cm cm-uid"},
		},
		"leaves an object without an owner":                    {change: func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }},
		"leaves an object of a deleted owner of the same name": {change: func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].UID = "former" }},
		"leaves an object that is being deleted": {
			change: func(cm *corev1.ConfigMap) { cm.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			current := applied(t).DeepCopy()
			test.change(current)
			w := &writer{}
			var result state.Written
			if err := newApplier(w).Prune(t.Context(), owner, current, &result); err != nil {
				t.Fatalf("Prune() error = %v", err)
			}
			if diff := cmp.Diff(state.Written{}, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, w.kinds); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "cm")
	if err := newApplier(&writer{err: gone}).Prune(t.Context(), owner, applied(t), &state.Written{}); err != nil {
		t.Errorf("Prune() error = %v, want none for a deleted object", err)
	}
}

// TestPruneForgetsPendingWrites checks that a deleted object is created again, although
// the cache did not show the first creation.
func TestPruneForgetsPendingWrites(t *testing.T) {
	w := &writer{version: "8"}
	applier := newApplier(w)
	for range 2 {
		if _, err := applier.Set(t.Context(), owner, Of(configMap(), (*corev1.ConfigMap)(nil))); err != nil {
			t.Fatal(err)
		}
		if err := applier.Prune(t.Context(), owner, applied(t), &state.Written{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"ConfigMap cm", "delete cm cm-uid", "ConfigMap cm", "delete cm cm-uid"}, w.kinds); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}
