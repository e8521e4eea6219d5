// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cacheinterning"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// StripForeign is a transform for the kinds that Agents own. From an object that the operator
// writes for an Agent, it removes the managed fields and, if the object is a ConfigMap, the data
// that the operator does not read. From any other object, it removes everything but the identity.
// Such other objects are also the objects that an Agent controls and that have another name than
// the operator gives, and the ConfigMaps that the operator did not write: everyone who may create
// ConfigMaps may create any number of them.
//
// From an Agent's ConfigMap that is being deleted, it removes everything but the identity and the
// deletion timestamp (see LacksData).
func StripForeign(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	if !maybeByOperator(object) {
		kept := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
		*metadataOf(kept) = foreignIdentity(*metadataOf(object))
		return kept, nil
	}
	configMap, isConfigMap := obj.(*corev1.ConfigMap)
	switch {
	case !isConfigMap:
		object.SetManagedFields(nil)
	case configMap.DeletionTimestamp != nil:
		kept := &corev1.ConfigMap{ObjectMeta: identity(configMap.ObjectMeta)}
		kept.DeletionTimestamp = configMap.DeletionTimestamp
		return kept, nil
	default:
		stripData(configMap)
	}
	return object, nil
}

// maybeByOperator reports whether an object has the name and the controller of an Agent's object
// and, if it is a ConfigMap, whether the operator may have written it. It treats a ConfigMap
// without managed fields as one of the operator, because the transform may have removed them
// before.
func maybeByOperator(object client.Object) bool {
	if !hasNameForAgent(object) {
		return false
	}
	configMap, isConfigMap := object.(*corev1.ConfigMap)
	return !isConfigMap || len(configMap.ManagedFields) == 0 || slices.ContainsFunc(configMap.ManagedFields, isByOperator)
}

// stripData removes the managed fields of an Agent's ConfigMap and the data that the operator does
// not read.
func stripData(configMap *corev1.ConfigMap) {
	configMap.ManagedFields, configMap.BinaryData = nil, nil
	maps.DeleteFunc(configMap.Data, func(key, value string) bool {
		return key != sidecarconfig.FileName && key != sidecarconfig.CardFileName || len(value) > sidecarconfig.MaxSize
	})
}

// metadataOf returns the metadata of an object of a kind that Agents own.
func metadataOf(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// StripGateway is a transform for Gateways. It removes the managed fields, the labels, the
// annotations and the numbers of attached routes. These numbers change with each Agent that is
// created or deleted, and each change would reconcile all other Agents of the Gateway.
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

// only returns the entries of a map that have one of the keys, or nil if there are none.
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

// foreignIdentity returns the identity of an object for which maybeByOperator is false. If the
// operator wrote the object, the identity also contains the data that an adoption of the orphan
// needs: the Agent's name, the field manager and the deletion timestamp.
func foreignIdentity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	agent, labelled := m.Labels[a2av1alpha1.LabelAgent]
	if labelled && slices.ContainsFunc(m.ManagedFields, isByOperator) {
		kept.Labels = map[string]string{a2av1alpha1.LabelAgent: agent}
		kept.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
		kept.DeletionTimestamp = m.DeletionTimestamp
	}
	return kept
}

// isByOperator reports whether a managed fields entry was made by an apply of the operator.
func isByOperator(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == a2av1alpha1.FieldOwner && e.Operation == metav1.ManagedFieldsOperationApply
}

func namesAndImages(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		kept = append(kept, corev1.Container{Name: c.Name, Image: c.Image})
	}
	return kept
}

const (
	// maxParts bounds the pool of the parts that many Agents share. Agents of the same kind
	// share some dozens of parts.
	maxParts = 4 << 10
	// maxPart is the size, in bytes, of the largest part that Agents share. The pod spec of an
	// Agent without a template of its own is smaller.
	maxPart = 8 << 10
	// maxOwnerMetadata bounds the pool of labels and owner references, which the objects of
	// one Agent share. It has room for two entries for each of the last eight thousand Agents.
	maxOwnerMetadata = 16 << 10
	// maxOwnerPart is the size, in bytes, of the largest labels or owner references that the
	// objects of an Agent share.
	maxOwnerPart = 1 << 10
)

// interner stores equal parts of cached objects once.
type interner struct{ parts, ownerMetadata *cacheinterning.Pool }

func newInterner() interner {
	return interner{parts: cacheinterning.New(maxParts, maxPart), ownerMetadata: cacheinterning.New(maxOwnerMetadata, maxOwnerPart)}
}

// after returns a transform that interns the result of the transform strip. An informer that
// fills its cache transforms each object twice. The second time, the object has no managed
// fields any more, and other goroutines may read its shared parts, so after does not intern
// the object again.
func (i interner) after(strip toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(client.Object)
		first := ok && len(object.GetManagedFields()) > 0
		kept, err := strip(obj)
		if object, ok := kept.(client.Object); ok && err == nil && first && len(object.GetManagedFields()) == 0 {
			i.intern(object)
		}
		return kept, err
	}
}

// intern interns an object. The labels and owner references of an Agent's objects have a
// separate pool, because the caches receive the objects of one Agent at different times, with
// the parts of many other Agents in between.
func (i interner) intern(object client.Object) {
	if !controlledByAgent(object) {
		i.parts.Intern(object)
		return
	}
	metadata := &struct {
		Labels map[string]string
		Owners []metav1.OwnerReference
	}{object.GetLabels(), object.GetOwnerReferences()}
	object.SetLabels(nil)
	object.SetOwnerReferences(nil)
	i.parts.Intern(object)
	i.ownerMetadata.Intern(metadata)
	object.SetLabels(metadata.Labels)
	object.SetOwnerReferences(metadata.Owners)
}
