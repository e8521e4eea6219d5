// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr/funcr"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
	"github.com/a2a-operator/a2a-operator/internal/a2a/tracing"
	"github.com/a2a-operator/a2a-operator/internal/a2a/translator"
	"github.com/a2a-operator/a2a-operator/internal/operator/credentialservice"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// remoteAgents are remote agents that require credentials of every type, the authorization server of one of them, the service of the
// registry that gives the credentials, and the gateway of a sidecar that calls the agents.
type remoteAgents struct {
	t       *testing.T
	objects client.Client
	clock   *clocktesting.FakePassiveClock
	servers map[string]*httptest.Server
	heard   outputs
	spans   *tracetest.InMemoryExporter
	gateway *httptest.Server
	issuer  *authorizationServer
	turns   delegation.Turns

	mu sync.Mutex
	// accepted has the values that each agent accepts, and secrets every value that a log, a response or a message must not have.
	accepted map[string][]string
	secrets  []string
}

// authorizationServer issues tokens by the client credentials grant, and exchanges the tokens of its people (RFC 8693). Its keys and client secrets
// change.
type authorizationServer struct {
	*httptest.Server
	agents            *remoteAgents
	issued, exchanged atomic.Int64
	// people signs the tokens of people.
	people *ecdsa.PrivateKey
	// misbehave answers the exchange for a person in another way, and returns true. It may be nil.
	misbehave func(w http.ResponseWriter, r *http.Request, person, token string) bool

	mu  sync.Mutex
	key *ecdsa.PrivateKey
}

// rotate replaces the key. Agents then refuse the tokens of the old one.
func (s *authorizationServer) rotate() {
	key := s.generate()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

func (s *authorizationServer) generate() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.agents.t.Fatal(err)
	}
	return key
}

func (s *authorizationServer) current() *ecdsa.PrivateKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// ServeHTTP implements http.Handler.
func (s *authorizationServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.URL, s.URL+"/keys")
		return
	case "/keys":
		_, _ = w.Write(keySet(s.people))
		return
	}
	client, secret, _ := r.BasicAuth()
	if !s.agents.accepts(client, secret) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not %s"}`, secret)
		return
	}
	claims := map[string]any{
		"iss": s.URL, "aud": r.PostFormValue("audience"), "scope": r.PostFormValue("scope"), "exp": time.Now().Add(time.Hour).Unix(), "jti": rand.Text(),
	}
	switch r.PostFormValue("grant_type") {
	case "client_credentials":
		s.issued.Add(1)
	case "urn:ietf:params:oauth:grant-type:token-exchange":
		subject := r.PostFormValue("subject_token")
		person := s.personOf(subject)
		if person == "" || client != "exchange" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"not %s"}`, subject)
			return
		}
		claims["sub"] = person
		s.exchanged.Add(1)
		if s.misbehave != nil && s.misbehave(w, r, person, s.sign(s.current(), claims)) {
			return
		}
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"unsupported_grant_type"}`)
		return
	}
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, s.sign(s.current(), claims))
}

// sign returns a token, which no output may have.
func (s *authorizationServer) sign(key *ecdsa.PrivateKey, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		s.agents.t.Error(err)
		return ""
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		s.agents.t.Error(err)
	}
	s.agents.hide(token[strings.LastIndex(token, ".")+1:])
	return token
}

// personOf returns the person whose token for the caller it is, "" for none.
func (s *authorizationServer) personOf(token string) string {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return ""
	}
	var claims jwt.Claims
	if parsed.Claims(s.people.Public(), &claims) != nil || !slices.Contains(claims.Audience, callersAudience) {
		return ""
	}
	return claims.Subject
}

// verify reports whether a token is one of the current key for the agent, with its scope, and for which person.
func (s *authorizationServer) verify(token string) (person string, ok bool) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return "", false
	}
	var claims struct {
		Audience string `json:"aud"`
		Issuer   string `json:"iss"`
		Scope    string `json:"scope"`
		Subject  string `json:"sub"`
	}
	err = parsed.Claims(s.current().Public(), &claims)
	return claims.Subject, err == nil && claims.Audience == "weather" && claims.Issuer == s.URL && claims.Scope == "call"
}

func (a *remoteAgents) hide(secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets = append(a.secrets, secret)
}

func (a *remoteAgents) accepts(name, value string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.accepted[name], value)
}

// plant returns a new value that an agent accepts, in addition to its earlier values.
func (a *remoteAgents) plant(name string) string {
	value := "canary" + strings.ToLower(rand.Text()) + strings.ToLower(rand.Text())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accepted[name] = append(a.accepted[name], value)
	a.secrets = append(a.secrets, value, base64.StdEncoding.EncodeToString([]byte("user:"+value)))
	return value
}

// revoke lets each agent accept its last value only.
func (a *remoteAgents) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, values := range a.accepted {
		a.accepted[name] = values[len(values)-1:]
	}
}

// secretOf returns a Secret with the next value of an agent.
func (a *remoteAgents) secretOf(name string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string][]byte{}}
	switch name {
	case "certificate":
		certificate, key := selfSigned(a.t)
		block := strings.Split(key, "\n")[1]
		a.mu.Lock()
		a.accepted[name] = append(a.accepted[name], certificate)
		a.secrets = append(a.secrets, block)
		a.mu.Unlock()
		s.Data["tls.crt"] = []byte(certificate)
		s.Data["tls.key"] = []byte(key)
	case "basic":
		s.Data["username"] = []byte("user")
		s.Data["password"] = []byte(a.plant(name))
	case "oauth2", "exchange":
		s.Data["client-secret"] = []byte(a.plant(name))
	default:
		s.Data["token"] = []byte(a.plant(name))
	}
	return s
}

// sent returns the value of the credential in a request to an agent.
func (a *remoteAgents) sent(name string, r *http.Request) string {
	switch name {
	case "header":
		return r.Header.Get("X-Key")
	case "query":
		return r.URL.Query().Get("key")
	case "basic":
		_, password, _ := r.BasicAuth()
		return password
	case "certificate":
		if len(r.TLS.PeerCertificates) == 0 {
			return ""
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.TLS.PeerCertificates[0].Raw}))
	default:
		return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
}

// newRemoteAgents starts everything.
func newRemoteAgents(t *testing.T) *remoteAgents {
	t.Helper()
	a := &remoteAgents{
		t: t, clock: clocktesting.NewFakePassiveClock(time.Now()), servers: map[string]*httptest.Server{}, accepted: map[string][]string{},
		heard: outputs{all: map[string]*bytes.Buffer{}}, spans: tracetest.NewInMemoryExporter(),
	}
	a.issuer = &authorizationServer{agents: a}
	a.issuer.people = a.issuer.generate()
	a.issuer.rotate()
	a.issuer.Server = httptest.NewServer(a.issuer)
	t.Cleanup(a.issuer.Close)
	specs := map[string]*a2av1alpha1.RemoteCredentials{
		"bearer":      {},
		"header":      {Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Header: "X-Key"}},
		"query":       {Type: a2av1alpha1.RemoteCredentialsAPIKey, APIKey: &a2av1alpha1.RemoteAPIKey{Query: "key"}},
		"basic":       {Type: a2av1alpha1.RemoteCredentialsBasic},
		"certificate": {Type: a2av1alpha1.RemoteCredentialsClientCertificate},
		"oauth2": {Type: a2av1alpha1.RemoteCredentialsOAuth2, OAuth2: &a2av1alpha1.RemoteOAuth2{
			TokenURL: a.issuer.URL, ClientID: "oauth2", Scopes: []string{"call"}, Audience: "weather",
		}},
		"exchange": {Type: a2av1alpha1.RemoteCredentialsOAuth2, OAuth2: &a2av1alpha1.RemoteOAuth2{
			Grant: a2av1alpha1.RemoteOAuth2TokenExchange, TokenURL: a.issuer.URL, ClientID: "exchange", Scopes: []string{"call"}, Audience: "weather",
		}},
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), a2av1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := fake.NewClientBuilder().WithScheme(scheme)
	roots := x509.NewCertPool()
	for name, spec := range specs {
		server := a.serve(name)
		a.servers[name] = server
		roots.AddCert(server.Certificate())
		spec.SecretRef.Name = name
		objects.WithObjects(a.secretOf(name), &a2av1alpha1.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Spec: a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: server.URL, Credentials: spec}},
		})
	}
	a.objects = objects.Build()
	a.serveGateway(roots)
	return a
}

// serve starts a remote agent of version 0.3.
func (a *remoteAgents) serve(name string) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		value := a.sent(name, r)
		person, good := a.issuer.verify(value)
		if issued := name == "oauth2" || name == "exchange"; !issued {
			good = a.accepts(name, value)
		}
		if !good || len(body) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "not "+value)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","role":"agent","messageId":%q,"parts":[{"kind":"text","text":"Welcome %s"}]}}`, rand.Text(), person)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	return server
}

// serveGateway starts the registry and the gateway of a sidecar.
func (a *remoteAgents) serveGateway(roots *x509.CertPool) {
	a.t.Helper()
	service := credentialservice.New(credentialservice.Options{
		Agents: a.objects, Credentials: remote.NewCredentials(a.objects, &http.Transport{DisableKeepAlives: true}, a.clock).Of, Clock: a.clock,
		Expiry: a.newVerifier(), Explain: remote.Explain,
		Caller: func(*http.Request) (*credentialservice.Caller, error) {
			return &credentialservice.Caller{
				Username: "system:serviceaccount:team:caller", Namespace: "team",
				Lists: func(context.Context, string, string) (bool, error) { return true, nil },
			}, nil
		},
		Log: funcr.New(func(prefix, args string) { a.heard.add("the log of the manager", []byte(prefix+args)) }, funcr.Options{Verbosity: 10}),
	})
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/agents/team/"), "/")
		switch {
		case r.URL.Path == sidecarconfig.RemoteCredentialPath:
			service.ServeHTTP(w, r)
		case a.servers[name] == nil:
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, "/card"):
			_, _ = fmt.Fprintf(w, `{"name":"W","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`, a.servers[name].URL)
		default:
			_, _ = fmt.Fprintf(w, `{"namespace":"team","name":%q,"url":%q,"remote":true,"cardDigest":"1"}`, name, a.servers[name].URL)
		}
	}))
	a.t.Cleanup(registry.Close)
	shares, err := memoryshare.Divide(memoryshare.Default)
	if err != nil {
		a.t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(lines{&a.heard, "the log of the sidecar"}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	calls := translator.New(translator.Options{
		Policy: &egress.Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Local: true}, Roots: func() *x509.CertPool { return roots },
		Limits: &httpcall.Limits{
			MaxBody: func() int64 { return 1 << 20 }, Bodies: limit.NewBudget(8<<20, time.Second), Answers: limit.NewBudget(8<<20, time.Second),
			WriteTimeout: 10 * time.Second, Now: time.Now,
		},
		Memory: &shares, Events: backend.NewMemory(shares.Events), Working: func() {}, Log: log, Now: a.clock.Now,
	})
	token := a.t.TempDir() + "/token"
	if err := os.WriteFile(token, []byte("token-of-caller"), 0o600); err != nil {
		a.t.Fatal(err)
	}
	tracer := &tracing.Tracer{}
	tracer.Swap(&tracing.Settings{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(a.spans)).Tracer(tracing.Name), Agent: "caller"})
	handler := gateway.New(&gateway.Config{
		RegistryURL: registry.URL, AgentURL: "http://{name}.{namespace}.svc", TokenFile: token, TokenURL: registry.URL + sidecarconfig.TokenPath,
		CredentialURL: registry.URL + sidecarconfig.RemoteCredentialPath, Audience: sidecarconfig.AgentAudience, Client: "caller.team.a2a-operator.dev",
	}, gateway.Options{
		Tracer: tracer, Turns: &a.turns, Transport: &http.Transport{DisableKeepAlives: true}, Remotes: calls, Deny: translator.Deny, ObserveExchange: func(error) {},
		Bodies: limit.NewBudget(8<<20, time.Second), Log: log, Now: a.clock.Now,
	})
	a.gateway = httptest.NewServer(handler)
	a.t.Cleanup(func() {
		a.gateway.Close()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = calls.Drain(ended)
		calls.Close()
	})
}

// call calls an agent through the gateway, in the turn of a person or, for "", of nobody. It returns "" or what went wrong.
func (a *remoteAgents) call(client *http.Client, name, person string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":%q,"role":"user","parts":[{"kind":"text","text":"Hi"}]}}}`, rand.Text())
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, a.gateway.URL+"/agents/team/"+name+"/", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	if person != "" {
		r.Header.Set("A2A-Task-Id", "turn of "+person)
	}
	response, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	a.heard.add("a response", text)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), `"text":"Welcome `+person+`"`) {
		return fmt.Sprintf("%d %s %v", response.StatusCode, text, err)
	}
	return ""
}

// rotate replaces the credentials of all agents, as an administrator does: the agents accept the new ones, the Secrets get them,
// and a moment later the agents refuse the old ones.
func (a *remoteAgents) rotate() {
	a.t.Helper()
	for name := range a.servers {
		if err := a.objects.Update(a.t.Context(), a.secretOf(name)); err != nil {
			a.t.Fatal(err)
		}
	}
	a.clock.SetTime(a.clock.Now().Add(15 * time.Second))
	a.revoke()
	a.issuer.rotate()
}

// TestCredentialsOfRemoteAgentsRotateUnderLoad rotates the credentials of remote agents of every type while they are called: no call
// fails, and no log and no response has a value. An agent that refuses a credential repeats it in its response.
func TestCredentialsOfRemoteAgentsRotateUnderLoad(t *testing.T) {
	const rotations, calls = 4, 20 // calls of each agent in each rotation
	a := newRemoteAgents(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	type target struct{ name, person string }
	targets := []target{{"exchange", "u1"}, {"exchange", "u2"}}
	for name := range a.servers {
		targets = append(targets, target{name: name})
	}
	a.beginTurn("u1", a.tokenOf("u1", time.Hour))
	a.beginTurn("u2", a.tokenOf("u2", time.Hour))
	counts := map[target]*atomic.Int64{}
	failed := atomic.Int64{}
	for _, name := range targets {
		count := &atomic.Int64{}
		counts[name] = count
		for range 2 {
			wg.Go(func() {
				client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
				defer client.CloseIdleConnections()
				for {
					select {
					case <-stop:
						return
					default:
					}
					if problem := a.call(client, name.name, name.person); problem != "" {
						failed.Add(1)
						t.Errorf("%v: %s", name, problem)
						return
					}
					count.Add(1)
				}
			})
		}
	}
	for i := range rotations + 1 {
		for name, count := range counts {
			for deadline := time.Now().Add(time.Minute); count.Load() < int64(calls*(i+1)) && failed.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%v: %d calls in a minute", name, count.Load())
				}
			}
		}
		if i < rotations {
			a.rotate()
		}
	}
	close(stop)
	wg.Wait()
	total := int64(0)
	for _, count := range counts {
		total += count.Load()
	}
	t.Logf("%d rotations of %d credentials: %d calls, %d failed, %d tokens issued, %d exchanged",
		rotations, len(counts), total, failed.Load(), a.issuer.issued.Load(), a.issuer.exchanged.Load())
	for _, n := range []int64{a.issuer.issued.Load(), a.issuer.exchanged.Load()} { // for two Agents, and for two users
		if n < 2*rotations || n > 8*rotations {
			t.Errorf("the authorization server issued %d tokens for %d rotations", n, rotations)
		}
	}

	// A token for another audience is not accepted, and not requested for each call.
	other := &a2av1alpha1.Agent{}
	if err := a.objects.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "oauth2"}, other); err != nil {
		t.Fatal(err)
	}
	other.Spec.Remote.Credentials.OAuth2.Audience = "rain"
	if err := a.objects.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	a.issuer.rotate()
	a.clock.SetTime(a.clock.Now().Add(15 * time.Second))
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	before := a.issuer.issued.Load()
	for range 5 {
		if problem := a.call(once, "oauth2", ""); !strings.Contains(problem, "The agent requires other credentials") {
			t.Errorf("a token for another audience: %q", problem)
		}
	}
	if n := a.issuer.issued.Load() - before; n != 1 {
		t.Errorf("%d tokens were requested for 5 calls that the agent refuses, want 1", n)
	}

	// Credentials that the agents do not accept any more: the calls fail, and the failures have no value either.
	a.mu.Lock()
	for name := range a.accepted {
		a.accepted[name] = []string{"another"}
	}
	a.mu.Unlock()
	a.issuer.rotate()
	a.clock.SetTime(a.clock.Now().Add(15 * time.Second))
	for name := range a.servers {
		if problem := a.call(once, name, ""); problem == "" {
			t.Errorf("%s: a call with a refused credential succeeds", name)
		}
	}
	if n := len(a.spans.GetSpans()); int64(n) < total {
		t.Errorf("%d spans of %d calls", n, total)
	}
	a.checkSecrets()
}

// checkSecrets searches everything that was emitted for the credentials of all.
func (a *remoteAgents) checkSecrets() {
	t := a.t
	t.Helper()
	spans := a.spans.GetSpans()
	a.heard.add("a span", fmt.Appendf(nil, "%+v", spans))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard.mu.Lock()
	defer a.heard.mu.Unlock()
	for where, text := range a.heard.all {
		for _, secret := range a.secrets {
			if strings.Contains(text.String(), secret) {
				t.Errorf("%s has a credential of a remote agent", where)
			}
		}
	}
	for _, where := range []string{"a response", "the log of the sidecar", "the log of the manager", "a span"} {
		if a.heard.all[where] == nil {
			t.Errorf("no output of %s was searched", where)
		}
	}
	t.Logf("T-SECRET: %d credentials of remote agents in %d outputs", len(a.secrets), len(a.heard.all))
}
