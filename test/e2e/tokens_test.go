//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// registryURL is the URL of the registry's Service.
var registryURL = "http://" + release + "-registry." + operatorNamespace + ".svc." + clusterDomain

var _ = Describe("A token for one agent", func() {
	It("opens that agent only: a replay at another agent, the registry or the API server is refused", func(ctx SpecContext) {
		ns := namespace(ctx)
		called, other := create(ctx, newAgent(ns, "called")), create(ctx, newAgent(ns, "other"))
		expectReady(ctx, called)
		expectReady(ctx, other)
		own := tokenOf(ctx, ns, called.Name, a2av1alpha1.Audience)

		By("exchanging a token for the registry, which no agent accepts")
		Expect(post(ctx, caller(own), called).StatusCode).To(Equal(http.StatusUnauthorized))
		var received string
		Eventually(ctx, func() (status int) {
			status, received = exchange(ctx, own, audience(called))
			return status
		}).Should(Equal(http.StatusOK))

		By("using the new token")
		Eventually(ctx, func() int { return post(ctx, caller(received), called).StatusCode }).Should(Equal(http.StatusOK))
		Expect(post(ctx, caller(received), other).StatusCode).To(Equal(http.StatusUnauthorized), "another agent")
		response, _ := get(ctx, caller(received), registryURL+"/v1/agents")
		Expect(response.StatusCode).To(Equal(http.StatusUnauthorized), "the registry")
		status, _ := exchange(ctx, received, audience(other))
		Expect(status).To(Equal(http.StatusBadRequest), "an exchange for another agent")

		config := rest.CopyConfig(anonymous)
		config.BearerToken = received
		replay, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		_, err = replay.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		Expect(apierrors.IsUnauthorized(err)).To(BeTrue(), "the API server: %v", err)
	})
})

// exchange posts a token of the registry and returns the status and the token for an agent (RFC 8693), or "".
func exchange(ctx context.Context, token, audience string) (status int, issued string) {
	GinkgoHelper()
	form := url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":      {token},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"},
		"audience":           {audience},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, registryURL+"/v1/token", strings.NewReader(form.Encode()))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := caller("").Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	Expect(json.NewDecoder(response.Body).Decode(&answer)).To(Succeed())
	return response.StatusCode, answer.AccessToken
}
