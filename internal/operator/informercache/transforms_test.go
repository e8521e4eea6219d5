// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package informercache

import (
	"maps"
	"reflect"
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
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/operator/cachedlabels"
	"github.com/a2a-operator/a2a-operator/internal/operator/state"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
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
	configuration := map[string]string{sidecarconfig.FileName: "{}"}
	withData := map[string]string{sidecarconfig.FileName: "{}", sidecarconfig.CardFileName: "{}", "large": "text"}
	byName := metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: "name", Controller: new(true)}
	byOperator := []metav1.ManagedFieldsEntry{{Manager: "m"}, {Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	configMapMetadata := metadata(byAgent)
	configMapMetadata.Name, configMapMetadata.ManagedFields = names.ConfigMap("agent"), byOperator
	ownedConfigMap := identityOf(byAgent)
	ownedConfigMap.Name = configMapMetadata.Name
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

	service := metadata(byName)
	service.ManagedFields, service.Generation = byOperator, 3
	service.Labels = names.Labels("name")
	service.Labels["a"] = "b"
	service.Annotations[a2av1alpha1.AnnotationAppliedDigest] = "1"
	owned := identityOf(byName)
	owned.Generation = 3
	owned.Labels = names.Labels("name")
	owned.Annotations = map[string]string{a2av1alpha1.AnnotationAppliedDigest: "1"}
	large := service
	large.Annotations = map[string]string{a2av1alpha1.AnnotationAppliedDigest: strings.Repeat("x", 1<<10)}
	largeOwned := owned
	largeOwned.Annotations = nil
	deletedService, deletedServiceIdentity := service, identityOf(byName)
	deletedService.DeletionTimestamp, deletedServiceIdentity.DeletionTimestamp = &now, &now
	spec := corev1.ServiceSpec{ExternalName: "name"}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Hostname: strings.Repeat("x", maxOwned)}}
	deployment := appsv1.DeploymentStatus{Replicas: 2, ObservedGeneration: 3, Conditions: []appsv1.DeploymentCondition{
		{Type: "Other"}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: strings.Repeat("x", maxMessage+1)},
	}}
	keptDeployment := deployment
	keptDeployment.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: strings.Repeat("x", maxMessage)}}

	largeDeployment := &appsv1.Deployment{
		ObjectMeta: service, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: template}, Status: keptDeployment,
	}
	marked := owned
	marked.Annotations = maps.Clone(owned.Annotations)
	whole := *largeDeployment
	whole.ObjectMeta = owned
	state.MarkTooLarge(&marked, sizeOf(&whole))

	longOwner := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: strings.Repeat("n", 1<<20), UID: "u", Controller: new(true)}
	cutOwner := longOwner
	cutOwner.Name = longOwner.Name[:maxName]
	manyLabels := map[string]string{"large": strings.Repeat("x", maxLabels)}
	labelled := metadata()
	labelled.Labels = manyLabels
	noLabels := identityOf()
	noLabels.Labels = cachedlabels.Unknown()

	ownKind := metav1.ObjectMeta{Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1"}
	skillMetadata := ownKind
	skillMetadata.Labels = map[string]string{"a": "b"}
	agentSpec := a2av1alpha1.AgentSpec{
		DisplayName: "Echo", Discovery: a2av1alpha1.AgentDiscovery{Visibility: a2av1alpha1.VisibilityPublic},
		Access:   a2av1alpha1.AgentAccess{Authentication: []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationAnonymous}}},
		Workload: &a2av1alpha1.AgentWorkload{Replicas: new(int32(2))},
	}
	largeSpec := *agentSpec.DeepCopy()
	largeSpec.Workload.Template.Spec.Hostname = strings.Repeat("x", state.MaxAgentSpec)
	keptSpec := *agentSpec.DeepCopy()
	keptSpec.Access = a2av1alpha1.AgentAccess{}
	ofSize := func(m metav1.ObjectMeta, spec any) metav1.ObjectMeta {
		state.MarkTooLarge(&m, sizeOf(spec))
		return m
	}
	forgedMark := metadata()
	state.MarkTooLarge(&forgedMark, 1)
	largeSkill := a2av1alpha1.AgentSkillSpec{SkillDetails: a2av1alpha1.SkillDetails{Description: strings.Repeat("x", state.MaxAgentSkillSpec)}}

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
		"Service of an Agent, not written by the operator": {
			StripForeign, &corev1.Service{ObjectMeta: metadata(byName), Spec: spec}, &corev1.Service{ObjectMeta: identityOf(byName)},
		},
		"Service of an Agent that is being deleted": {
			StripForeign, &corev1.Service{ObjectMeta: deletedService, Spec: spec}, &corev1.Service{ObjectMeta: deletedServiceIdentity},
		},
		"Service of an Agent with a long digest": {
			StripForeign, &corev1.Service{ObjectMeta: large, Spec: spec}, &corev1.Service{ObjectMeta: largeOwned, Spec: spec},
		},
		"Deployment of an Agent": {
			StripForeign,
			&appsv1.Deployment{ObjectMeta: service, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), MinReadySeconds: 1}, Status: deployment},
			&appsv1.Deployment{ObjectMeta: owned, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), MinReadySeconds: 1}, Status: keptDeployment},
		},
		"Deployment of an Agent, too large": {
			StripForeign,
			largeDeployment,
			&appsv1.Deployment{ObjectMeta: marked, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}, Status: keptDeployment},
		},
		"owner with a long name": {StripForeign, &corev1.Service{ObjectMeta: metadata(longOwner)}, &corev1.Service{ObjectMeta: identityOf(cutOwner)}},
		"Agent": {
			stripAgent, &a2av1alpha1.Agent{ObjectMeta: forgedMark, Spec: agentSpec}, &a2av1alpha1.Agent{ObjectMeta: ownKind, Spec: agentSpec},
		},
		"Agent, too large": {
			stripAgent, &a2av1alpha1.Agent{ObjectMeta: metadata(), Spec: largeSpec}, &a2av1alpha1.Agent{ObjectMeta: ofSize(ownKind, &largeSpec), Spec: keptSpec},
		},
		"AgentSkill": {
			stripAgentSkill, &a2av1alpha1.AgentSkill{ObjectMeta: metadata()}, &a2av1alpha1.AgentSkill{ObjectMeta: skillMetadata},
		},
		"AgentSkill, too large": {
			stripAgentSkill, &a2av1alpha1.AgentSkill{ObjectMeta: metadata(), Spec: largeSkill}, &a2av1alpha1.AgentSkill{ObjectMeta: ofSize(skillMetadata, &largeSkill)},
		},
		"Namespace with large labels": {
			stripNamespace, &metav1.PartialObjectMetadata{ObjectMeta: labelled}, &metav1.PartialObjectMetadata{ObjectMeta: noLabels},
		},
		"ConfigMap that is being deleted":                        {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted, Data: withData}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap of a card that is being deleted":              {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted, Data: map[string]string{sidecarconfig.CardFileName: "{}"}}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap without data that is being deleted":           {StripForeign, &corev1.ConfigMap{ObjectMeta: deleted}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap without managed fields that is being deleted": {StripForeign, &corev1.ConfigMap{ObjectMeta: forgotten, Data: withData}, &corev1.ConfigMap{ObjectMeta: deletedIdentity}},
		"ConfigMap of a tenant that is being deleted":            {StripForeign, &corev1.ConfigMap{ObjectMeta: deletedByTenant, Data: withData}, &corev1.ConfigMap{ObjectMeta: byTenantIdentity}},
		"ConfigMap of an Agent, with another name":               {StripForeign, &corev1.ConfigMap{ObjectMeta: metadata(byAgent), Data: withData}, &corev1.ConfigMap{ObjectMeta: identityOf(byAgent)}},
		"ConfigMap with the name of an Agent":                    {StripForeign, &corev1.ConfigMap{ObjectMeta: metadata(byName), Data: withData}, &corev1.ConfigMap{ObjectMeta: identityOf(byName)}},
		"Service of an Agent":                                    {StripForeign, &corev1.Service{ObjectMeta: service, Spec: spec}, &corev1.Service{ObjectMeta: owned, Spec: spec}},
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
				Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "agent", Image: "image"}}},
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

// TestStatusIsKept checks that the cache keeps every field of the status of an Agent and an AgentSkill, because the
// operator compares the whole status with the next one.
func TestStatusIsKept(t *testing.T) {
	t.Parallel()
	agent := &a2av1alpha1.Agent{ObjectMeta: metadata()}
	skill := &a2av1alpha1.AgentSkill{ObjectMeta: metadata()}
	for _, status := range []reflect.Value{reflect.ValueOf(&agent.Status).Elem(), reflect.ValueOf(&skill.Status).Elem()} {
		for _, field := range status.Fields() {
			budget := 1 << 10
			fillValue(field, "x", 8, 0, &budget)
			if field.CanInt() {
				field.SetInt(1)
			}
			if field.IsZero() {
				t.Fatalf("the test leaves a field of %v empty", status.Type())
			}
		}
	}
	agentStatus, skillStatus := *agent.Status.DeepCopy(), *skill.Status.DeepCopy()
	keptAgent, err := stripAgent(agent)
	if err != nil {
		t.Fatal(err)
	}
	keptSkill, err := stripAgentSkill(skill)
	if err != nil {
		t.Fatal(err)
	}
	agentStatus.Conditions, skillStatus.Conditions = conditions(agentStatus.Conditions), conditions(skillStatus.Conditions)
	if diff := cmp.Diff(agentStatus, keptAgent.(*a2av1alpha1.Agent).Status); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(skillStatus, keptSkill.(*a2av1alpha1.AgentSkill).Status); diff != "" {
		t.Error(diff)
	}
}
