// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// Equal reports whether two statuses are equal. It compares the conditions, the largest part
// of a status, without reflection, which took a seventh of a reconcile in sync.
func Equal(a, b a2av1alpha1.AgentStatus) bool {
	if !slices.EqualFunc(a.Conditions, b.Conditions, equalConditions) {
		return false
	}
	a.Conditions, b.Conditions = nil, nil
	return equality.Semantic.DeepEqual(a, b)
}

func equalConditions(a, b metav1.Condition) bool {
	since := a.LastTransitionTime.Equal(&b.LastTransitionTime)
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return since && a == b
}
