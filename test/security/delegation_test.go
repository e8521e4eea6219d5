// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/operator/celcompile"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenkeys"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
	"github.com/a2a-operator/a2a-operator/test/tracecollector"
)

const clusterIssuer = "https://kubernetes.default.svc"

// chain is the agents researcher, relay and echo with their sidecars, the token exchange of the registry, and an issuer of tokens for
// people. Each agent calls the next one through its gateway.
type chain struct {
	t                       *testing.T
	cluster                 *ecdsa.PrivateKey
	issuer, registry        *httptest.Server
	keys                    *tokenkeys.Set
	researcher, relay, echo *sidecartest.Fixture
	// traces receives the spans of all sidecars.
	traces *tracecollector.Collector
	// heard has what the containers received, and what the registry was asked for.
	heard outputs

	// hold keeps the container of echo waiting until it is closed. Nil does not.
	hold chan struct{}
	// away is true while the registry does not answer.
	away atomic.Bool

	mu sync.Mutex
	// people are the keys of the issuer. The last one signs the tokens of people.
	people []jose.JSONWebKey
	// seen has the headers of the requests to the container of echo, and relayed those to the container of relay.
	seen, relayed []http.Header
	// tokens are the tokens that the registry has issued.
	tokens []string
	// turns receives the requests to the container of researcher, which waits for proceed.
	turns   chan http.Header
	proceed chan struct{}
}

func newChain(t *testing.T, rule string) *chain {
	t.Helper()
	c := &chain{t: t, traces: tracecollector.Start(t), turns: make(chan http.Header, 16), proceed: make(chan struct{}), heard: outputs{all: map[string]*bytes.Buffer{}}}
	var err error
	if c.cluster, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	c.signWithANewKey()
	c.issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write(c.publishedKeys())
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, "http://"+r.Host, "http://"+r.Host+"/keys")
	}))
	t.Cleanup(c.issuer.Close)
	if c.keys, err = tokenkeys.Generate(time.Now()); err != nil {
		t.Fatal(err)
	}
	c.registry = c.newRegistry()
	c.echo = c.start("echo", "", rule, func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.seen = append(c.seen, r.Header)
		c.mu.Unlock()
		if c.hold != nil {
			select {
			case <-c.hold:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "Hi")
	})
	c.relay = c.start("relay", c.echo.URL, "", func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.relayed = append(c.relayed, r.Header)
		c.mu.Unlock()
		status, text := c.call(c.relay, r.Header.Get("A2A-Task-Id"))
		_, _ = fmt.Fprintf(w, "%d %s", status, text)
	})
	c.researcher = c.start("researcher", c.relay.URL, "", c.research)
	return c
}

// research is the container of researcher. It asks relay, or waits for proceed.
func (c *chain) research(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(askRelay)) {
		status, text := c.call(c.researcher, r.Header.Get("A2A-Task-Id"))
		_, _ = fmt.Fprintf(w, "%d %s", status, text)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = io.WriteString(w, `{"text":"begun"}`+"\n")
	_ = http.NewResponseController(w).Flush()
	c.turns <- r.Header
	select {
	case <-c.proceed:
	case <-r.Context().Done():
	}
}

func keySet(keys ...*ecdsa.PrivateKey) []byte {
	set := jose.JSONWebKeySet{}
	for _, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: "k", Algorithm: "ES256"})
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	return text
}

// signWithANewKey adds a key to those of the issuer of people, which signs their tokens from now on.
func (c *chain) signWithANewKey() {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.people = append(c.people, jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: "ES256"})
}

// withdrawOldKeys removes all keys of the issuer of people but the last one.
func (c *chain) withdrawOldKeys() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.people = c.people[len(c.people)-1:]
}

func (c *chain) publishedKeys() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := jose.JSONWebKeySet{}
	for i := range c.people {
		set.Keys = append(set.Keys, c.people[i].Public())
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic(err)
	}
	return text
}

// newRegistry serves the lookup of agents and the exchange of tokens. The ServiceAccount token of an agent is "token-of-" and its name.
func (c *chain) newRegistry() *httptest.Server {
	issuers := tokenexchange.NewIssuers(tokenexchange.IssuersOptions{Transport: &http.Transport{DisableKeepAlives: true}, Log: logr.Discard(), Clock: clock.RealClock{}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		_ = issuers.Start(ctx)
		close(ended)
	}()
	c.t.Cleanup(func() {
		cancel()
		<-ended
	})
	exchange := tokenexchange.New(tokenexchange.Options{
		Signer: func() tokenexchange.Signer { return c.keys },
		Authenticate: func(r *http.Request) (*tokenexchange.Subject, error) {
			name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer token-of-")
			if !ok {
				return nil, tokenexchange.InvalidToken("not the token of an agent")
			}
			return &tokenexchange.Subject{
				Username: "system:serviceaccount:team:" + name, UID: "uid-" + name,
				Lists: func(context.Context, string, string) (bool, error) { return true, nil },
			}, nil
		},
		Subjects: tokenexchange.NewVerifier(tokenexchange.VerifierOptions{
			Agent: func(_ context.Context, name types.NamespacedName) (*a2av1alpha1.Agent, error) {
				agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
				agent.Spec.Workload = &a2av1alpha1.AgentWorkload{}
				agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{
					{Type: a2av1alpha1.AuthenticationKubernetes},
					{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: c.issuer.URL, Audiences: []string{name.Name}}},
				}
				return agent, nil
			},
			Issuers: func() []auth.KubernetesIssuer {
				return []auth.KubernetesIssuer{
					{Issuer: clusterIssuer, Keys: keySet(c.cluster)}, {Issuer: sidecarconfig.TokenIssuer, Keys: c.keys.KeySet(), Delegates: true},
				}
			},
			People: issuers, Clock: clock.RealClock{},
		}),
		Log: logr.Discard(), Clock: clock.RealClock{},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() {
			panic(http.ErrAbortHandler)
		}
		if r.URL.Path == sidecarconfig.TokenPath {
			exchange.ServeHTTP(issued{w, c}, r)
			return
		}
		namespace, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/agents/"), "/")
		_, _ = fmt.Fprintf(w, `{"namespace":%q,"name":%q,"url":"http://%s.%s.svc/"}`, namespace, name, name, namespace)
	}))
	c.t.Cleanup(server.Close)
	return server
}

// start starts an agent with its sidecar, whose gateway calls the agent at next.
func (c *chain) start(name, next, rule string, container http.HandlerFunc, change ...func(*sidecartest.Fixture, *sidecarconfig.Config)) *sidecartest.Fixture {
	token := filepath.Join(c.t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token-of-"+name), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return sidecartest.Start(c.t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.heard.add("the container of "+name, fmt.Appendf(slices.Clone(body), "%s %v", r.RequestURI, r.Header))
		r.Body = io.NopCloser(bytes.NewReader(body))
		container(w, r)
	}, slices.Insert(change, 0, func(f *sidecartest.Fixture, config *sidecarconfig.Config) {
		f.Log = slog.NewJSONHandler(lines{&c.heard, "the log of " + name}, &slog.HandlerOptions{Level: slog.LevelDebug})
		config.Agent.Name = name
		config.Observability.AccessLog = true
		// The calls of all users have one caller at the next agent.
		config.Limits.Requests.PerSecond = 10_000
		config.Limits.TotalRequests.PerSecond = 10_000
		config.Tracing = &sidecarconfig.Tracing{Endpoint: c.traces.URL, SamplingPercent: 100}
		kubernetes := func(issuer string, keys []byte) sidecarconfig.Authentication {
			return sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationKubernetes, Kubernetes: &sidecarconfig.KubernetesAuthentication{
				Issuer: issuer, Audiences: []string{name + ".team.a2a-operator.dev"}, Keys: keys,
			}}
		}
		config.Access = sidecarconfig.Access{
			Namespaces: []string{"*"},
			Authentication: []sidecarconfig.Authentication{
				kubernetes(clusterIssuer, keySet(c.cluster)), kubernetes(sidecarconfig.TokenIssuer, c.keys.KeySet()),
				{Type: sidecarconfig.AuthenticationJWT, JWT: &sidecarconfig.JWTAuthentication{Issuer: c.issuer.URL, Audiences: []string{name}}},
				{Type: sidecarconfig.AuthenticationAnonymous},
			},
		}
		if rule != "" {
			checked, err := celcompile.Compile("", rule)
			if err != nil {
				c.t.Fatal(err)
			}
			config.Access.Authorization = &sidecarconfig.Authorization{Rules: []sidecarconfig.Rule{{
				Name: "rule", Action: sidecarconfig.ActionAllow, Expression: &sidecarconfig.Expression{Text: rule, Checked: checked},
			}}}
		}
		if next != "" {
			config.Gateway = &sidecarconfig.Gateway{RegistryURL: c.registry.URL, AgentURL: next, TokenFile: token}
		}
	})...)
}

// lines adds each line of a log to outputs.
type lines struct {
	to    *outputs
	where string
}

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.to.add(l.where, line)
	return len(line), nil
}

// issued stores the token of a response of the token exchange.
type issued struct {
	http.ResponseWriter
	chain *chain
}

// Write implements http.ResponseWriter.
func (w issued) Write(body []byte) (int, error) {
	var answer struct {
		Token string `json:"access_token"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Token != "" {
		w.chain.mu.Lock()
		w.chain.tokens = append(w.chain.tokens, answer.Token)
		w.chain.mu.Unlock()
	}
	return w.ResponseWriter.Write(body)
}

// person returns a token of a person for researcher.
func (c *chain) person(name string, life time.Duration) string {
	c.t.Helper()
	c.mu.Lock()
	key := c.people[len(c.people)-1]
	c.mu.Unlock()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	claims := map[string]any{"iss": c.issuer.URL, "sub": name, "aud": "researcher", "exp": time.Now().Add(life).Unix(), "team": "of-" + name}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		c.t.Fatal(err)
	}
	return token
}

// principalOfU1 returns the principal of the person u1.
func (c *chain) principalOfU1() string { return "jwt:" + c.issuer.URL + "#u1" }

// ask sends a message to an agent as the owner of a token, "" for none. It returns the status and the text of the response.
func (c *chain) ask(base, token, params string, headers ...string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, base+"/", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,%s}`, params)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	response, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	c.heard.add("a response", fmt.Appendf(text, "%v", response.Header))
	return response.StatusCode, string(text)
}

// askRelay is a message that lets the container of researcher call relay and answer with the response.
const askRelay = "Ask relay"

// sending returns a request with a message and more members of its parameters.
func sending(text, more string) string {
	return fmt.Sprintf(`"method":"SendMessage","params":{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}%s}`, rand.Text(), text, more)
}

// call calls the next agent through the gateway of an agent, as its container does during a turn of the task.
func (c *chain) call(from *sidecartest.Fixture, task string, headers ...string) (int, string) {
	if task != "" {
		headers = append(headers, "A2A-Task-Id", task)
	}
	return c.ask(c.next(from), "", sending("Hi", ""), headers...)
}

// next returns the URL of the next agent at the gateway of an agent.
func (c *chain) next(from *sidecartest.Fixture) string {
	if from == c.relay {
		return from.Gateway + "/agents/team/echo"
	}
	return from.Gateway + "/agents/team/relay"
}

// begin begins a turn of researcher for the owner of a token, and returns the header of the turn. The turn runs until end.
func (c *chain) begin(token string) (header http.Header, end func()) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		status, text := c.ask(c.researcher.URL, token, sending("Hi", `,"configuration":{"returnImmediately":true}`))
		if status == http.StatusOK {
			break
		}
		if !strings.Contains(text, "the keys of its issuer are not known") || time.Now().After(deadline) {
			c.t.Fatalf("status %d: %s", status, text)
		}
	}
	select {
	case header = <-c.turns:
	case <-time.After(20 * time.Second):
		c.t.Fatal("the turn does not begin")
	}
	return header, func() { c.proceed <- struct{}{} }
}

// last returns the subject and the principal in the last request to the container of echo.
func (c *chain) last() (subject, principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return "", ""
	}
	header := c.seen[len(c.seen)-1]
	return header.Get("A2A-Subject"), header.Get("A2A-Principal")
}

// calls returns the number of requests to the container of echo.
func (c *chain) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// proven returns the header about the proof in the last request to the container of echo.
func (c *chain) proven() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[len(c.seen)-1].Get("A2A-Subject-Proven")
}

// awaitTaskEnd waits until no turn of a task runs.
func (c *chain) awaitEnd(token, task string) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, text := c.ask(c.researcher.URL, token, fmt.Sprintf(`"method":"GetTask","params":{"id":%q}`, task)); strings.Contains(text, "TASK_STATE_COMPLETED") {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("the turn does not end")
		}
	}
}

// TestUsersAreToldApartTwoHopsAway calls researcher as two people. Their calls reach echo through relay.
func TestUsersAreToldApartTwoHopsAway(t *testing.T) {
	c := newChain(t, `subject.principal.endsWith("#u1") && subject.proven && subject.claims.team == "of-u1" && "researcher" in subject.claims.aud && caller.principal == "system:serviceaccount:team:relay"`)
	u1, end1 := c.begin(c.person("u1", time.Hour))
	u2, end2 := c.begin(c.person("u2", time.Hour))
	status, text := c.call(c.researcher, u1.Get("A2A-Task-Id"))
	if subject, principal := c.last(); status != http.StatusOK || !strings.Contains(text, "200 ") || subject != c.principalOfU1() ||
		principal != "system:serviceaccount:team:relay#uid-relay for system:serviceaccount:team:researcher#uid-researcher for "+c.principalOfU1() {
		t.Errorf("u1: %d %s, subject %q, principal %q", status, text, subject, principal)
	}
	if got := c.proven(); got != "true" {
		t.Errorf("A2A-Subject-Proven of a proven user: %q", got)
	}
	if status, text := c.call(c.researcher, u2.Get("A2A-Task-Id")); status != http.StatusOK || !strings.Contains(text, "PERMISSION_DENIED") && !strings.Contains(text, "Forbidden") {
		t.Errorf("u2: %d %s", status, text)
	}
	if len(c.seen) != 1 {
		t.Errorf("the container of echo got %d requests, want 1", len(c.seen))
	}
	end1()
	end2()
}

// TestContainersCannotLieAboutUsers lets the container of researcher try to act for people whose turns do not run. It also searches for
// the tokens of people in everything that the containers and the clients got.
func TestContainersCannotLieAboutUsers(t *testing.T) {
	c := newChain(t, "")
	token1, token2 := c.person("u1", time.Hour), c.person("u2", time.Hour)
	u1, end1 := c.begin(token1)
	task1 := u1.Get("A2A-Task-Id")
	status, text := c.call(c.researcher, task1)
	relayed := regexp.MustCompile(`"task":{"id":"([^"]+)"`).FindStringSubmatch(text)
	if status != http.StatusOK || relayed == nil {
		t.Fatalf("status %d: %s", status, text)
	}
	if subject, _ := c.last(); subject != c.principalOfU1() {
		t.Fatalf("subject %q", subject)
	}
	end1()
	c.awaitEnd(token1, task1)

	u2, end2 := c.begin(token2)
	attempts := 0
	accepted := 0
	try := func(what, task string, headers ...string) {
		t.Helper()
		attempts++
		before := c.calls()
		c.call(c.researcher, task, headers...)
		if subject, principal := c.last(); c.calls() > before && strings.Contains(subject+principal, "#u1") {
			accepted++
			t.Errorf("%s: echo is called for %q by %q", what, subject, principal)
		}
	}
	try("the task of a turn that has ended", task1)
	try("the task of a turn that has ended, in another case", strings.ToUpper(task1))
	try("a task that does not exist", "018f0000-0000-7000-8000-000000000000")
	try("no task", "")
	try("the principal as the task", c.principalOfU1())
	try("two tasks", u2.Get("A2A-Task-Id")+","+task1)
	for _, header := range []string{"A2A-Subject", "A2A-Principal", "X-Forwarded-User", "A2A-Task-Owner"} {
		try(header+" without a task", "", header, c.principalOfU1())
		try(header+" in the turn of another user", u2.Get("A2A-Task-Id"), header, c.principalOfU1())
	}
	try("the token of the user", "", "Authorization", "Bearer "+token1)
	// The task of u1 at relay belongs to researcher and u1: u2 and researcher itself do not see it.
	for what, task := range map[string]string{"u2": u2.Get("A2A-Task-Id"), "researcher": ""} {
		attempts += 2
		headers := []string{"A2A-Task-Id", task}
		if task == "" {
			headers = nil
		}
		_, text := c.ask(c.next(c.researcher), "", `"method":"ListTasks","params":{}`, headers...)
		_, task := c.ask(c.next(c.researcher), "", fmt.Sprintf(`"method":"GetTask","params":{"id":%q}`, relayed[1]), headers...)
		if strings.Contains(text, relayed[1]) || !strings.Contains(text, `"tasks"`) || !strings.Contains(task, "TASK_NOT_FOUND") {
			accepted++
			t.Errorf("the tasks of u1 for %s: %s; %s", what, text, task)
		}
	}
	end2()
	t.Logf("T-DELEGATE: %d attempts to act for another user, %d accepted", attempts, accepted)

	for _, f := range []*sidecartest.Fixture{c.researcher, c.relay, c.echo} {
		for _, path := range []string{"/metrics", "/readyz"} {
			response, err := http.Get(f.Health + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			c.heard.add("metrics and probes", body)
		}
	}
	c.traces.Await(t, tracecollector.Server("researcher", "SendMessage"), tracecollector.Client("researcher", "invoke_agent team/relay"),
		tracecollector.Server("relay", "SendMessage"), tracecollector.Client("relay", "invoke_agent team/echo"), tracecollector.Server("echo", "SendMessage"),
		// The last calls of the test, so that the spans of all others were exported, too.
		tracecollector.Server("relay", "ListTasks"), tracecollector.Server("relay", "GetTask"))
	spans := c.traces.Requests()
	c.heard.add("a trace", []byte(spans))
	if strings.Contains(spans, "#u1") || strings.Contains(spans, "system:serviceaccount") {
		t.Error("a span has a principal")
	}
	c.mu.Lock()
	secrets := append([]string{token1, token2, "token-of-"}, c.tokens...)
	c.mu.Unlock()
	if len(secrets) < 6 {
		t.Errorf("the registry has issued %d tokens", len(secrets)-3)
	}
	c.heard.mu.Lock()
	defer c.heard.mu.Unlock()
	for _, where := range []string{"the container of echo", "the log of researcher", "the log of echo", "a response", "metrics and probes", "a trace"} {
		if c.heard.all[where] == nil {
			t.Errorf("no output of %s was searched", where)
		}
	}
	for where, text := range c.heard.all {
		for _, secret := range secrets {
			if strings.Contains(text.String(), secret[strings.LastIndex(secret, ".")+1:]) { // the signature, or the whole
				t.Errorf("%s has a token", where)
			}
		}
	}
	t.Logf("T-SECRET: %d tokens of callers and for calls in %d outputs", len(secrets), len(c.heard.all))
	if log := c.heard.all["the log of echo"].String(); !strings.Contains(log, `"subject":"`+c.principalOfU1()+`","proven":true`) {
		t.Errorf("the log of echo does not name the subject: %s", log)
	}
}

// TestSubjectIsAssertedWithoutAToken calls without a token, and in a turn whose token expires while it runs.
func TestSubjectIsAssertedWithoutAToken(t *testing.T) {
	c := newChain(t, `!subject.proven && subject.issuer == "" && subject.claims == {}`)
	anonymous, end := c.begin("")
	if status, text := c.call(c.researcher, anonymous.Get("A2A-Task-Id")); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Errorf("anonymous: %d %s", status, text)
	}
	if subject, _ := c.last(); subject != "system:anonymous" || c.proven() != "" {
		t.Errorf("subject %q, proven %q", subject, c.proven())
	}
	end()
	// The sidecar tolerates a token that expired less than a minute ago. The registry does not.
	late, end := c.begin(c.person("u1", -10*time.Second))
	if status, text := c.call(c.researcher, late.Get("A2A-Task-Id")); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Errorf("expired: %d %s", status, text)
	}
	if subject, _ := c.last(); subject != c.principalOfU1() {
		t.Errorf("subject %q", subject)
	}
	end()
}
