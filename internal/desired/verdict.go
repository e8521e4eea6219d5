// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// parentVerdict is the status of a route at a Gateway.
type parentVerdict struct {
	accepted bool
	// refusal is the reason why the route is not accepted. It is empty while there is no
	// status.
	refusal string
}

// verdictOf returns the status of a route at one of its parents. If several controllers
// report a status, the route is accepted if one of them accepts it. The status of an
// earlier generation of the route is ignored.
func verdictOf(parents []gatewayv1.RouteParentStatus, generation int64, namespace string, ref a2av1alpha1.GatewayRef) parentVerdict {
	var verdict parentVerdict
	for i := range parents {
		if !sameParent(parents[i].ParentRef, namespace, ref) {
			continue
		}
		conditions := current(parents[i].Conditions, generation)
		refused := firstFalse(conditions, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs))
		switch {
		case refused != nil:
			verdict.refusal = refused.Reason + ": " + refused.Message
		case meta.IsStatusConditionTrue(conditions, string(gatewayv1.RouteConditionAccepted)):
			return parentVerdict{accepted: true}
		}
	}
	return verdict
}

// current returns the conditions of a generation. It also returns conditions without a
// generation.
func current(conditions []metav1.Condition, generation int64) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool {
		return c.ObservedGeneration > 0 && c.ObservedGeneration < generation
	})
}

func firstFalse(conditions []metav1.Condition, types ...string) *metav1.Condition {
	for _, t := range types {
		if c := meta.FindStatusCondition(conditions, t); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

func sameParent(status gatewayv1.ParentReference, namespace string, ref a2av1alpha1.GatewayRef) bool {
	statusNamespace, section := namespace, ""
	if status.Namespace != nil {
		statusNamespace = string(*status.Namespace)
	}
	if status.SectionName != nil {
		section = string(*status.SectionName)
	}
	return string(status.Name) == ref.Name && section == ref.SectionName && statusNamespace == cmp.Or(ref.Namespace, namespace)
}
