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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/web/uiserver"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

// signingKey signs tokens.
type signingKey struct{ *ecdsa.PrivateKey }

func newSigningKey(t *testing.T) signingKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signingKey{key}
}

func (k signingKey) Sign(claims any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.PrivateKey, KeyID: "k"}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

func (k signingKey) set(t *testing.T) []byte {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// decisionSite is the page in front of a sidecar whose model calls deploy. Both accept people of one issuer, for different audiences.
type decisionSite struct {
	*testing.T
	issuer      string
	people      signingKey
	page, agent string
	deployed    atomic.Int32
}

func startDecisionSite(t *testing.T, approvers ...string) *decisionSite {
	t.Helper()
	return startDecisionSiteUntil(t, time.Hour, approvers...)
}

// startDecisionSiteUntil starts a site whose requests end after a time.
func startDecisionSiteUntil(t *testing.T, end time.Duration, approvers ...string) *decisionSite {
	t.Helper()
	s := &decisionSite{T: t, people: newSigningKey(t)}
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write(s.people.set(t))
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.issuer, s.issuer+"/keys")
	}))
	t.Cleanup(issuer.Close)
	s.issuer = issuer.URL
	pageKey := newSigningKey(t)
	pageAddress := freeport.Address(t)
	decisions := &sidecarconfig.Decisions{Page: &sidecarconfig.DecisionPage{
		URL: "https://" + pageAddress + "/approvals/team/deployer", Issuer: s.issuer, Audience: "deployer.team.a2a-operator.dev", Keys: pageKey.set(t),
	}}
	for _, text := range approvers {
		checked, err := celcompile.CompileApprovers("", text)
		if err != nil {
			t.Fatal(err)
		}
		decisions.Approvers = append(decisions.Approvers, sidecarconfig.Expression{Text: text, Checked: checked})
	}
	s.startAgent(decisions, sidecarconfig.Duration(end))
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	agents := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "deployer"}}).Build()
	target, err := url.Parse(s.agent)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != "deployer.team.svc:80" {
			t.Errorf("the page calls %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, target.Host)
	}
	address := &url.URL{Scheme: "https", Host: pageAddress}
	server := uiserver.New(uiserver.Options{
		BindAddress: pageAddress, Memory: 64 << 20, URL: address, Agents: agents, Clock: clock.RealClock{}, Log: logr.Discard(),
		OIDC:    access.OIDCOptions{Issuer: s.issuer, Audience: "page", UsernameClaim: "sub", UsernamePrefix: "oidc:", Transport: http.DefaultTransport},
		Connect: DecisionCalls(DecisionCallOptions{Agents: agents, Signer: func() tokenexchange.Signer { return pageKey }, Now: time.Now, Dial: dial}),
	})
	s.run(server.Start)
	s.page = "http://" + pageAddress
	s.eventually("the page", func() bool {
		response, err := http.Get(s.page + "/static/ui.css")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		status, _ := s.open("GET", "/approvals/team/deployer/none?owner=x", "jane", nil)
		return status != http.StatusServiceUnavailable && status != http.StatusUnauthorized
	})
	return s
}

// run runs a server until the test ends.
func (s *decisionSite) run(serve func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.Error(err)
		}
	})
}

func (s *decisionSite) startAgent(decisions *sidecarconfig.Decisions, end sidecarconfig.Duration) {
	s.Helper()
	tools := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	tools.AddTool(&mcp.Tool{Name: "deploy", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.deployed.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "deployed"}}}, nil
	})
	toolServer := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	s.Cleanup(toolServer.Close)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), `"tool"`) {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"deploy","arguments":"{\"to\":\"<b>shop</b>\"}"}}]},"finish_reason":"tool_calls"}]}`)
	}))
	s.Cleanup(model.Close)
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version, Agent: sidecarconfig.Agent{Namespace: "team", Name: "deployer"},
		Card:    card.Card{Name: "Deployer", Description: "d", Version: "1", Interfaces: []card.Interface{{URL: "http://deployer.team.svc/", Binding: card.JSONRPC, ProtocolVersion: "1.0"}}},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: model.URL, Model: sidecarconfig.Model{Approval: end}},
		Access: sidecarconfig.Access{Namespaces: []string{"team"}, Authentication: []sidecarconfig.Authentication{{
			Type: sidecarconfig.AuthenticationJWT, JWT: &sidecarconfig.JWTAuthentication{Issuer: s.issuer, Audiences: []string{"deployer"}, JWKSURL: s.issuer + "/keys"},
		}}},
		Decisions: decisions, Drain: sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(30 * time.Second)},
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		s.Fatal(err)
	}
	file := filepath.Join(s.TempDir(), sidecarconfig.FileName)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.Fatal(err)
	}
	o := &settings.Options{
		ConfigFile: file, Listen: "127.0.0.1:0", HealthListen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0", BackendURL: model.URL, BackendProtocol: "ChatCompletions",
		ModelName: "m", MCPServers: []string{toolServer.URL}, MCPApproval: []string{"*"},
	}
	agent, err := sidecar.Open(s.Context(), o, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		s.Fatal(err)
	}
	s.run(agent.Serve)
	s.agent = "http://" + agent.Addresses().Agent + "/"
}

func (s *decisionSite) eventually(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("%s: not after 30 s", what)
		}
	}
}

func (s *decisionSite) token(person, audience string, more map[string]any) string {
	s.Helper()
	claims := map[string]any{"iss": s.issuer, "aud": audience, "sub": person, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, more)
	text, err := s.people.Sign(claims)
	if err != nil {
		s.Fatal(err)
	}
	return text
}

func (s *decisionSite) do(method, address, body string, header map[string]string) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// open opens a page as a person. A form is posted.
func (s *decisionSite) open(method, path, person string, form url.Values, header ...string) (int, string) {
	s.Helper()
	groups := map[string]any{}
	if person == "oncall" {
		groups["groups"] = []string{"oncall"}
	}
	headers := map[string]string{"Authorization": "Bearer " + s.token(person, "page", groups)}
	if form != nil {
		headers["Content-Type"] = "application/x-www-form-urlencoded"
	}
	for i := 0; i+1 < len(header); i += 2 {
		headers[header[i]] = header[i+1]
	}
	return s.do(method, s.page+path, form.Encode(), headers)
}

var messages atomic.Int64

// call calls the agent as a person.
func (s *decisionSite) call(person, method, params string) string {
	s.Helper()
	params = strings.Replace(params, `"messageId":"new"`, fmt.Sprintf(`"messageId":"new-%d"`, messages.Add(1)), 1)
	_, body := s.do("POST", s.agent, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`,
		map[string]string{"Authorization": "Bearer " + s.token(person, "deployer", nil), "Content-Type": "application/json"})
	return body
}

var (
	linkOf = regexp.MustCompile(`open https://[^/]+(/approvals/team/deployer/[^ ?]+\?owner=[^ ]+) and sign in`)
	formOf = regexp.MustCompile(`name="form" value="([0-9a-f]+)"`)
)

// ask begins a task of jane, and returns the path of the link in the text of its request.
func (s *decisionSite) ask() (link string) {
	s.Helper()
	body := ""
	s.eventually("the agent", func() bool { // until the sidecar has the keys of the issuer
		body = s.call("jane", "message/send", `{"message":{"kind":"message","messageId":"new","role":"user","parts":[{"kind":"text","text":"private words"}]}}`)
		return strings.Contains(body, "input-required")
	})
	found := linkOf.FindStringSubmatch(body)
	if found == nil {
		s.Fatalf("the request has no link: %s", body)
	}
	return found[1]
}

func taskOf(link string) string {
	task, _, _ := strings.Cut(link[strings.LastIndex(link, "/")+1:], "?")
	return task
}

func (s *decisionSite) state(link string) string {
	s.Helper()
	return s.call("jane", "tasks/get", `{"id":"`+taskOf(link)+`"}`)
}

func approveAll(page string) url.Values {
	form := url.Values{"call-0": {"approve"}}
	if found := formOf.FindStringSubmatch(page); found != nil {
		form.Set("form", found[1])
	}
	return form
}

// TestThePersonWhoAskedDecidesOnThePage opens the link of a request as its owner, as a scanner, as another person and from another site.
// Only the form of the owner decides, once.
func TestThePersonWhoAskedDecidesOnThePage(t *testing.T) {
	s := startDecisionSite(t)
	link := s.ask()
	other := s.ask()
	status, page := s.open("GET", link, "jane", nil)
	for _, shown := range []string{"Approve deploy?", "team/deployer", "MCP server http://127.0.0.1", `&#34;\u003cb\u003eshop\u003c/b\u003e&#34;`, "kubectl a2a approve team/deployer " + taskOf(link), "The request ends at"} {
		if status != http.StatusOK || !strings.Contains(page, shown) && !strings.Contains(page, strings.NewReplacer(`\u003c`, "&lt;", `\u003e`, "&gt;").Replace(shown)) {
			t.Errorf("the page (%d) does not show %q:\n%s", status, shown, page)
		}
	}
	if strings.Contains(page, "private words") || strings.Contains(page, "<b>shop") {
		t.Errorf("the page shows:\n%s", page)
	}
	right := approveAll(page)
	unchanged := func(what string, status, want int) {
		t.Helper()
		if status != want || s.deployed.Load() != 0 || !strings.Contains(s.state(link), "input-required") {
			t.Errorf("%s: status %d, deployed %d times: %s", what, status, s.deployed.Load(), s.state(link))
		}
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} { // a scanner of mails, a prefetch
		status, _ := s.open(method, link+"&call-0=approve&form="+right.Get("form"), "jane", nil)
		if method == "GET" || method == "HEAD" {
			unchanged(method, status, http.StatusOK)
		} else if status < 400 || s.deployed.Load() != 0 {
			t.Errorf("%s: %d, deployed %d times", method, status, s.deployed.Load())
		}
	}
	forward, page2 := s.open("GET", link, "mallory", nil)
	unchanged("forwarded", forward, http.StatusForbidden)
	if strings.Contains(page2, "shop") {
		t.Errorf("another person sees %s", page2)
	}
	status, _ = s.open("POST", link, "mallory", right)
	unchanged("form of another person", status, http.StatusForbidden)
	status, _ = s.open("POST", strings.Replace(link, "jane", "mallory", 1), "mallory", right)
	unchanged("another owner", status, http.StatusForbidden)
	status, _ = s.open("POST", strings.Replace(link, taskOf(link), "019aa000-0000-7000-8000-000000000000", 1), "jane", right)
	unchanged("another task", status, http.StatusForbidden)
	status, _ = s.open("POST", strings.Replace(link, "team/deployer", "team/none", 1), "jane", right)
	unchanged("another agent", status, http.StatusForbidden)
	status, _ = s.open("POST", strings.Replace(link, "?owner", "?x", 1), "jane", right)
	unchanged("no owner", status, http.StatusNotFound)
	status, _ = s.open("POST", other, "jane", right)
	unchanged("the form of another task", status, http.StatusConflict)
	status, _ = s.open("POST", link, "jane", right, "Sec-Fetch-Site", "cross-site")
	unchanged("another site", status, http.StatusForbidden)
	status, _ = s.open("POST", link, "jane", url.Values{"form": right["form"], "call-0": {"yes"}})
	unchanged("no decision", status, http.StatusBadRequest)
	status, _ = s.open("POST", link, "jane", url.Values{"call-0": {"approve"}})
	unchanged("no form", status, http.StatusConflict)
	status, _ = s.do("POST", s.page+link, right.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	unchanged("not signed in", status, http.StatusUnauthorized)
	status, _ = s.do("POST", s.page+link, right.Encode(), map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Bearer " + s.token("jane", "deployer", nil)})
	unchanged("a token of the agent", status, http.StatusUnauthorized)

	if status, page := s.open("POST", link, "jane", right); status != http.StatusOK || !strings.Contains(page, "has reached the agent") {
		t.Errorf("the decision of the owner: %d %s", status, page)
	}
	s.eventually("the end of the task", func() bool { return strings.Contains(s.state(link), `"completed"`) })
	if s.deployed.Load() != 1 || !strings.Contains(s.state(link), `"a2a-operator.dev/decidedBy":"jwt:`+s.issuer+`#jane"`) {
		t.Errorf("deployed %d times: %s", s.deployed.Load(), s.state(link))
	}
	for _, method := range []string{"GET", "POST"} { // a used link
		if status, page := s.open(method, link, "jane", right); status != http.StatusConflict || !strings.Contains(page, "does not wait for a decision") {
			t.Errorf("%s of a used link: %d %s", method, status, page)
		}
	}
	if s.deployed.Load() != 1 {
		t.Errorf("deployed %d times", s.deployed.Load())
	}
}

// TestThePageVerifiesAgentsWithTLS calls an agent with TLS by its whole name. An agent with the certificate of another authority or of
// another name gets no token.
func TestThePageVerifiesAgentsWithTLS(t *testing.T) {
	certificate, root := selfSigned(t, "deployer.team.svc.corp.example")
	var tokens atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			tokens.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}`)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	agent := func(name string) *a2av1alpha1.Agent {
		return &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: a2av1alpha1.AgentSpec{Access: a2av1alpha1.AgentAccess{TLS: &a2av1alpha1.AccessTLS{}}}}
	}
	agents := fake.NewClientBuilder().WithScheme(scheme).WithObjects(agent("deployer"), agent("other")).Build()
	key := newSigningKey(t)
	for name, tt := range map[string]struct {
		agent  string
		roots  func() *x509.CertPool
		tokens int32
	}{
		"trusted":           {"deployer", func() *x509.CertPool { return root }, 1},
		"another authority": {"deployer", nil, 0},
		"another name":      {"other", func() *x509.CertPool { return root }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tokens.Store(0)
			called := ""
			connect := DecisionCalls(DecisionCallOptions{
				Agents: agents, Signer: func() tokenexchange.Signer { return key }, Now: time.Now, Roots: tt.roots, ClusterDomain: "corp.example",
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					called = address
					return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
				},
			})
			client, err := connect(t.Context(), &uiserver.AsPerson{Namespace: "team", Name: tt.agent, Task: "t", Owner: "o", Person: uiserver.Person{Issuer: "https://login.example.com"}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Get(t.Context(), &a2a.GetRequest{TaskID: "t"})
			_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
			if called != tt.agent+".team.svc.corp.example:443" || tokens.Load() != tt.tokens || isUntrusted != (tt.tokens == 0) {
				t.Errorf("called %s, %d tokens, %v", called, tokens.Load(), err)
			}
		})
	}
}

// selfSigned returns a certificate for a name, and the pool with it.
func selfSigned(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key := newSigningKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key.PrivateKey}, pool
}

// TestAnApproverDecidesOnThePage lets a person decide whom a rule names by a claim, and not the one who asked.
func TestAnApproverDecidesOnThePage(t *testing.T) {
	s := startDecisionSite(t, `has(caller.claims.groups) && "oncall" in caller.claims.groups && !caller.ownsTask`)
	link := s.ask()
	if status, _ := s.open("GET", link, "jane", nil); status != http.StatusForbidden {
		t.Errorf("the owner gets %d", status)
	}
	status, page := s.open("GET", link, "oncall", nil)
	if status != http.StatusOK || !strings.Contains(page, "Approve deploy?") || strings.Contains(page, "private words") {
		t.Fatalf("an approver gets %d %s", status, page)
	}
	form := approveAll(page)
	form.Set("call-0", "reject")
	form.Set("reason-0", "not today")
	if status, page := s.open("POST", link, "oncall", form); status != http.StatusOK {
		t.Errorf("the decision: %d %s", status, page)
	}
	s.eventually("the end of the task", func() bool { return strings.Contains(s.state(link), `"completed"`) })
	if s.deployed.Load() != 0 {
		t.Error("a rejected call ran")
	}
}

// TestThePageRefusesARequestThatHasEnded opens the link of a request that has ended, and sends a form. The page sends nothing to the agent.
func TestThePageRefusesARequestThatHasEnded(t *testing.T) {
	s := startDecisionSiteUntil(t, time.Millisecond)
	link := s.ask()
	before := s.state(link)
	for method, form := range map[string]url.Values{"GET": nil, "POST": {"form": {"x"}, "call-0": {"approve"}}} {
		status, page := s.open(method, link, "jane", form)
		if status != http.StatusConflict || !strings.Contains(page, "The request ended at") || strings.Contains(page, "<form") {
			t.Errorf("%s: %d %s", method, status, page)
		}
	}
	if after := s.state(link); s.deployed.Load() != 0 || after != before {
		t.Errorf("deployed %d times: %s", s.deployed.Load(), after)
	}
}

// TestPageReachesOnlyServices checks that the page does not call this pod for a tenant, whose Service may have any address.
func TestPageReachesOnlyServices(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	dial, err := dialAgents()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context(), "tcp", server.Listener.Addr().String())
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, egress.ErrDenied) {
		t.Errorf("the page connects to a listener of its own pod: %v", err)
	}
}

// TestDecisionCallsBoundWhatTheyDecode calls an agent whose task has many small values, which take 50 times the memory of their text.
func TestDecisionCallsBoundWhatTheyDecode(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, answer, request.ID, strings.Repeat("{},", maxAsked/4))
	}))
	t.Cleanup(server.Close)
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	agents := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "hostile"}}).Build()
	key := newSigningKey(t)
	connect := DecisionCalls(DecisionCallOptions{
		Agents: agents, Signer: func() tokenexchange.Signer { return key }, Now: time.Now,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	})
	client, err := connect(t.Context(), &uiserver.AsPerson{Namespace: "team", Name: "hostile", Task: "t", Owner: "o"})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer = range []string{
		`{"jsonrpc":"2.0","id":%s,"result":{"id":"t","status":{},"history":[%s{}]}}`,
		`{"jsonrpc":"2.0","id":%s,"result":{"id":"t","status":{"message":{"metadata":{"x":{"data":[%s{}]}}}}}}`,
	} {
		if _, err := client.Get(t.Context(), &a2a.GetRequest{TaskID: "t"}); err == nil || !strings.Contains(err.Error(), "KiB is the limit") {
			t.Errorf("Get() = %v, want that the answer needs too much memory", err)
		}
	}
}
