// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdwatch

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestHasChanged checks that an update that changes only the resource version starts no
// reconcile.
func TestHasChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*gatewayv1.Gateway)
		want   bool
	}{
		"no change": {func(*gatewayv1.Gateway) {}, false},
		"label":     {func(g *gatewayv1.Gateway) { g.Labels = map[string]string{"a": "b"} }, true},
		"address": {func(g *gatewayv1.Gateway) {
			g.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: "10.0.0.1"}}
		}, true},
		"condition": {func(g *gatewayv1.Gateway) {
			g.Status.Conditions = []metav1.Condition{{Type: "Programmed", Status: metav1.ConditionTrue}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "public", ResourceVersion: "7"}}
			after := before.DeepCopy()
			after.ResourceVersion = "8"
			test.change(after)
			if got := hasChanged(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
				t.Errorf("hasChanged() = %t, want %t", got, test.want)
			}
			if before.ResourceVersion != "7" {
				t.Error("the cached object was modified")
			}
		})
	}
}
