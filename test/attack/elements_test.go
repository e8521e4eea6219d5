// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/a2a-operator/a2a-operator/internal/objects/names"
)

// TestEmptyElements starts the manager while a tenant has objects of the largest size, which consist of empty elements: two bytes of
// protobuf decode to 48. All caches read their objects at the same time.
func TestEmptyElements(t *testing.T) {
	if !full {
		t.Skip("a minute of an API server that decodes the same: ATTACK=full")
	}
	const elements, number = 690_000, 6
	c := startCluster(t)
	bad := newHostile(t, c)
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: make([]corev1.NodeSelectorTerm, elements),
	}}}
	pod := corev1.PodSpec{Affinity: affinity, Containers: []corev1.Container{{Name: "a", Image: "b"}}}
	labels := map[string]string{"a": "b"}
	kinds := map[string]func(metav1.ObjectMeta) client.Object{
		"NetworkPolicies": func(m metav1.ObjectMeta) client.Object {
			return &networkingv1.NetworkPolicy{ObjectMeta: m, Spec: networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, elements)}}
		},
		"Deployments": func(m metav1.ObjectMeta) client.Object {
			return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
			}}
		},
		"Pods": func(m metav1.ObjectMeta) client.Object { return &corev1.Pod{ObjectMeta: m, Spec: pod} },
	}
	for what, object := range kinds {
		bad.create(t.Context(), t, what, number, func(i int) client.Object {
			return object(metav1.ObjectMeta{Namespace: bad.namespace, Name: fmt.Sprintf("large-%d", i), Labels: names.Labels("large")})
		})
		if bad.created[what] != number {
			t.Errorf("created %d %s", bad.created[what], what)
		}
	}
	manager := startManagerWithin(t, c, c.kubeconfig, ManagerLimit/2, "")
	manager.withstands(t, fmt.Sprintf("a start with %d objects of 3 kinds with %d empty elements", number, elements), time.Minute, func(ctx context.Context) string {
		good := newTenant(t, c)
		good.worksDuring(ctx, t, func(context.Context) {})
		return fmt.Sprintf("%v %s; peak %d MiB", bad.created, good, manager.Peak()>>20)
	})
}
