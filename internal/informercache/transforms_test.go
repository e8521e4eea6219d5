// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

// metadata returns metadata with every field that a transform may keep.
func metadata(owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1", OwnerReferences: owners,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
}

// identityOf returns the identity that the transforms keep of an object with metadata.
func identityOf(owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1", OwnerReferences: owners}
}

func TestTransforms(t *testing.T) {
	t.Parallel()
	byAgent := metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: "agent", Controller: new(true)}
	byOther := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Agent", Name: "agent", Controller: new(true)}
	data := map[string]string{"large": "text"}
	configuration := map[string]string{sidecarconfig.FileName: "{}", sidecarconfig.CardFileName: "{}"}
	withData := map[string]string{sidecarconfig.FileName: "{}", sidecarconfig.CardFileName: "{}", "large": "text"}
	byName := metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: "name", Controller: new(true)}
	byOperator := []metav1.ManagedFieldsEntry{{Manager: "m"}, {Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	configMapMetadata := metadata(byAgent)
	configMapMetadata.Name, configMapMetadata.ManagedFields = names.ConfigMap("agent"), byOperator
	ownedConfigMap := configMapMetadata
	ownedConfigMap.ManagedFields = nil
	byTenant, byTenantIdentity := metadata(byAgent), identityOf(byAgent)
	byTenant.Name, byTenantIdentity.Name = configMapMetadata.Name, configMapMetadata.Name
	tooLarge := map[string]string{sidecarconfig.FileName: strings.Repeat("x", sidecarconfig.MaxSize+1), sidecarconfig.CardFileName: "{}"}
	uncontrolled := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p"}
	now := metav1.Now()
	deleted, deletedIdentity := configMapMetadata, byTenantIdentity
	deleted.DeletionTimestamp, deletedIdentity.DeletionTimestamp = &now, &now
	deleted.Annotations = map[string]string{a2av1alpha1.AnnotationConfigDigest: sidecarconfig.Digest([]byte("{}")), "c": strings.Repeat("d", 1<<10)}
	deletedByTenant := byTenant
	deletedByTenant.DeletionTimestamp = &now
	forgotten := deleted
	forgotten.ManagedFields = nil

	orphan, orphanIdentity := metadata(), identityOf()
	orphan.Labels[a2av1alpha1.LabelAgent] = "echo"
	orphan.ManagedFields = append(orphan.ManagedFields,
		metav1.ManagedFieldsEntry{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{}})
	orphanIdentity.Labels = map[string]string{a2av1alpha1.LabelAgent: "echo"}
	orphanIdentity.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}

	owned := metadata(byName)
	owned.ManagedFields = nil

	podMetadata, keptPodMetadata := metadata(), identityOf()
	podMetadata.DeletionTimestamp, keptPodMetadata.DeletionTimestamp = &now, &now
	podMetadata.Labels[a2av1alpha1.LabelAgent] = "echo"
	keptPodMetadata.Labels = map[string]string{a2av1alpha1.LabelAgent: "echo"}
	keptPodMetadata.Annotations = map[string]string{a2av1alpha1.AnnotationConfigDigest: "1", a2av1alpha1.AnnotationCardSignatures: "2"}
	maps.Copy(podMetadata.Annotations, keptPodMetadata.Annotations)

	namespace := identityOf()
	namespace.Labels = map[string]string{"a": "b"}

	for name, test := range map[string]struct {
		transform toolscache.TransformFunc
		in, want  any
	}{
		"Deployment of another owner":     {StripForeign, &appsv1.Deployment{ObjectMeta: metadata(byOther)}, &appsv1.Deployment{ObjectMeta: identityOf(byOther)}},
		"Service of another owner":        {StripForeign, &corev1.Service{ObjectMeta: metadata(byOther)}, &corev1.Service{ObjectMeta: identityOf(byOther)}},
		"ServiceAccount of another owner": {StripForeign, &corev1.ServiceAccount{ObjectMeta: metadata(byOther)}, &corev1.ServiceAccount{ObjectMeta: identityOf(byOther)}},
		"ConfigMap of another owner":      {StripForeign, &corev1.ConfigMap{ObjectMeta: metadata(byOther), Data: data}, &corev1.ConfigMap{ObjectMeta: identityOf(byOther)}},
		"orphan":                          {StripForeign, &corev1.ConfigMap{ObjectMeta: orphan, Data: data}, &corev1.ConfigMap{ObjectMeta: orphanIdentity}},
		"ConfigMap of an Agent": {
			StripForeign,
			&corev1.ConfigMap{ObjectMeta: configMapMetadata, Data: withData, BinaryData: map[string][]byte{"large": {1}}},
			&corev1.ConfigMap{ObjectMeta: ownedConfigMap, Data: configuration},
		},
		"ConfigMap of an Agent, not written by the operator": {
			StripForeign, &corev1.ConfigMap{ObjectMeta: byTenant, Data: withData}, &corev1.ConfigMap{ObjectMeta: byTenantIdentity},
		},
		"ConfigMap of an Agent, too large": {
			StripForeign,
			&corev1.ConfigMap{ObjectMeta: configMapMetadata, Data: tooLarge},
			&corev1.ConfigMap{ObjectMeta: ownedConfigMap, Data: map[string]string{sidecarconfig.CardFileName: "{}"}},
		},
		"ConfigMap that is being deleted":                        {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted, Data: withData}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap of a card that is being deleted":              {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted, Data: map[string]string{sidecarconfig.CardFileName: "{}"}}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap without data that is being deleted":           {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap without managed fields that is being deleted": {StripForeign, &corev1.ConfigMap{ObjectMeta: forgotten, Data: withData}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap of a tenant that is being deleted":            {StripForeign, &corev1.ConfigMap{ObjectMeta: deletedByTenant, Data: withData}, &corev1.ConfigMap{ObjectMeta: byTenantIdentity}},
		"ConfigMap of an Agent, with another name":               {StripForeign, &corev1.ConfigMap{ObjectMeta: metadata(byAgent), Data: withData}, &corev1.ConfigMap{ObjectMeta: identityOf(byAgent)}},
		"ConfigMap with the name of an Agent":                    {StripForeign, &corev1.ConfigMap{ObjectMeta: metadata(byName), Data: withData}, &corev1.ConfigMap{ObjectMeta: identityOf(byName)}},
		"Service of an Agent":                                    {StripForeign, &corev1.Service{ObjectMeta: metadata(byName)}, &corev1.Service{ObjectMeta: owned}},
		"Service of an Agent, with another name":                 {StripForeign, &corev1.Service{ObjectMeta: metadata(byAgent)}, &corev1.Service{ObjectMeta: identityOf(byAgent)}},
		"owners that are not the controller":                     {StripForeign, &corev1.Service{ObjectMeta: metadata(uncontrolled, byOther, uncontrolled)}, &corev1.Service{ObjectMeta: identityOf(byOther)}},
		"pod": {
			stripPod,
			&corev1.Pod{
				ObjectMeta: podMetadata,
				Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "agent", Image: "image", Command: []string{"x"}}}},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{Name: "agent"}}},
			},
			&corev1.Pod{
				ObjectMeta: keptPodMetadata,
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "image"}}},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "agent"}}},
			},
		},
		"Namespace": {stripNamespace, &metav1.PartialObjectMetadata{ObjectMeta: metadata()}, &metav1.PartialObjectMetadata{ObjectMeta: namespace}},
		"Gateway": {
			StripGateway,
			&gatewayv1.Gateway{
				ObjectMeta: metav1.ObjectMeta{
					ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}, Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
				},
				Status: gatewayv1.GatewayStatus{Listeners: []gatewayv1.ListenerStatus{{Name: "web", AttachedRoutes: 7}}},
			},
			&gatewayv1.Gateway{Status: gatewayv1.GatewayStatus{Listeners: []gatewayv1.ListenerStatus{{Name: "web"}}}},
		},
		"other object of StripForeign":   {StripForeign, "text", "text"},
		"other object of StripGateway":   {StripGateway, "text", "text"},
		"other object of stripPod":       {stripPod, "text", "text"},
		"other object of stripNamespace": {stripNamespace, "text", "text"},
	} {
		in := test.in
		if object, ok := in.(runtime.Object); ok {
			in = object.DeepCopyObject()
		}
		got, err := test.transform(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		// An informer that fills its cache transforms each object twice.
		if again, err := test.transform(got); err != nil || cmp.Diff(test.want, again) != "" {
			t.Errorf("%s, transformed twice: %v (-want +got):\n%s", name, err, cmp.Diff(test.want, again))
		}
	}
}
