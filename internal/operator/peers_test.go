// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

var _ = It("searches the registries of the peers file, with their tokens and not with that of the caller", Serial, func(ctx context.Context) {
	var authorization atomic.Value
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"results":[{"identifier":"urn:air:west.example:shop:echo","displayName":"Echo",`+
			`"type":"application/a2a-agent-card+json","url":"https://agents.west.example/echo/card.json","score":90,"source":"https://west.example/"}]}`)
	}))
	DeferCleanup(peer.Close)
	dir := GinkgoT().TempDir()
	token, peers := filepath.Join(dir, "token"), filepath.Join(dir, "peers.yaml")
	Expect(os.WriteFile(token, []byte("token-of-west"), 0o600)).To(Succeed())
	Expect(os.WriteFile(peers, fmt.Appendf(nil, "peers: [{name: west, url: '%s', publisher: west.example, mode: Forward, tokenFile: %s}]", peer.URL, token), 0o600)).To(Succeed())

	const user = "manager-with-peers"
	namespace := createNamespace(ctx, "peers-")
	stop()
	stop = func() {}
	restConfig := asNamespacedManager(user)
	grant(user, roleIn(namespace, user))
	config := managerConfig(namespace)
	config.RegistryURL, config.RegistryPublisher, config.RegistryPeersFile = "http://registry.a2a.svc", "east.example", peers
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	go func() { ended <- Run(running, restConfig, config, GinkgoLogr) }()
	defer func() {
		cancel()
		Expect(<-ended).To(Succeed())
		stop = start()
	}()

	caller := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "caller"}}
	Expect(cluster.Create(ctx, caller)).To(Succeed())
	own := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	Expect(cluster.SubResource("token").Create(ctx, caller, own)).To(Succeed())
	search := func() string {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+registryAddress+"/ard/search", strings.NewReader(`{"query":{"text":"echo"}}`))
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+own.Status.Token)
		response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		return response.Header.Get("A2A-Registry-Peers") + " " + string(body)
	}
	Eventually(search).WithTimeout(time.Minute).Should(And(
		HavePrefix("west;outcome=success;results=1 "), ContainSubstring(`"urn:air:west.example:shop:echo"`), ContainSubstring(`"publisherVerified":true`),
	))
	Expect(authorization.Load()).To(Equal("Bearer token-of-west"))
})
