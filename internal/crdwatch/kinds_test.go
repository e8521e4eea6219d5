// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestOnlyWhatIsKeptStartsAReconcile(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*gatewayv1.Gateway)
		want   bool
	}{
		"nothing":       {func(*gatewayv1.Gateway) {}, false},
		"another label": {func(g *gatewayv1.Gateway) { g.Labels = map[string]string{"a": "b"} }, true},
		"an address": {func(g *gatewayv1.Gateway) {
			g.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "10.0.0.1"}}
		}, true},
		"a condition": {func(g *gatewayv1.Gateway) {
			g.Status.Conditions = []metav1.Condition{{Type: "Programmed", Status: metav1.ConditionTrue}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "public", ResourceVersion: "7"}}
			after := before.DeepCopy()
			after.ResourceVersion = "8"
			test.change(after)
			if got := isKept(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("isKept() = %t, want %t", got, test.want)
			}
			if before.ResourceVersion != "7" {
				t.Error("the cache's own object was changed")
			}
		})
	}
}
