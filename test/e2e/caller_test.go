//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

// token creates a token of the namespace's default ServiceAccount.
func token(ctx context.Context, namespace, audience string) string {
	GinkgoHelper()
	return tokenOf(ctx, namespace, "default", audience)
}

// tokenOf creates a token of a ServiceAccount, as `kubectl create token` does.
func tokenOf(ctx context.Context, namespace, account, audience string) string {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	var answer *authenticationv1.TokenRequest
	Eventually(ctx, func() (err error) {
		answer, err = clientset.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
		return err
	}).Should(Succeed(), "ServiceAccount %s/%s", namespace, account)
	return answer.Status.Token
}

// audience returns the audience that only this agent accepts.
func audience(agent *a2av1alpha1.Agent) string {
	return agent.Name + "." + agent.Namespace + "." + a2av1alpha1.Audience
}

// caller returns an HTTP client that resolves Services by their cluster DNS name, and sends the token unless it
// is "".
func caller(token string) *http.Client {
	transport := &http.Transport{DialContext: dialService}
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: bearer{token: token, next: transport}}
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.next.RoundTrip(r)
}

// dialService dials the cluster IP of name.namespace.svc.*. The node is this machine, so Services are reachable from it,
// but the resolver of this machine does not resolve their names.
func dialService(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if labels := strings.Split(host, "."); len(labels) > 2 && labels[2] == "svc" {
		service := &corev1.Service{}
		if err := cluster.Get(ctx, types.NamespacedName{Namespace: labels[1], Name: labels[0]}, service); err != nil {
			return nil, fmt.Errorf("find Service %s: %w", host, err)
		}
		host = service.Spec.ClusterIP
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return dialer.DialContext(ctx, network, net.JoinHostPort(host, port))
}
