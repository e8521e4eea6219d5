// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// writePEM writes a file with one PEM block, and returns its path.
func writePEM(dir, name, kind string, content []byte) string {
	GinkgoHelper()
	path := filepath.Join(dir, name)
	Expect(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)).To(Succeed())
	return path
}

var _ = It("serves the registry over TLS to people of an OpenID Connect issuer, as RBAC lets them", Serial, func(ctx context.Context) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	var issuer *httptest.Server
	issuer = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer.URL, issuer.URL+"/keys")
	}))
	DeferCleanup(issuer.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	token, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer.URL, "aud": "registry", "sub": "jane", "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"search-team"},
	}).Serialize()
	Expect(err).NotTo(HaveOccurred())

	// The certificate of httptest is valid for 127.0.0.1, so the registry uses it, too.
	dir := GinkgoT().TempDir()
	served := issuer.TLS.Certificates[0]
	authority := writePEM(dir, "tls.crt", "CERTIFICATE", served.Certificate[0])
	private, err := x509.MarshalPKCS8PrivateKey(served.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	writePEM(dir, "tls.key", "PRIVATE KEY", private)

	const user = "manager-for-people"
	namespace := createNamespace(ctx, "people-")
	stop()
	stop = func() {}
	restConfig := asNamespacedManager(user)
	grant(user, roleIn(namespace, user))
	config := managerConfig(namespace)
	config.RegistryCertDir, config.RegistryURL = dir, "https://registry.a2a.svc"
	config.RegistryCAFile = authority
	config.RegistryOIDC.Issuer, config.RegistryOIDC.Audience, config.RegistryOIDC.CAFile = issuer.URL, "registry", authority
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	go func() { ended <- Run(running, restConfig, config, GinkgoLogr) }()
	defer func() {
		cancel()
		Expect(<-ended).To(Succeed())
		stop = start()
	}()

	roots := x509.NewCertPool()
	roots.AddCert(issuer.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	agent := createAgent(ctx, namespace, "echo")
	get := func() int {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+registryAddress+"/v1/agents/"+namespace+"/echo", http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	Eventually(reason(agent, a2av1alpha1.ConditionProgrammed)).WithContext(ctx).WithTimeout(time.Minute).Should(Equal(a2av1alpha1.ReasonProgrammed))
	Eventually(get).WithTimeout(time.Minute).Should(Equal(http.StatusNotFound), "without a right")
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "oidc:search-team"}},
	}
	Expect(cluster.Create(ctx, role)).To(Succeed())
	Expect(cluster.Create(ctx, binding)).To(Succeed())
	Eventually(get).WithTimeout(10 * time.Second).Should(Equal(http.StatusOK))

	By("the sidecar's configuration names the authority of the registry")
	written, err := os.ReadFile(authority)
	Expect(err).NotTo(HaveOccurred())
	configMap := &corev1.ConfigMap{}
	Expect(cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: names.ConfigMap("echo")}, configMap)).To(Succeed())
	decoded, err := sidecarconfig.Decode([]byte(configMap.Data[sidecarconfig.FileName]))
	Expect(err).NotTo(HaveOccurred())
	Expect(decoded.Gateway.RegistryCA).To(Equal(string(written)))
})
