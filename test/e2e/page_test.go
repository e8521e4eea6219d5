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
	"golang.org/x/oauth2"
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
	// idTokenLifetime is the lifetime of ID tokens.
	idTokenLifetime = 15 * time.Second
)

// test/page has the sign-in by a real proxy. Here, the suite signs people in itself, and sends their tokens as a proxy does.
var _ = Describe("The page for people", func() {
	It("shows a person the permitted agents by the token that a proxy passes on", func(ctx SpecContext) {
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

		By("showing a person the agents of one namespace")
		host, _, _ := strings.Cut(issuer.address.Host, ":") // the issuer cuts its host at a colon, also in an IPv6 address
		jane := signIn(ctx, issuer, "test-user@"+host)
		Eventually(ctx, func() string { // the manager fetches the keys of the issuer after its start
			_, list := jane.get(ctx, "/")
			return list
		}).Should(And(ContainSubstring("oidc:id1"), ContainSubstring("Paints for everybody."), Not(ContainSubstring("Counts the money."))))
		status, body := jane.get(ctx, "/agents/"+permitted+"/visible")
		Expect(status).To(Equal(http.StatusOK), body)
		status, body = jane.get(ctx, "/agents/"+other+"/hidden")
		Expect(status).To(Equal(http.StatusNotFound), body)

		By("showing a person without rights no agent")
		john := signIn(ctx, issuer, "test-user2")
		_, list := john.get(ctx, "/")
		Expect(list).To(And(ContainSubstring("oidc:id2"), Not(ContainSubstring("Paints for everybody.")), Not(ContainSubstring("Counts the money."))))

		By("refusing the token after its end, and a request without one")
		Eventually(ctx, func() int {
			status, _ := jane.get(ctx, "/")
			return status
		}).WithTimeout(2 * idTokenLifetime).Should(Equal(http.StatusUnauthorized))
		status, body = (&signedIn{client: jane.client}).get(ctx, "/")
		Expect(status).To(Equal(http.StatusUnauthorized), body)
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
	host := nodeAddress(ctx)
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
	reader := trusting(issuer)
	Eventually(ctx, func() error {
		_, _, err := fetch(ctx, reader, http.MethodGet, issuer.address.String()+"/.well-known/openid-configuration", nil, "")
		return err
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
		"--set", "ui.audience="+pageClient, "--set", "ui.tls.secret=page-tls")
}

// trusting returns an HTTP client that stores cookies, follows redirects to the issuer only, and trusts the certificates
// of the issuer and of the page.
func trusting(issuer *oidcIssuer) *http.Client {
	GinkgoHelper()
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(issuer.certificate)
	authorities.AppendCertsFromPEM(pageCertificate)
	transport := &http.Transport{DialContext: dialService, TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}
	DeferCleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Host != issuer.address.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// fetch sends a request with a form and a bearer token, unless they are empty, and returns the response with its body.
func fetch(ctx context.Context, client *http.Client, method, address string, form url.Values, token string) (*http.Response, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// signedIn is a person with an ID token.
type signedIn struct {
	client *http.Client
	token  string
	// access is the access token.
	access string
}

// get reads a page, as a proxy does for the person.
func (s *signedIn) get(ctx context.Context, path string) (status int, body string) {
	GinkgoHelper()
	response, body, err := fetch(ctx, s.client, http.MethodGet, pageURL+path, nil, s.token)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, body
}

// signInID matches the field of the issuer's form that names the sign-in.
var signInID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn signs a user in at the issuer, with scopes beside openid.
func signIn(ctx context.Context, issuer *oidcIssuer, user string, scopes ...string) *signedIn {
	GinkgoHelper()
	client := trusting(issuer)
	address := issuer.address.String()
	config := oauth2.Config{
		ClientID: pageClient, ClientSecret: pageSecret, RedirectURL: pageURL + "/callback", Scopes: append([]string{"openid"}, scopes...),
		Endpoint: oauth2.Endpoint{AuthURL: address + "/auth", TokenURL: address + "/oauth/token"},
	}
	verifier := oauth2.GenerateVerifier()
	_, form, err := fetch(ctx, client, http.MethodGet, config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)), nil, "")
	Expect(err).NotTo(HaveOccurred())
	id := signInID.FindStringSubmatch(form)
	Expect(id).To(HaveLen(2), form)
	response, body, err := fetch(ctx, client, http.MethodPost, address+"/login/username", url.Values{"id": {id[1]}, "username": {user}, "password": {"verysecure"}}, "")
	Expect(err).NotTo(HaveOccurred())
	back, err := response.Location()
	Expect(err).NotTo(HaveOccurred(), "the sign-in leads back: %s", body)
	token, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), back.Query().Get("code"), oauth2.VerifierOption(verifier))
	Expect(err).NotTo(HaveOccurred())
	text, _ := token.Extra("id_token").(string)
	return &signedIn{client: client, token: text, access: token.AccessToken}
}
