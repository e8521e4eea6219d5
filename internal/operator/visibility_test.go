// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// accessReviews returns the number of SubjectAccessReviews in the audit log.
func accessReviews() int {
	GinkgoHelper()
	text, err := os.ReadFile(auditLog)
	Expect(err).NotTo(HaveOccurred())
	return bytes.Count(text, []byte(`"requestURI":"/apis/authorization.k8s.io/v1/subjectaccessreviews"`))
}

var _ = It("shows an agent of another namespace while RBAC lets the caller list it, with reviews that tell nothing", Serial, func(ctx context.Context) {
	own, other := createNamespace(ctx, "own-"), createNamespace(ctx, "other-")
	echo := createAgent(ctx, other, "echo")
	Eventually(reason(echo, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).Should(Equal(a2av1alpha1.ReasonProgrammed))
	caller := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "caller"}}
	Expect(cluster.Create(ctx, caller)).To(Succeed())
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	Expect(cluster.SubResource("token").Create(ctx, caller, token)).To(Succeed())
	get := func(path string) int {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+registryAddress+"/v1/agents"+path, http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token.Status.Token)
		response, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		return response.StatusCode
	}

	By("searching for hidden and for absent agents")
	Expect(get("/" + other + "/echo")).To(Equal(http.StatusNotFound))
	before := accessReviews()
	for range 20 {
		Expect(get("/" + other + "/echo")).To(Equal(http.StatusNotFound))
		Expect(get("/absent/echo")).To(Equal(http.StatusNotFound))
		Expect(get("?namespace=" + other)).To(Equal(http.StatusOK))
		Expect(get("?text=absent")).To(Equal(http.StatusOK))
	}
	Expect(accessReviews()).To(Equal(before))

	By("granting and withdrawing the right")
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "viewer"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: own, Name: "caller"}},
	}
	Expect(cluster.Create(ctx, role)).To(Succeed())
	Expect(cluster.Create(ctx, binding)).To(Succeed())
	Eventually(get).WithArguments("/" + other + "/echo").WithTimeout(10 * time.Second).Should(Equal(http.StatusOK))
	Expect(cluster.Delete(ctx, binding)).To(Succeed())
	Eventually(get).WithArguments("/" + other + "/echo").WithTimeout(10 * time.Second).Should(Equal(http.StatusNotFound))
})
