// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/operator/apply"
	"github.com/a2a-operator/a2a-operator/internal/operator/health"
	"github.com/a2a-operator/a2a-operator/internal/operator/pagedlist"
)

// countedBody counts the bytes that are read of a body.
type countedBody struct {
	io.ReadCloser
	read *atomic.Int64
}

func (b countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.read.Add(int64(n))
	return n, err
}

var _ = Describe("An object with many empty elements", func() {
	// Three bytes of JSON, and two of protobuf, decode to 48.
	const terms = 60_000
	affinity := `{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}` + strings.Repeat(",{}", terms-1) + `]}}}`
	large := func(kind, spec string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		Expect(o.UnmarshalJSON([]byte(strings.ReplaceAll(kind, "SPEC", spec)))).To(Succeed())
		return o
	}

	It("is not in the answers to the writes of the manager", func(ctx context.Context) {
		namespace := createNamespace(ctx, "large-")
		labels := `"labels":{"` + a2av1alpha1.LabelAgent + `":"large"}`
		spec := `{"containers":[{"name":"agent","image":"image"}],"affinity":` + affinity + `}`
		for _, text := range []string{
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"large-1",` + labels +
				`,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"large-5d9c","uid":"u","controller":true}]},"spec":SPEC}`,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"large"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},` +
				`"template":{"metadata":{"labels":{"a":"b"}},"spec":SPEC}}}`,
		} {
			o := large(text, spec)
			o.SetNamespace(namespace)
			Expect(cluster.Create(ctx, o)).To(Succeed())
		}
		var read atomic.Int64
		config := rest.CopyConfig(environment.Config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				response, err := next.RoundTrip(r)
				if err == nil && strings.Contains(r.URL.Path, "/namespaces/") {
					response.Body = countedBody{response.Body, &read}
				}
				return response, err
			})
		})
		manager, err := client.New(withTransports(config, false), client.Options{Scheme: cluster.Scheme()})
		Expect(err).NotTo(HaveOccurred())

		pod := &corev1.Pod{}
		key := client.ObjectKey{Namespace: namespace, Name: "large-1"}
		reports := health.New(health.Options{
			Pods: cluster, Status: manager.Status(), Annotations: manager, Limited: prometheus.NewCounter(prometheus.CounterOpts{}), Clock: clock.RealClock{},
		})
		Expect(cluster.Get(ctx, key, pod)).To(Succeed())
		body := `{"dependencies":[],"cardSignatures":{"keys":{},"signatures":[{"protected":"p","signature":"s"}]}}`
		request := httptest.NewRequestWithContext(ctx, http.MethodPut, "/v1/health", strings.NewReader(body))
		answer := httptest.NewRecorder()
		Expect(reports.Put(answer, request, auth.BoundPod{Namespace: namespace, Name: pod.Name, UID: string(pod.UID)})).To(Succeed())
		Expect(answer.Code).To(Equal(http.StatusNoContent))

		applier := apply.New(apply.Config{Writer: manager, FieldOwner: a2av1alpha1.FieldOwner, OwnerLabel: a2av1alpha1.LabelAgent, Clock: clock.RealClock{}})
		pods := []corev1.Pod{{ObjectMeta: *pod.ObjectMeta.DeepCopy(), Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
		written, err := applier.Annotate(ctx, pods, a2av1alpha1.AnnotationConfigDigest, "digest", a2av1alpha1.FieldOwnerPublisher)
		Expect(err).NotTo(HaveOccurred())
		Expect(written.Rejection).To(BeNil())
		Expect(pods[0].Annotations).To(HaveKeyWithValue(a2av1alpha1.AnnotationConfigDigest, "digest"))

		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "large"}}
		replicas := appsv1ac.Deployment("large", namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2))
		Expect(applier.Scale(ctx, deployment, replicas, "scaler")).To(Succeed())
		Expect(*replicas.ResourceVersion).NotTo(BeEmpty())
		Expect(read.Load()).To(BeNumerically("<", 16<<10), "bytes of all answers")

		Expect(cluster.Get(ctx, key, pod)).To(Succeed())
		Expect(pod.Status.Conditions).NotTo(BeEmpty())
		Expect(pod.Annotations).To(HaveKey(a2av1alpha1.AnnotationCardSignatures))
		Expect(cluster.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
		Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(2))
	})

	It("is applied once while others keep it so", func(ctx context.Context) {
		agent := createAgent(ctx, createNamespace(ctx, "large-"), "echo")
		Eventually(currentReason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
		deployments := func() (n int) {
			for _, request := range sent.of(agent.Namespace) {
				if strings.HasSuffix(request, "/deployments/echo") {
					n++
				}
			}
			return n
		}
		before := deployments()
		fat := large(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"echo"},"spec":{"template":{"spec":{"affinity":SPEC}}}}`, affinity)
		fat.SetNamespace(agent.Namespace)
		Expect(cluster.Apply(ctx, client.ApplyConfigurationFromUnstructured(fat), client.FieldOwner("other"), client.ForceOwnership)).To(Succeed())
		Eventually(deployments).Should(Equal(before+1), "an apply that changes nothing")
		Consistently(deployments).WithTimeout(time.Second).Should(Equal(before + 1))
		Expect(currentReason(agent, a2av1alpha1.ConditionProgrammed)(ctx)).To(Equal(a2av1alpha1.ReasonProgrammed))
	})
})

// TestTransportsOfTheManager checks that the manager decodes no large answer, and asks only for the metadata of what it applies.
func TestTransportsOfTheManager(t *testing.T) {
	var accepted atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepted.Store(r.Header.Get("Accept"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 600<<10) + `"}}}`))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := client.New(withTransports(&rest.Config{Host: server.URL}, true), client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "c"}, &corev1.ConfigMap{}); !errors.Is(err, pagedlist.ErrTooLarge) {
		t.Errorf("Get() = %v", err)
	}
	unfenced, err := client.New(withTransports(&rest.Config{Host: server.URL}, false), client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	if err := unfenced.Apply(t.Context(), corev1ac.ConfigMap("c", "n"), client.FieldOwner("f")); !errors.Is(err, pagedlist.ErrTooLarge) || accepted.Load() != metadataOnly {
		t.Errorf("Apply() = %v, asked for %v", err, accepted.Load())
	}
}
