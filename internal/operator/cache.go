// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cacheinterning"
)

// cacheOptions keep the memory of the cache in proportion to the number of
// Agents. The kinds that Agents own are watched whole, because an object of
// somebody else's under an Agent's name must be seen; what is kept of it is
// who it is.
func cacheOptions(settings Config) (cache.Options, error) {
	ofAgents, err := labels.NewRequirement(a2av1alpha1.LabelAgent, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	one := newSharing()
	foreign := cache.ByObject{Transform: one.after(stripForeign)}
	return cache.Options{
		NewInformer:       newInformer,
		DefaultTransform:  one.after(cache.TransformStripManagedFields()),
		DefaultNamespaces: watchedNamespaces(settings),
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:                     foreign,
			&corev1.Service{}:                        foreign,
			&corev1.ServiceAccount{}:                 foreign,
			&corev1.ConfigMap{}:                      foreign,
			&networkingv1.NetworkPolicy{}:            foreign,
			&autoscalingv2.HorizontalPodAutoscaler{}: foreign,
			&policyv1.PodDisruptionBudget{}:          foreign,
			&corev1.Namespace{}:                      {Transform: one.after(stripNamespace)},
			&corev1.Pod{}: {
				Label:     labels.NewSelector().Add(*ofAgents),
				Transform: one.after(stripPod),
			},
		},
	}, nil
}

// knownParts is how many parts of objects are known that others may have, too:
// of each kind of Agent that is unlike the others there are some dozens.
const knownParts = 4 << 10

// knownFamilies is twice the number of Agents of which it is known what all
// their objects have, of some eight thousand those that come last.
const knownFamilies = 16 << 10

// sharing makes equal parts of objects one.
type sharing struct{ parts, families *cacheinterning.Pool }

func newSharing() sharing {
	return sharing{parts: cacheinterning.New(knownParts), families: cacheinterning.New(knownFamilies)}
}

// after is a transform and shares what it keeps. An informer that fills its
// cache transforms each object twice. The second time nobody has written it any
// more, and what it has in common with others may not be touched: others read it.
func (s sharing) after(strip toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(client.Object)
		fresh := ok && len(object.GetManagedFields()) > 0
		kept, err := strip(obj)
		if object, ok := kept.(client.Object); ok && err == nil && fresh && len(object.GetManagedFields()) == 0 {
			s.share(object)
		}
		return kept, err
	}
}

// share has what is the same for many Agents apart from what is the same for
// the objects of one, which come when those of many others have come, too.
func (s sharing) share(object client.Object) {
	if !ofAgent(object) {
		s.parts.Share(object)
		return
	}
	family := &struct {
		Labels map[string]string
		Owners []metav1.OwnerReference
	}{object.GetLabels(), object.GetOwnerReferences()}
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	s.parts.Share(object)
	s.families.Share(family)
	object.SetLabels(family.Labels)
	object.SetOwnerReferences(family.Owners)
}

// watchedNamespaces is nil for all.
func watchedNamespaces(settings Config) map[string]cache.Config {
	var watched map[string]cache.Config
	for _, namespace := range settings.WatchNamespaces {
		if watched == nil {
			watched = map[string]cache.Config{}
		}
		watched[namespace] = cache.Config{}
	}
	return watched
}

// stripForeign keeps of an object that no Agent controls its name and its
// owners, and of one that the operator has made that it has.
func stripForeign(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	if ofAgent(object) {
		object.SetManagedFields(nil)
		return object, nil
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &appsv1.Deployment{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *corev1.Service:
		return &corev1.Service{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *corev1.ServiceAccount:
		return &corev1.ServiceAccount{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *networkingv1.NetworkPolicy:
		return &networkingv1.NetworkPolicy{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *autoscalingv2.HorizontalPodAutoscaler:
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *policyv1.PodDisruptionBudget:
		return &policyv1.PodDisruptionBudget{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *gatewayv1.HTTPRoute:
		return &gatewayv1.HTTPRoute{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	case *gatewayv1.GRPCRoute:
		return &gatewayv1.GRPCRoute{ObjectMeta: foreignIdentity(o.ObjectMeta)}, nil
	default:
		return obj, nil
	}
}

func ofAgent(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String()
}

func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:       m.Namespace,
		Name:            m.Name,
		UID:             m.UID,
		ResourceVersion: m.ResourceVersion,
		OwnerReferences: m.OwnerReferences,
	}
}

// foreignIdentity is identity, and for what the operator has made, for an Agent
// of which name.
func foreignIdentity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	agent, labelled := m.Labels[a2av1alpha1.LabelAgent]
	if !labelled {
		return kept
	}
	for _, e := range m.ManagedFields {
		if e.Manager == a2av1alpha1.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply {
			kept.Labels = map[string]string{a2av1alpha1.LabelAgent: agent}
			kept.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: e.Operation}}
			kept.DeletionTimestamp = m.DeletionTimestamp
		}
	}
	return kept
}

// stripPod keeps of a pod what tells whether it takes calls, and why not.
func stripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: identity(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			InitContainers: namedImages(pod.Spec.InitContainers),
			Containers:     namedImages(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			Conditions:            pod.Status.Conditions,
			InitContainerStatuses: pod.Status.InitContainerStatuses,
			ContainerStatuses:     pod.Status.ContainerStatuses,
		},
	}
	kept.Labels = pod.Labels
	kept.Annotations = pod.Annotations
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	return kept, nil
}

// stripNamespace keeps of the metadata of a namespace, which is all that is
// watched of it, what skills and Gateways are shared by.
func stripNamespace(obj any) (any, error) {
	namespace, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: namespace.TypeMeta, ObjectMeta: identity(namespace.ObjectMeta)}
	kept.Labels = namespace.Labels
	return kept, nil
}

func namedImages(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image})
	}
	return kept
}
