// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page tests the page for people behind a real oauth2-proxy, and a real OpenID Connect issuer
// (docs/how-to/page-for-people.md).
package page

import (
	"context"
	"crypto/rand"
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
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/web/uiserver"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
)

// tools is the directory of the built issuer and proxy. missing is the reason why they are not built.
var tools, missing string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if tools, err = os.MkdirTemp("", "a2a-page"); err != nil {
		missing = err.Error()
		return m.Run()
	}
	defer func() { _ = os.RemoveAll(tools) }()
	for module, pkg := range map[string]string{"../issuer": ".", "oauth2proxy": "github.com/oauth2-proxy/oauth2-proxy/v7"} {
		build := exec.Command("go", "build", "-C", module, "-o", filepath.Join(tools, filepath.Base(module)), pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			missing = module + " is not built: " + string(out)
		}
	}
	return m.Run()
}

const (
	client, secret = "a2a-page", "hidden"
	// lifetime is the lifetime of ID tokens.
	lifetime = 4 * time.Second
)

// everything is a registry with one agent, which each person sees.
type everything struct{}

func (everything) ServeCaller(w http.ResponseWriter, r *http.Request, _ access.Caller) {
	if r.URL.Query().Has("watch") {
		_, _ = io.WriteString(w, "id:\nevent: reset\ndata: {}\n\nid: 1\nevent: synced\ndata: {}\n\n")
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, `{"items":[{"namespace":"team","name":"echo","displayName":"Echo"}],"total":1}`)
}

func (everything) SeesNamespace(context.Context, access.Caller, string) (bool, error) {
	return true, nil
}

// site is a page behind a proxy, at an https URL.
type site struct {
	url, issuer string
	transport   *http.Transport
}

func startSite(t *testing.T) *site {
	t.Helper()
	if missing != "" {
		t.Skip("SKIPPED: " + missing)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	certFile, keyFile := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	for name, content := range map[string][]byte{certFile: certificate, keyFile: key} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(certificate)
	s := &site{transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(s.transport.CloseIdleConnections)

	issuer, page, proxy := address(t), address(t), address(t)
	s.issuer = "https://" + issuer
	s.url = "https://" + proxy
	callback := s.url + "/oauth2/callback"
	programs.Serve(t, exec.CommandContext(t.Context(), filepath.Join(tools, "issuer"), "--issuer", s.issuer, "--client", client, "--secret", secret,
		"--redirect", callback, "--id-token-lifetime", lifetime.String(), "--cert", certFile, "--key", keyFile), issuer, time.Minute)
	s.startPage(t, page)
	programs.Serve(t, exec.CommandContext(t.Context(), filepath.Join(tools, "oauth2proxy"),
		"--provider=oidc", "--oidc-issuer-url="+s.issuer, "--client-id="+client, "--client-secret="+secret, "--redirect-url="+callback,
		"--provider-ca-file="+certFile, "--scope=openid profile email", "--code-challenge-method=S256", "--email-domain=*",
		"--cookie-secret="+rand.Text()+"abcdef", "--skip-provider-button=true", "--pass-authorization-header=true", "--cookie-refresh=1s",
		"--upstream=http://"+page, "--https-address="+proxy, "--tls-cert-file="+certFile, "--tls-key-file="+keyFile, "--http-address="), proxy, time.Minute)
	return s
}

// startPage serves the page at an address until the test ends.
func (s *site) startPage(t *testing.T, at string) {
	t.Helper()
	address, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	server := uiserver.New(uiserver.Options{
		BindAddress: at, Memory: 64 << 20, URL: address, SignOut: "oauth2/sign_out", Registry: everything{}, Agents: fake.NewClientBuilder().Build(),
		Clock: clock.RealClock{}, Log: logr.Discard(),
		OIDC: access.OIDCOptions{Issuer: s.issuer, Audience: client, UsernameClaim: "sub", UsernamePrefix: "oidc:", Transport: s.transport},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve the page: %v", err)
		}
	})
}

func address(t *testing.T) string {
	t.Helper()
	free, err := freeport.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// browser returns an HTTP client that stores cookies and follows redirects.
func (s *site) browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: s.transport, Jar: jar}
}

// fetch sends a request, and returns the last response with its body.
func fetch(t *testing.T, browser *http.Client, method, address string, form url.Values, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// signInID matches the field of the issuer's form that names the sign-in.
var signInID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn opens the page, signs a person in at the issuer, and returns the page to which the sign-in leads.
func (s *site) signIn(t *testing.T, browser *http.Client, path string) (*http.Response, string) {
	t.Helper()
	_, form := fetch(t, browser, http.MethodGet, s.url+path, nil)
	id := signInID.FindStringSubmatch(form)
	if id == nil {
		t.Fatalf("%s does not lead to the issuer: %s", path, form)
	}
	return fetch(t, browser, http.MethodPost, s.issuer+"/login/username", url.Values{"id": {id[1]}, "username": {"test-user@127.0.0.1"}, "password": {"verysecure"}})
}

func TestAProxySignsPeopleIn(t *testing.T) {
	t.Parallel()
	s := startSite(t)
	browser := s.browser(t)
	response, body := s.signIn(t, browser, "/?q=echo")
	if response.StatusCode != http.StatusOK || response.Request.URL.String() != s.url+"/?q=echo" || !strings.Contains(body, "oidc:id1") || !strings.Contains(body, "Echo") {
		t.Fatalf("the sign-in leads to %d %s: %s", response.StatusCode, response.Request.URL, body)
	}
	// The proxy gives a token to the page, whatever the browser sends.
	if response, body := fetch(t, browser, http.MethodGet, s.url+"/", nil, "Authorization", "Bearer forged"); response.StatusCode != http.StatusOK || !strings.Contains(body, "oidc:id1") {
		t.Errorf("with a header of the browser, the page is %d %s", response.StatusCode, body)
	}
	if response, body := fetch(t, browser, http.MethodPost, s.url+"/agents/team/echo/send", url.Values{}, "Origin", "https://evil.example"); response.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site has the status %d %s", response.StatusCode, body)
	}

	stays := *browser
	stays.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	leadsToIssuer := func() bool {
		t.Helper()
		response, _ := fetch(t, &stays, http.MethodGet, s.url+"/", nil)
		return strings.HasPrefix(response.Header.Get("Location"), s.issuer)
	}
	fetch(t, &stays, http.MethodGet, s.url+"/oauth2/sign_out", nil)
	if !leadsToIssuer() {
		t.Error("after the sign-out, the page does not lead to the issuer")
	}

	s.signIn(t, browser, "/")
	started := time.Now()
	changes, _ := fetch(t, browser, http.MethodGet, s.url+"/changes", nil) // the page ends the stream with the token
	if changes.StatusCode != http.StatusOK || time.Since(started) > time.Minute {
		t.Errorf("the changes end with %d after %s", changes.StatusCode, time.Since(started))
	}
	if !leadsToIssuer() {
		t.Error("after the end of the token, the page does not lead to the issuer")
	}
	if response, _ := fetch(t, &stays, http.MethodGet, s.url+"/", nil, "Authorization", "Bearer forged"); response.StatusCode == http.StatusOK {
		t.Error("a header of the browser replaces the sign-in")
	}
}
