// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// kubelet plays everybody else in the cluster: the Deployment controller, the
// node and the garbage collector. It looks around whenever something changes,
// and its own mistakes are put right the next time.
type kubelet struct {
	namespace string
}

func (k *kubelet) run(ctx context.Context) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		changed := seen.next(k.namespace)
		k.deployments(ctx)
		k.collect(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-ticker.C:
		}
	}
}

func (k *kubelet) deployments(ctx context.Context) {
	list := &appsv1.DeploymentList{}
	if seen.cache.List(ctx, list, client.InNamespace(k.namespace)) != nil {
		return
	}
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, nodes)
	for i := range list.Items {
		slots <- struct{}{}
		all.Go(func() {
			k.deployment(ctx, &list.Items[i])
			<-slots
		})
	}
}

// nodes are how many Deployments are seen to at the same time.
const nodes = 16

// deployment runs the pods of one template, and no others.
func (k *kubelet) deployment(ctx context.Context, d *appsv1.Deployment) {
	text, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return
	}
	h := fnv.New32a()
	_, _ = h.Write(text)
	wanted := map[string]bool{}
	for i := range *d.Spec.Replicas {
		wanted[fmt.Sprintf("%s-%x-%d", d.Name, h.Sum32(), i)] = true
	}
	pods := &corev1.PodList{}
	if seen.cache.List(ctx, pods, client.InNamespace(k.namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)) != nil {
		return
	}
	ready := int32(0)
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case !wanted[pod.Name]:
			_ = cluster.Delete(ctx, pod, client.GracePeriodSeconds(0))
		case pod.Status.Phase == corev1.PodRunning:
			ready++
			delete(wanted, pod.Name)
		default:
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_ = cluster.Status().Update(ctx, pod)
			delete(wanted, pod.Name)
		}
	}
	for name := range wanted {
		pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		pod.Namespace, pod.Name = k.namespace, name
		pod.Spec.ServiceAccountName = ""
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		_ = cluster.Create(ctx, pod)
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: ready, UpdatedReplicas: ready, ReadyReplicas: ready, AvailableReplicas: ready,
	}
	if fmt.Sprint(status) != fmt.Sprint(d.Status) {
		d.Status = status
		_ = cluster.Status().Update(ctx, d)
	}
}

// collect deletes what has lost its owner.
func (k *kubelet) collect(ctx context.Context) {
	for _, kind := range owned() {
		list := listOf(kind)
		if seen.cache.List(ctx, list, client.InNamespace(k.namespace)) != nil {
			return
		}
		for _, object := range objects(list) {
			owner := metav1.GetControllerOf(object)
			if owner == nil || k.exists(ctx, owner) {
				continue
			}
			uid := object.GetUID()
			_ = cluster.Delete(ctx, object, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})
		}
	}
}

func (k *kubelet) exists(ctx context.Context, owner *metav1.OwnerReference) bool {
	var object client.Object
	switch owner.Kind {
	case a2av1alpha1.AgentKind:
		object = &a2av1alpha1.Agent{}
	case "Deployment":
		object = &appsv1.Deployment{}
	default:
		return true
	}
	key := types.NamespacedName{Namespace: k.namespace, Name: owner.Name}
	if seen.cache.Get(ctx, key, object) == nil && object.GetUID() == owner.UID {
		return true
	}
	// Nothing is deleted because one watch is behind another.
	err := cluster.Get(ctx, key, object)
	return err != nil && !apierrors.IsNotFound(err) || err == nil && object.GetUID() == owner.UID
}
