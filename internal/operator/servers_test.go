// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// tokenOf creates a ServiceAccount, and returns a token of it for the API server.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(cluster.Create(ctx, account)).To(Succeed())
	token := &authenticationv1.TokenRequest{}
	Expect(cluster.SubResource("token").Create(ctx, account, token)).To(Succeed())
	return token.Status.Token
}

// withhold connects to the registry from a loopback address, and sends a request without its body.
func withhold(ctx context.Context, from string) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(ctx, "tcp", registryAddress)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: registry\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\n",
		sidecarconfig.TokenPath)
	return conn, err
}

var _ = It("serves probes, metrics and profiles within limits, also while the registry is attacked", Serial, func(ctx context.Context) {
	const user = "manager-with-servers"
	namespace := createNamespace(ctx, "servers-")
	stop()
	stop = func() {}
	restConfig := asNamespacedManager(user)
	grant(user, roleIn(namespace, user))
	scraper, stranger := tokenOf(ctx, namespace, "scraper"), tokenOf(ctx, namespace, "stranger")
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scraper"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "scraper"}},
	}
	Expect(cluster.Create(ctx, role)).To(Succeed())
	Expect(cluster.Create(ctx, binding)).To(Succeed())

	// The certificate of httptest is valid for 127.0.0.1.
	certified := httptest.NewTLSServer(nil)
	DeferCleanup(certified.Close)
	served := certified.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(served.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	writePEM(dir, "tls.crt", "CERTIFICATE", served.Certificate[0])
	writePEM(dir, "tls.key", "PRIVATE KEY", private)
	config := managerConfig(namespace)
	config.HealthProbeBindAddress, config.MetricsBindAddress, config.PprofBindAddress = freeport.Address(GinkgoT()), freeport.Address(GinkgoT()), freeport.Address(GinkgoT())
	config.MetricsCertDir = dir
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	get := func(url, token string) (status int, body string) {
		GinkgoHelper()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		Expect(response.ProtoMajor).To(Equal(1))
		text, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		return response.StatusCode, string(text)
	}
	probe := func(path string) func() int {
		return func() int {
			status, _ := get("http://"+config.HealthProbeBindAddress+path, "")
			return status
		}
	}
	scrape := func(token string) int {
		GinkgoHelper()
		status, _ := get("https://"+config.MetricsBindAddress+"/metrics", token)
		return status
	}

	// With a low memory limit, a few connections fill a listener. The manager reads the limit only while it starts.
	before := debug.SetMemoryLimit(64 << 20)
	defer debug.SetMemoryLimit(before)
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	go func() { ended <- Run(running, restConfig, config, GinkgoLogr) }()
	defer func() {
		cancel()
		Expect(<-ended).To(Succeed())
		stop = start()
	}()
	Eventually(probe("/readyz")).WithContext(ctx).Should(Equal(http.StatusOK))
	debug.SetMemoryLimit(before)

	By("answering probes and serving profiles")
	for _, path := range []string{"/healthz", "/healthz/ping", "/readyz/cache", "/readyz/registry"} {
		Expect(probe(path)()).To(Equal(http.StatusOK), path)
	}
	Expect(probe("/readyz/absent")()).To(Equal(http.StatusNotFound))
	Expect(probe("/metrics")()).To(Equal(http.StatusNotFound))
	for _, path := range []string{"", "heap", "cmdline", "symbol"} {
		status, _ := get("http://"+config.PprofBindAddress+"/debug/pprof/"+path, "")
		Expect(status).To(Equal(http.StatusOK), path)
	}

	By("serving metrics over TLS to those whom the cluster authorizes")
	Expect(scrape("")).To(Equal(http.StatusUnauthorized))
	Expect(scrape(stranger)).To(Equal(http.StatusForbidden))
	Expect(scrape(scraper)).To(Equal(http.StatusOK))
	insecure, _ := get("http://"+config.MetricsBindAddress+"/metrics", scraper)
	Expect(insecure).NotTo(Equal(http.StatusOK))

	By("serving accepted tokens beside unknown ones")
	for i := range 20 {
		Expect(scrape(fmt.Sprintf("unknown-%d", i))).NotTo(Equal(http.StatusOK))
		Expect(scrape(scraper)).To(Equal(http.StatusOK))
	}

	By("making room at the registry for those who send whole requests")
	var withheld []net.Conn
	defer func() {
		for _, conn := range withheld {
			_ = conn.Close()
		}
	}()
	for i := range 400 {
		conn, err := withhold(ctx, fmt.Sprintf("127.0.1.%d", i%20+1))
		if conn != nil {
			withheld = append(withheld, conn)
		}
		if err != nil {
			break // the registry has closed the connection
		}
	}
	closed := `(?m)^a2a_connections_shed_total\{listener="registry",reason="[a-z]+"\} [1-9]`
	Eventually(func() string {
		_, text := get("https://"+config.MetricsBindAddress+"/metrics", scraper)
		return text
	}).WithContext(ctx).Should(MatchRegexp(closed))
	for _, path := range []string{"/healthz", "/readyz", "/readyz/registry"} {
		Expect(probe(path)()).To(Equal(http.StatusOK), path)
	}
	status, _ := get("http://"+registryAddress+"/v1/agents", "")
	Expect(status).To(Equal(http.StatusUnauthorized))
})
