// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
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

// kubelet acts as the Deployment controller, the node and the garbage collector. It runs after
// every change, and its errors are retried then. It lists cached objects and modifies copies only:
// copying a thousand Agents would take most of the test's time.
type kubelet struct {
	namespace string
	// templates holds the digests of the known templates.
	templates sync.Map
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
	list, pods := &appsv1.DeploymentList{}, &corev1.PodList{}
	if seen.cache.List(ctx, list, client.InNamespace(k.namespace), client.UnsafeDisableDeepCopy) != nil ||
		seen.cache.List(ctx, pods, client.InNamespace(k.namespace), client.UnsafeDisableDeepCopy) != nil {
		return
	}
	of := map[string][]*corev1.Pod{}
	for i := range pods.Items {
		agent := pods.Items[i].Labels[a2av1alpha1.LabelAgent]
		of[agent] = append(of[agent], &pods.Items[i])
	}
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, nodes)
	for i := range list.Items {
		d := &list.Items[i]
		slots <- struct{}{}
		all.Go(func() {
			k.deployment(ctx, d, of[d.Spec.Selector.MatchLabels[a2av1alpha1.LabelAgent]])
			<-slots
		})
	}
}

// nodes is the number of Deployments that are processed at the same time.
const nodes = 16

// deployment creates the pods of one template and deletes all others.
func (k *kubelet) deployment(ctx context.Context, d *appsv1.Deployment, pods []*corev1.Pod) {
	digest := k.digest(d)
	wanted := map[string]bool{}
	for i := range *d.Spec.Replicas {
		wanted[fmt.Sprintf("%s-%x-%d", d.Name, digest, i)] = true
	}
	ready := int32(0)
	for _, pod := range pods {
		switch {
		case !wanted[pod.Name]:
			_ = cluster.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0))
		case pod.Status.Phase == corev1.PodRunning:
			ready++
			delete(wanted, pod.Name)
		default:
			started := pod.DeepCopy()
			started.Status.Phase = corev1.PodRunning
			started.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			_ = cluster.Status().Update(ctx, started)
			delete(wanted, pod.Name)
		}
	}
	for name := range wanted {
		template := d.Spec.Template.DeepCopy()
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace, pod.Name = k.namespace, name
		pod.Spec.ServiceAccountName = ""
		// No ReplicaSet exists; its name shows that the Deployment made the pod.
		owner := *metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		owner.Name = fmt.Sprintf("%s-%x", d.Name, digest)
		pod.OwnerReferences = []metav1.OwnerReference{owner}
		_ = cluster.Create(ctx, pod)
	}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: ready, UpdatedReplicas: ready, ReadyReplicas: ready, AvailableReplicas: ready,
	}
	if fmt.Sprint(status) != fmt.Sprint(d.Status) {
		d = d.DeepCopy()
		d.Status = status
		_ = cluster.Status().Update(ctx, d)
	}
}

// digest returns the digest of a Deployment's template. It omits the UID of the ServiceAccount, which differs between
// equivalent runs, so that the names of pods do not differ.
func (k *kubelet) digest(d *appsv1.Deployment) uint32 {
	key := fmt.Sprint(d.UID, d.Generation)
	if digest, ok := k.templates.Load(key); ok {
		return digest.(uint32)
	}
	h := fnv.New32a()
	template := d.Spec.Template.DeepCopy()
	delete(template.Annotations, a2av1alpha1.AnnotationServiceAccountUID)
	if err := json.NewEncoder(h).Encode(template); err != nil {
		panic(err)
	}
	k.templates.Store(key, h.Sum32())
	return h.Sum32()
}

// collect deletes objects whose owner is gone.
func (k *kubelet) collect(ctx context.Context) {
	for _, kind := range owned() {
		list := listOf(kind)
		if seen.cache.List(ctx, list, client.InNamespace(k.namespace), client.UnsafeDisableDeepCopy) != nil {
			return
		}
		for _, object := range objects(list) {
			owner := metav1.GetControllerOf(object)
			if owner == nil || k.exists(ctx, owner) {
				continue
			}
			uid := object.GetUID()
			_ = cluster.Delete(ctx, object.DeepCopyObject().(client.Object), client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})
		}
	}
}

// exists reports whether an owner exists. A ReplicaSet stands for its Deployment, whose UID it has (deployment).
func (k *kubelet) exists(ctx context.Context, reference *metav1.OwnerReference) bool {
	var object client.Object
	owner := *reference
	switch owner.Kind {
	case a2av1alpha1.AgentKind:
		object = &a2av1alpha1.Agent{}
	case "ReplicaSet":
		object = &appsv1.Deployment{}
		owner.Kind = "Deployment"
		owner.Name = owner.Name[:strings.LastIndex(owner.Name, "-")]
	default:
		return true
	}
	key := types.NamespacedName{Namespace: k.namespace, Name: owner.Name}
	if seen.cache.Get(ctx, key, object, client.UnsafeDisableDeepCopy) == nil && object.GetUID() == owner.UID {
		return true
	}
	// Read the owner live: the cache of its kind may be older than the cache of the object.
	now := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: owner.APIVersion, Kind: owner.Kind}}
	err := cluster.Get(ctx, key, now)
	return err != nil && !apierrors.IsNotFound(err) || err == nil && now.UID == owner.UID
}
