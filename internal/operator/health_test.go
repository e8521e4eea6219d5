// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// podToken returns a token that is bound to a pod.
func podToken(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{a2av1alpha1.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	Expect(cluster.SubResource("token").Create(ctx, account, token)).To(Succeed())
	return token.Status.Token
}

// reportAs returns a function that sends a health report with a token of a pod and returns the
// status code, or 0 without a response.
func reportAs(ctx context.Context, pod *corev1.Pod, body string) func() int {
	GinkgoHelper()
	return sendAs(ctx, podToken(ctx, pod), http.MethodPut, "/v1/health", body)
}

// sendAs returns a function that sends a request with a token to the registry and returns the status code, or 0
// without a response.
func sendAs(ctx context.Context, token, method, path, body string) func() int {
	return func() int {
		request, err := http.NewRequestWithContext(ctx, method, "http://"+registryAddress+path, strings.NewReader(body))
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
}

var _ = It("writes the health report of a sidecar into its pod and the status of the Agent", func(ctx context.Context) {
	namespace := createNamespace(ctx, "health-")
	agent := makeAgent(namespace, "stored")
	agent.Spec.Workload.Tasks.Store = a2av1alpha1.AgentTaskStore{
		Type: a2av1alpha1.TaskStoreRedis, Redis: &a2av1alpha1.AgentRedis{Addresses: []string{"redis:6379"}},
	}
	Expect(cluster.Create(ctx, agent)).To(Succeed())
	Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
	runPod(ctx, agent, "stored-1")
	Eventually(reason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonAvailable))
	pod := &corev1.Pod{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "stored-1"}, pod)).To(Succeed())

	By("reporting a lost task store")
	Eventually(reportAs(ctx, pod, `{"dependencies":[{"dependency":"TaskStore","cause":"ConnectionRefused","message":"redis:6379: connection refused"}]}`)).
		Should(Equal(http.StatusNoContent))
	Eventually(reason(agent, a2av1alpha1.ConditionAvailable)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonTaskStoreUnavailable))
	Expect(condition(agent, a2av1alpha1.ConditionAvailable)(ctx).Status).To(Equal(metav1.ConditionTrue))
	Eventually(eventReasons).WithArguments(namespace).WithContext(ctx).Should(ContainElement(a2av1alpha1.ReasonTaskStoreUnavailable))

	By("reporting its recovery")
	Eventually(reportAs(ctx, pod, `{"dependencies":[]}`)).Should(Equal(http.StatusNoContent))
	Eventually(reason(agent, a2av1alpha1.ConditionReady)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonReady))

	By("reporting with the token of a pod without an Agent")
	other := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"},
		Spec:       corev1.PodSpec{ServiceAccountName: "stored", Containers: []corev1.Container{{Name: "c", Image: "example/c:1"}}},
	}
	Expect(cluster.Create(ctx, other)).To(Succeed())
	Expect(reportAs(ctx, other, `{"dependencies":[]}`)()).To(Equal(http.StatusConflict))

	By("sending a heartbeat, also after the ServiceAccount has been deleted and created again")
	alive := sendAs(ctx, podToken(ctx, pod), http.MethodPost, "/v1/alive", "")
	Expect(alive()).To(Equal(http.StatusNoContent))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stored"}}
	Expect(cluster.Delete(ctx, account)).To(Succeed())
	Eventually(alive).WithContext(ctx).Should(Equal(http.StatusUnauthorized))
})
