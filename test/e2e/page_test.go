//go:build e2e

// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
)

const (
	// pageHost is the Service of the page, and pageURL its address. The manager serves TLS.
	pageHost = release + "-ui." + operatorNamespace + ".svc"
	pageURL  = "https://" + pageHost
	// pageClient and pageSecret are the client id and the client secret of the page at the issuer.
	pageClient, pageSecret = "a2a-page", "hidden"
	// idTokenLifetime is the lifetime of ID tokens, and therefore the duration of a session.
	idTokenLifetime = 30 * time.Second
)

var _ = Describe("The page for people", func() {
	It("shows a person the permitted agents, from the sign-in at the issuer to the end of the session", func(ctx SpecContext) {
		permitted, other := namespace(ctx), namespace(ctx)
		described := func(text string) func(*a2av1alpha1.Agent) {
			return func(a *a2av1alpha1.Agent) { a.Spec.Description = text }
		}
		visible := create(ctx, newAgent(permitted, "visible", described("Paints for everybody.")))
		hidden := create(ctx, newAgent(other, "hidden", described("Counts the money.")))
		issuer := startIssuer(ctx)
		installPage(ctx, issuer)
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: permitted, Name: "person"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "oidc:id1"}},
		}
		Expect(cluster.Create(ctx, binding)).To(Succeed())
		expectReady(ctx, visible)
		expectReady(ctx, hidden)

		By("leading a person through the issuer to the agents of one namespace")
		jane := newBrowser(issuer)
		list := jane.signIn(ctx, "test-user@"+issuer.address.Hostname())
		Expect(list).To(And(ContainSubstring("oidc:id1"), ContainSubstring("Paints for everybody."), Not(ContainSubstring("Counts the money."))))
		status, body := jane.get(ctx, "/agents/"+permitted+"/visible")
		Expect(status).To(Equal(http.StatusOK), body)
		status, body = jane.get(ctx, "/agents/"+other+"/hidden")
		Expect(status).To(Equal(http.StatusNotFound), body)

		By("showing a person without rights no agent")
		john := newBrowser(issuer)
		list = john.signIn(ctx, "test-user2")
		Expect(list).To(And(ContainSubstring("oidc:id2"), Not(ContainSubstring("Paints for everybody.")), Not(ContainSubstring("Counts the money."))))

		By("ending a session by the sign-out")
		status, body = john.post(ctx, pageURL+"/sign-out", nil)
		Expect(status).To(Equal(http.StatusOK), body)
		Expect(body).To(ContainSubstring("You are signed out"))
		Expect(john.leadsTo(ctx, "/")).To(HavePrefix("/sign-in?"))

		By("ending a session with the ID token")
		Eventually(ctx, func() string { return jane.leadsTo(ctx, "/") }).WithTimeout(2 * idTokenLifetime).Should(HavePrefix("/sign-in?"))
	})
})

// oidcIssuer is a running issuer.
type oidcIssuer struct {
	address     *url.URL
	certificate []byte
}

// startIssuer starts an OpenID Connect issuer at the address of the node, which pods reach.
func startIssuer(ctx context.Context) *oidcIssuer {
	GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(cluster.List(ctx, nodes)).To(Succeed())
	var host string
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			host = a.Address
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	Expect(err).NotTo(HaveOccurred())
	free := listener.Addr().String()
	Expect(listener.Close()).To(Succeed())

	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	Expect(err).NotTo(HaveOccurred())
	directory := GinkgoT().TempDir()
	files := map[string][]byte{"tls.crt": certificate, "tls.key": key}
	for name, content := range files {
		Expect(os.WriteFile(filepath.Join(directory, name), content, 0o600)).To(Succeed())
	}
	issuer := &oidcIssuer{address: &url.URL{Scheme: "https", Host: free}, certificate: certificate}
	command := exec.CommandContext(context.WithoutCancel(ctx), setting("ISSUER"), "--issuer", issuer.address.String(), "--client", pageClient, "--secret", pageSecret,
		"--redirect", pageURL+"/callback", "--id-token-lifetime", idTokenLifetime.String(),
		"--cert", filepath.Join(directory, "tls.crt"), "--key", filepath.Join(directory, "tls.key"))
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	reader := newBrowser(issuer)
	Eventually(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, issuer.address.String()+"/.well-known/openid-configuration", http.NoBody)
		if err != nil {
			return err
		}
		response, err := reader.client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}).Should(Succeed())
	return issuer
}

// pageCertificate has the certificate of the page after installPage.
var pageCertificate []byte

// installPage installs the chart with the page until the end of the test.
func installPage(ctx context.Context, issuer *oidcIssuer) {
	GinkgoHelper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(pageHost, nil, nil)
	Expect(err).NotTo(HaveOccurred())
	pageCertificate = certificate
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "page-issuer"}, Data: map[string]string{"ca.crt": string(issuer.certificate)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "page"}, StringData: map[string]string{
			"clientSecret": pageSecret, "cookieKey": strings.Repeat("k", 48),
		}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "page-tls"}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
		},
	} {
		Expect(cluster.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.Delete(ctx, object)).To(Succeed()) })
	}
	DeferCleanup(func(ctx SpecContext) { installChart(ctx) })
	installChart(ctx, "--set", "registry.oidc.issuer="+issuer.address.String(), "--set", "registry.oidc.audience=a2a-registry",
		"--set", "registry.oidc.ca.configMap=page-issuer", "--set", "ui.enabled=true", "--set", "ui.url="+pageURL,
		"--set", "ui.oidc.clientID="+pageClient, "--set", "ui.oidc.secret=page", "--set", "ui.tls.secret=page-tls")
}

// browser is an HTTP client that stores cookies and follows redirects.
type browser struct {
	issuer *oidcIssuer
	client *http.Client
}

func newBrowser(issuer *oidcIssuer) *browser {
	GinkgoHelper()
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(issuer.certificate)
	authorities.AppendCertsFromPEM(pageCertificate)
	transport := &http.Transport{DialContext: dialService, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return &browser{issuer: issuer, client: &http.Client{Transport: transport, Jar: jar}}
}

// do sends a request, and returns the last response with its body.
func (b *browser) do(ctx context.Context, method, address string, form url.Values) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// get reads a page.
func (b *browser) get(ctx context.Context, path string) (status int, body string) {
	GinkgoHelper()
	response, body, err := b.do(ctx, http.MethodGet, pageURL+path, nil)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, body
}

func (b *browser) post(ctx context.Context, address string, form url.Values) (status int, body string) {
	GinkgoHelper()
	response, body, err := b.do(ctx, http.MethodPost, address, form)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, body
}

// signInID matches the field of the issuer's form that names the sign-in.
var signInID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn opens the page, signs a user in at the issuer, and returns the list of agents.
func (b *browser) signIn(ctx context.Context, user string) (list string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) { // retry, because the manager fetches the keys of the issuer after its start
		_, form, err := b.do(ctx, http.MethodGet, pageURL+"/", nil)
		g.Expect(err).NotTo(HaveOccurred())
		id := signInID.FindStringSubmatch(form)
		g.Expect(id).To(HaveLen(2), form)
		response, body, err := b.do(ctx, http.MethodPost, b.issuer.address.String()+"/login/username", url.Values{"id": {id[1]}, "username": {user}, "password": {"verysecure"}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Request.URL.String()).To(Equal(pageURL+"/"), "the sign-in leads back to the page: %s", body)
		g.Expect(response.StatusCode).To(Equal(http.StatusOK), body)
		list = body
	}).Should(Succeed())
	return list
}

// leadsTo returns the address to which a page leads without a further request, "" for none.
func (b *browser) leadsTo(ctx context.Context, path string) string {
	GinkgoHelper()
	still := *b.client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, _, err := (&browser{client: &still}).do(ctx, http.MethodGet, pageURL+path, nil)
	Expect(err).NotTo(HaveOccurred())
	return response.Header.Get("Location")
}
