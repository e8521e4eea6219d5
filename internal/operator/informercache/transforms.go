// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	// maxOwned bounds the memory of an object that the operator wrote for an Agent, in bytes, except
	// for ConfigMaps. The objects of an Agent without large texts are smaller. A larger object loses its
	// spec in the cache, which marks it (state.MarkTooLarge), and the operator applies it again where it
	// would otherwise compare it.
	maxOwned = 32 << 10
	// maxPod bounds the memory of a pod without the signatures of its card, in bytes. A larger pod
	// loses the states of its containers in the cache.
	maxPod = 32 << 10
	// maxGateway bounds the memory of a Gateway, in bytes. A larger Gateway has no listeners and
	// no addresses in the cache.
	maxGateway = 64 << 10
	// maxLabels bounds the memory of the labels of a Namespace or an AgentSkill, in bytes.
	maxLabels = 16 << 10
	// maxName is the length of the longest name that a transform keeps, in bytes. Names of
	// objects that exist are not longer, but the API server accepts longer ones in references.
	maxName = 253
	// maxAnnotation is the length of the longest digest in an annotation, and of the longest label of the
	// operator, in bytes.
	maxAnnotation = 128
	// maxMessage is the length of the longest message in a status, in bytes. A condition of an Agent,
	// to which messages are copied, has room for 1024 bytes.
	maxMessage = 1024
	// maxSpecDigest is the length of the longest digest of a spec in a status, in bytes (the CRDs).
	maxSpecDigest = 16 << 10
	// maxStatusItems bounds the lists in a status: conditions, containers, and parents of a route.
	maxStatusItems = 32
)

// StripForeign is a transform for the kinds that Agents own. From an object that the operator
// writes for an Agent, it keeps the fields that the operator reads. From any other object, it keeps
// only the identity. Such other objects are also the objects that an Agent controls and that have
// another name than the operator gives, and the objects that the operator did not write: everyone
// who may create objects may create any number of them.
//
// Everyone may also forge the managed fields by which StripForeign recognizes a write of the
// operator. The size of what it keeps is therefore bounded, whatever the object holds: by maxOwned,
// and for a ConfigMap by sidecarconfig.MaxSize.
//
// From an object that is being deleted, it keeps the identity and the deletion timestamp (see
// LacksData), and from a Deployment also the number of its pods.
func StripForeign(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	if !maybeByOperator(object) {
		kept := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		*metadataOf(kept) = foreignIdentity(*metadataOf(object))
		if account, is := kept.(*corev1.ServiceAccount); is {
			// The pods of an Agent may use a ServiceAccount of another owner.
			account.CreationTimestamp = object.GetCreationTimestamp()
		}
		return kept, nil
	}
	if object.GetDeletionTimestamp() != nil {
		kept := withoutSpec(object)
		*metadataOf(kept) = identity(*metadataOf(object))
		metadataOf(kept).DeletionTimestamp = object.GetDeletionTimestamp()
		return kept, nil
	}
	kept := owned(object)
	size := sizeOf(kept)
	if size > maxOwned && !isConfigMap(kept) {
		kept = withoutSpec(object)
		state.MarkTooLarge(kept, size)
		return kept, nil
	}
	keepMark(kept, object)
	return kept, nil
}

// maybeByOperator reports whether an object has the name and the controller of an Agent's object
// and whether the operator may have written it. It treats an object without managed fields as one
// of the operator, because the transform may have removed them before.
func maybeByOperator(object client.Object) bool {
	fields := object.GetManagedFields()
	return hasNameForAgent(object) && (len(fields) == 0 || slices.ContainsFunc(fields, isByOperator))
}

func isConfigMap(object client.Object) bool {
	_, is := object.(*corev1.ConfigMap)
	return is
}

// owned returns the parts of an Agent's object that the operator reads.
func owned(object client.Object) client.Object {
	kept := withoutSpec(object)
	switch o := object.(type) {
	case *appsv1.Deployment:
		kept.(*appsv1.Deployment).Spec = o.Spec
	case *corev1.Service:
		kept.(*corev1.Service).Spec = o.Spec
	case *corev1.ConfigMap:
		kept.(*corev1.ConfigMap).Data = configurationOf(o)
	case *networkingv1.NetworkPolicy:
		kept.(*networkingv1.NetworkPolicy).Spec = o.Spec
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept.(*autoscalingv2.HorizontalPodAutoscaler).Spec = o.Spec
	case *policyv1.PodDisruptionBudget:
		kept.(*policyv1.PodDisruptionBudget).Spec = o.Spec
	case *gatewayv1.HTTPRoute:
		kept.(*gatewayv1.HTTPRoute).Spec = o.Spec
		kept.(*gatewayv1.HTTPRoute).Status.Parents = routeParents(o.Status.Parents)
	case *gatewayv1.GRPCRoute:
		kept.(*gatewayv1.GRPCRoute).Spec = o.Spec
		kept.(*gatewayv1.GRPCRoute).Status.Parents = routeParents(o.Status.Parents)
	default:
	}
	return kept
}

// withoutSpec returns the metadata of an Agent's object, and the parts of small size that the status
// of the Agent depends on.
func withoutSpec(object client.Object) client.Object {
	kept := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	*metadataOf(kept) = ownedMetadata(*metadataOf(object))
	switch o := object.(type) {
	case *appsv1.Deployment:
		kept := kept.(*appsv1.Deployment)
		kept.Spec.Replicas = o.Spec.Replicas
		kept.Spec.Paused = o.Spec.Paused
		kept.Spec.Template.Annotations = only(o.Spec.Template.Annotations, a2av1alpha1.AnnotationTemplateDigest, a2av1alpha1.AnnotationServiceAccountUID, a2av1alpha1.AnnotationRestartOn)
		kept.Status = appsv1.DeploymentStatus{
			ObservedGeneration: o.Status.ObservedGeneration,
			Replicas:           o.Status.Replicas,
			UpdatedReplicas:    o.Status.UpdatedReplicas,
			ReadyReplicas:      o.Status.ReadyReplicas,
			AvailableReplicas:  o.Status.AvailableReplicas,
			Conditions: some(o.Status.Conditions, func(c appsv1.DeploymentCondition) (appsv1.DeploymentCondition, bool) {
				return appsv1.DeploymentCondition{Type: c.Type, Status: cut(c.Status, maxName), Reason: cut(c.Reason, maxName), Message: cut(c.Message, maxMessage)},
					c.Type == appsv1.DeploymentProgressing || c.Type == appsv1.DeploymentReplicaFailure
			}),
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		kept.(*autoscalingv2.HorizontalPodAutoscaler).Status.Conditions = some(o.Status.Conditions,
			func(c autoscalingv2.HorizontalPodAutoscalerCondition) (autoscalingv2.HorizontalPodAutoscalerCondition, bool) {
				return autoscalingv2.HorizontalPodAutoscalerCondition{Type: c.Type, Status: cut(c.Status, maxName), Reason: cut(c.Reason, maxName)},
					c.Type == autoscalingv2.ScalingActive || c.Type == autoscalingv2.AbleToScale
			})
	case *corev1.ServiceAccount:
		kept.(*corev1.ServiceAccount).AutomountServiceAccountToken = o.AutomountServiceAccountToken
	default:
	}
	return kept
}

// some returns the results of keep for the items for which keep also returns true, at most
// maxStatusItems, or nil if there are none.
func some[T any](items []T, keep func(T) (T, bool)) []T {
	var kept []T
	for _, item := range items {
		if part, is := keep(item); is && len(kept) < maxStatusItems {
			kept = append(kept, part)
		}
	}
	return kept
}

// conditions returns the conditions of the given types, or of all types if none is given, with
// bounded texts.
func conditions(all []metav1.Condition, types ...string) []metav1.Condition {
	return some(all, func(c metav1.Condition) (metav1.Condition, bool) {
		c.Type = cut(c.Type, maxName)
		c.Status = cut(c.Status, maxName)
		c.Reason = cut(c.Reason, maxName)
		c.Message = cut(c.Message, maxMessage)
		return c, len(types) == 0 || slices.Contains(types, c.Type)
	})
}

// routeParents returns the parts of the status of a route that show whether Gateways accept it.
func routeParents(parents []gatewayv1.RouteParentStatus) []gatewayv1.RouteParentStatus {
	return some(parents, func(p gatewayv1.RouteParentStatus) (gatewayv1.RouteParentStatus, bool) {
		return gatewayv1.RouteParentStatus{
			ParentRef:  p.ParentRef,
			Conditions: conditions(p.Conditions, string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteConditionResolvedRefs)),
		}, true
	})
}

// configurationOf returns the data of an Agent's ConfigMap that the operator reads: at most
// sidecarconfig.MaxSize bytes. The operator writes one of the two values. The ConfigMap with the files of
// the skills has neither: the cache keeps no file of a skill.
func configurationOf(configMap *corev1.ConfigMap) map[string]string {
	for _, key := range []string{sidecarconfig.FileName, sidecarconfig.CardFileName} {
		if value, found := configMap.Data[key]; found && len(value) <= sidecarconfig.MaxSize {
			return map[string]string{key: value}
		}
	}
	return nil
}
