// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
)

// metadataOf returns the metadata of an object of a kind that Agents own.
func metadataOf(object client.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// boundedLabels returns labels, or labels that match no selector if they need more than maxLabels bytes.
func boundedLabels(labels map[string]string) map[string]string {
	if referencedBy(reflect.ValueOf(labels)) > maxLabels {
		return cachedlabels.Unknown()
	}
	return labels
}

// only returns the entries of a map that have one of the keys and a value of at most maxAnnotation bytes, or
// nil if there are none.
func only(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, found := all[key]; found && len(value) <= maxAnnotation {
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
	kept.Labels = boundedLabels(namespace.Labels)
	return kept, nil
}

// hasNameForAgent reports whether an Agent controls an object and the object has the name that
// the operator gives to this Agent's object.
func hasNameForAgent(object client.Object) bool {
	if !controlledByAgent(object) {
		return false
	}
	agent := metav1.GetControllerOfNoCopy(object).Name
	if isConfigMap(object) {
		return object.GetName() == names.ConfigMap(agent) || object.GetName() == names.SkillFiles(agent)
	}
	return object.GetName() == agent // the name of every other kind, see package names
}

func controlledByAgent(object client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(object)
	return owner != nil && owner.Kind == a2av1alpha1.AgentKind && owner.APIVersion == a2av1alpha1.GroupVersion.String()
}

// identity returns the metadata that identifies an object and its controller. The API server does not
// bound the texts of an owner reference, so identity cuts them: a cut text names no object, and the
// object still has a controller.
func identity(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if controller := metav1.GetControllerOfNoCopy(&m); controller != nil {
		owner := *controller
		owner.APIVersion = cut(owner.APIVersion, maxName)
		owner.Kind = cut(owner.Kind, maxName)
		owner.Name = cut(owner.Name, maxName)
		owner.UID = cut(owner.UID, maxName)
		kept.OwnerReferences = []metav1.OwnerReference{owner}
	}
	return kept
}

// ownedLabels are the labels that the operator sets on the objects of an Agent.
var ownedLabels = slices.Sorted(maps.Keys(names.Labels("")))

// ownedMetadata returns the metadata of an object of an Agent that the operator sets or reads.
func ownedMetadata(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	kept.Generation = m.Generation
	kept.CreationTimestamp = m.CreationTimestamp
	kept.Labels = only(m.Labels, ownedLabels...)
	kept.Annotations = only(m.Annotations, a2av1alpha1.AnnotationAppliedDigest, a2av1alpha1.AnnotationConfigDigest)
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
