// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// StripForeign is a transform for the kinds that Agents own. From the object that the operator
// writes for an Agent, it removes the managed fields and, if it is a ConfigMap, the data that the
// operator does not read. Of any other object, it keeps only the identity. This includes objects
// that an Agent controls and that have another name than the operator gives: everyone who may
// create ConfigMaps may create any number of them.
func StripForeign(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	if hasNameForAgent(object) {
		object.SetManagedFields(nil)
		if configMap, ok := obj.(*corev1.ConfigMap); ok {
			stripData(configMap)
		}
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

// StripGateway is a transform for Gateways. It removes the labels, the annotations and the numbers
// of attached routes. These numbers change with each Agent that is created or deleted, and each
// change would reconcile all other Agents of the Gateway.
func StripGateway(obj any) (any, error) {
	if gateway, ok := obj.(*gatewayv1.Gateway); ok {
		gateway.SetManagedFields(nil)
		gateway.Labels, gateway.Annotations = nil, nil
		for i := range gateway.Status.Listeners {
			gateway.Status.Listeners[i].AttachedRoutes = 0
		}
	}
	return obj, nil
}

// stripPod is a transform for pods. It keeps the fields that show whether a pod serves, and
// why not.
func stripPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: identity(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			InitContainers: namesAndImages(pod.Spec.InitContainers),
			Containers:     namesAndImages(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			Conditions:            pod.Status.Conditions,
			InitContainerStatuses: pod.Status.InitContainerStatuses,
			ContainerStatuses:     pod.Status.ContainerStatuses,
		},
	}
	kept.Labels = only(pod.Labels, a2av1alpha1.LabelAgent)
	kept.Annotations = only(pod.Annotations, a2av1alpha1.AnnotationConfigDigest, a2av1alpha1.AnnotationCardSignatures)
	kept.CreationTimestamp = pod.CreationTimestamp
	kept.DeletionTimestamp = pod.DeletionTimestamp
	return kept, nil
}

// only returns the entries of a map with the keys, or nil if there are none.
func only(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, found := all[key]; found {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// stripNamespace is a transform for the metadata of Namespaces. It keeps the labels, because
// AgentSkills and Gateways select namespaces by label.
func stripNamespace(obj any) (any, error) {
	namespace, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: namespace.TypeMeta, ObjectMeta: identity(namespace.ObjectMeta)}
	kept.Labels = namespace.Labels
	return kept, nil
}

// stripData removes the data that the operator does not read.
func stripData(configMap *corev1.ConfigMap) {
	maps.DeleteFunc(configMap.Data, func(key, _ string) bool {
		return key != sidecarconfig.FileName && key != sidecarconfig.CardFileName
	})
	configMap.BinaryData = nil
}

// hasNameForAgent reports whether an Agent controls an object and the object has the name that
// the operator gives to this Agent's object.
func hasNameForAgent(object client.Object) bool {
	if !controlledByAgent(object) {
		return false
	}
	agent := metav1.GetControllerOfNoCopy(object).Name
	if _, ok := object.(*corev1.ConfigMap); ok {
		return object.GetName() == names.ConfigMap(agent)
	}
	return object.GetName() == agent // the name of every other kind, see package names
}

func controlledByAgent(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String()
}

// identity returns the metadata that identifies an object and its controller.
func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if controller := metav1.GetControllerOfNoCopy(&m); controller != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return kept
}

// foreignIdentity returns the identity of an object that no Agent controls. If the operator
// wrote the object, the identity also contains the data that an adoption of the orphan needs:
// the Agent's name, the field manager and the deletion timestamp.
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

func namesAndImages(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image})
	}
	return kept
}
