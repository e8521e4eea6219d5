// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// full is metadata with everything that the cache might keep.
func full(owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1", OwnerReferences: owners,
		Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
}

var (
	byAgent = metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: "agent", Controller: new(true)}
	byOther = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Agent", Name: "agent", Controller: new(true)}
)

var _ = Describe("the cache", func() {
	DescribeTable("keeps of somebody else's object who it is",
		func(foreign client.Object) {
			kept, err := stripForeign(foreign)
			Expect(err).NotTo(HaveOccurred())
			Expect(kept).To(BeAssignableToTypeOf(foreign))
			object := kept.(client.Object)
			Expect(object.GetName()).To(Equal("name"))
			Expect(object.GetUID()).To(BeEquivalentTo("uid"))
			Expect(object.GetOwnerReferences()).To(HaveLen(1))
			Expect(object.GetLabels()).To(BeEmpty())
			Expect(object.GetManagedFields()).To(BeEmpty())
		},
		Entry("a Deployment", &appsv1.Deployment{ObjectMeta: full(byOther)}),
		Entry("a Service", &corev1.Service{ObjectMeta: full(byOther)}),
		Entry("a ServiceAccount", &corev1.ServiceAccount{ObjectMeta: full(byOther)}),
		Entry("a ConfigMap", &corev1.ConfigMap{ObjectMeta: full(byOther), Data: map[string]string{"large": "text"}}),
	)

	It("keeps of what the operator has made, and nobody controls, that it has", func() {
		orphan := full()
		orphan.Labels[a2av1alpha1.LabelAgent] = "echo"
		orphan.ManagedFields = append(orphan.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{}})
		kept, err := stripForeign(&corev1.ConfigMap{ObjectMeta: orphan, Data: map[string]string{"large": "text"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(kept).To(Equal(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1",
			Labels:        map[string]string{a2av1alpha1.LabelAgent: "echo"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}},
		}}))
	})

	It("keeps an Agent's object, but for who wrote it", func() {
		kept, err := stripForeign(&corev1.ConfigMap{ObjectMeta: full(byAgent), Data: map[string]string{"a": "b"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(kept.(*corev1.ConfigMap).Data).To(HaveKeyWithValue("a", "b"))
		Expect(kept.(*corev1.ConfigMap).Annotations).To(HaveKeyWithValue("c", "d"))
		Expect(kept.(*corev1.ConfigMap).ManagedFields).To(BeEmpty())
	})

	It("keeps of a pod what its condition is made from", func() {
		pod := &corev1.Pod{ObjectMeta: full(), Spec: corev1.PodSpec{
			NodeName:   "node",
			Containers: []corev1.Container{{Name: "agent", Image: "image", Command: []string{"x"}}},
		}}
		pod.DeletionTimestamp = new(metav1.Now())
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{{Name: "agent"}}}
		stripped, err := stripPod(pod)
		Expect(err).NotTo(HaveOccurred())
		kept := stripped.(*corev1.Pod)
		Expect(kept.Spec).To(Equal(corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "image"}}}))
		Expect(kept.Status).To(Equal(corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "agent"}}}))
		Expect(kept.Labels).To(HaveKey("a"))
		Expect(kept.Annotations).To(HaveKey("c"))
		Expect(kept.DeletionTimestamp).NotTo(BeNil())
	})

	It("keeps of a namespace its labels", func() {
		kept, err := stripNamespace(&metav1.PartialObjectMetadata{ObjectMeta: full()})
		Expect(err).NotTo(HaveOccurred())
		Expect(kept).To(Equal(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "name", UID: "uid", ResourceVersion: "1", Labels: map[string]string{"a": "b"},
		}}))
	})

	It("leaves what it does not know", func() {
		for _, strip := range []func(any) (any, error){stripForeign, stripPod, stripNamespace} {
			kept, err := strip("text")
			Expect(err).NotTo(HaveOccurred())
			Expect(kept).To(Equal("text"))
		}
	})
})

var _ = DescribeTable("a configuration is refused",
	func(change func(*Config), message string) {
		config := Defaults()
		config.SidecarImage = "example/sidecar:1"
		Expect(config.Validate()).To(Succeed())
		change(&config)
		Expect(config.Validate()).To(MatchError(ContainSubstring(message)))
	},
	Entry("without a sidecar", func(c *Config) { c.SidecarImage = "" }, "--sidecar-image is required"),
	Entry("without a domain", func(c *Config) { c.ClusterDomain = "" }, "--cluster-domain"),
	Entry("with a domain that ends with a dot", func(c *Config) { c.ClusterDomain = "cluster.local." }, "--cluster-domain"),
	Entry("with a registry that is no URL", func(c *Config) { c.RegistryURL = "registry:80" }, "--registry-url"),
	Entry("with no worker", func(c *Config) { c.MaxConcurrentReconciles = 0 }, "--max-concurrent-reconciles"),
	Entry("with remote agents at loopback", func(c *Config) { c.RemoteAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }, "--remote-allow"),
)

// written is a ConfigMap of an Agent, as it comes from the API server.
func written(name, agent string) *corev1.ConfigMap {
	owner := metav1.OwnerReference{APIVersion: a2av1alpha1.GroupVersion.String(), Kind: "Agent", Name: agent, Controller: new(true)}
	m := full(owner)
	m.Name, m.Labels = name, map[string]string{"agent": agent}
	return &corev1.ConfigMap{ObjectMeta: m, Data: map[string]string{"the": "same"}}
}

func TestSharedParts(t *testing.T) {
	t.Parallel()
	transform := newSharing().after(stripForeign)
	kept := func(obj *corev1.ConfigMap) *corev1.ConfigMap {
		t.Helper()
		for range 2 { // as an informer does
			want := obj.DeepCopy()
			want.ManagedFields = nil
			got, err := transform(obj)
			if err != nil {
				t.Fatal(err)
			}
			obj = got.(*corev1.ConfigMap)
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Error(diff)
			}
		}
		return obj
	}
	one := kept(written("one", "echo"))
	// What one Agent's objects have in common outlasts what many others have.
	for i := range knownParts {
		kept(written("other", fmt.Sprint(i)))
	}
	two := kept(written("two", "echo"))
	if reflect.ValueOf(one.Labels).Pointer() != reflect.ValueOf(two.Labels).Pointer() {
		t.Error("objects of one Agent have labels of their own")
	}
	if &one.OwnerReferences[0] != &two.OwnerReferences[0] {
		t.Error("objects of one Agent have owners of their own")
	}
	if reflect.ValueOf(one.Data).Pointer() != reflect.ValueOf(two.Data).Pointer() {
		t.Error("what all have is not one")
	}
}

// An orphan keeps a word of who wrote it, so it is not known whether it is
// transformed for the first time.
func TestOrphansShareNothing(t *testing.T) {
	t.Parallel()
	orphan := written("one", "echo")
	orphan.OwnerReferences = []metav1.OwnerReference{{Kind: "Other", Name: "other"}}
	orphan.Labels = map[string]string{a2av1alpha1.LabelAgent: "echo"}
	orphan.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: a2av1alpha1.FieldOwner, Operation: metav1.ManagedFieldsOperationApply}}
	transform := newSharing().after(stripForeign)
	a, errA := transform(orphan.DeepCopy())
	b, errB := transform(orphan.DeepCopy())
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if &a.(*corev1.ConfigMap).OwnerReferences[0] == &b.(*corev1.ConfigMap).OwnerReferences[0] {
		t.Error("owners are shared")
	}
}

func TestGatewayIsKeptWithoutTheNumberOfItsRoutes(t *testing.T) {
	gateway := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}
	gateway.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "web", AttachedRoutes: 7}}
	got, err := stripGateway(gateway)
	if err != nil {
		t.Fatal(err)
	}
	want := &gatewayv1.Gateway{}
	want.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "web"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
