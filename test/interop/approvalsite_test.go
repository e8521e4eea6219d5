// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	"github.com/a2a-operator/a2a-operator/internal/operator"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/internal/web/uiserver"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/pyenv"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// approvalSite is an agent without code, team/echo, whose model calls a tool that needs an approval, and the page of the manager. Both know
// the people of one issuer. A gateway leads to the agent, too.
type approvalSite struct {
	*sidecartest.Fixture
	// gateway is the base URL of the gateway of another agent, and caller the token with which it calls team/echo.
	gateway, caller string
	mcp             string
	page            string
	issuer          string
	people          approvalKey

	mu       sync.Mutex
	deployed map[string]int
}

// approvalKey signs tokens.
type approvalKey struct{ *ecdsa.PrivateKey }

func newApprovalKey(t *testing.T) approvalKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return approvalKey{key}
}

// Sign implements tokenexchange.Signer.
func (k approvalKey) Sign(claims any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.PrivateKey, KeyID: "k"}}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

func (k approvalKey) set(t *testing.T) []byte {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func newApprovalSite(t *testing.T) *approvalSite {
	t.Helper()
	a := &approvalSite{people: newApprovalKey(t), deployed: map[string]int{}}
	keys := a.people.set(t)
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write(keys)
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, a.issuer, a.issuer+"/keys")
	}))
	t.Cleanup(issuer.Close)
	a.issuer = issuer.URL
	pageKey := newApprovalKey(t)
	pageAddress := freeport.Address(t)
	a.page = "http://" + pageAddress
	model := httptest.NewServer(http.HandlerFunc(deployingModel))
	t.Cleanup(model.Close)
	a.startTools(t)
	a.Fixture = sidecartest.Start(t, sidecartest.TextAgent, sidecartest.WithTokens, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Backend = sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolChatCompletions, URL: model.URL, Model: sidecarconfig.Model{
			Name: "m", MCP: []sidecarconfig.MCPServer{{URL: a.mcp, Allow: []string{}, Deny: []string{}, Approval: []string{"deploy"}}},
		}}
		c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationJWT, JWT: &sidecarconfig.JWTAuthentication{
			Issuer: a.issuer, Audiences: []string{"echo"}, JWKSURL: a.issuer + "/keys",
		}})
		c.Decisions = &sidecarconfig.Decisions{Page: &sidecarconfig.DecisionPage{
			URL: "https://" + pageAddress + "/approvals/team/echo", Issuer: a.issuer, Audience: "echo.team.a2a-operator.dev", Keys: pageKey.set(t),
		}}
	}, sidecartest.WithoutAnonymous)
	a.startPage(t, pageAddress, pageKey)
	a.startGateway(t)
	return a
}

// deployingModel is a model server. It calls deploy with the version that the last message of the user names, and answers with the result.
func deployingModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct {
			Role    string
			Content string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	message := map[string]any{"role": "assistant"}
	last := in.Messages[len(in.Messages)-1]
	if version, found := strings.CutPrefix(last.Content, "Deploy "); found && last.Role == "user" {
		arguments, err := json.Marshal(map[string]string{"namespace": "shop", "version": version})
		if err != nil {
			panic(err) // fails the request, and the call is then missing in the test
		}
		message["tool_calls"] = []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "deploy", "arguments": string(arguments)}}}
	} else {
		message["content"] = last.Content
	}
	text, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
	if err != nil {
		panic(err) // fails the request, and the answer is then missing in the test
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// startTools starts an MCP server with the tool deploy.
func (a *approvalSite) startTools(t *testing.T) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "deploy", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var arguments struct{ Namespace, Version string }
		if err := json.Unmarshal(r.Params.Arguments, &arguments); err != nil || arguments.Namespace != "shop" {
			return nil, errors.New("other arguments than the model has sent")
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deployed[arguments.Version]++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Deployed " + arguments.Version}}}, nil
	})
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	a.mcp = s.URL
}

func (a *approvalSite) deployments(version string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deployed[version]
}

// startPage starts the page for people.
func (a *approvalSite) startPage(t *testing.T, address string, key approvalKey) {
	t.Helper()
	scheme, err := operator.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	agents := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"}}).Build()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	// The Service of the agent. A sidecar at a loopback address accepts no other Host.
	target, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport})
	t.Cleanup(service.Close)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, service.Listener.Addr().String())
	}
	server := uiserver.New(uiserver.Options{
		BindAddress: address, Memory: 64 << 20, URL: &url.URL{Scheme: "https", Host: address}, Agents: agents, Clock: clock.RealClock{}, Log: logr.Discard(),
		OIDC:    access.OIDCOptions{Issuer: a.issuer, Audience: "page", UsernameClaim: "sub", UsernamePrefix: "oidc:", Transport: transport},
		Connect: operator.DecisionCalls(operator.DecisionCallOptions{Agents: agents, Signer: func() tokenexchange.Signer { return key }, Now: time.Now, Dial: dial}),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// startGateway starts the sidecar of another agent, whose gateway leads to the agent.
func (a *approvalSite) startGateway(t *testing.T) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("identity"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.caller = a.Token(t, "caller")
	listed := newRegistry(t, a.URL)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == exchangetest.Path {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":600,"issued_token_type":"urn:ietf:params:oauth:token-type:jwt"}`, a.caller)
			return
		}
		listed.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(registry.Close)
	a.gateway = sidecartest.Start(t, sidecartest.TextAgent, func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: a.URL, TokenFile: token}
	}).Gateway
}

// person returns the token of the person for an audience.
func (a *approvalSite) person(audience string) string {
	text, err := a.people.Sign(map[string]any{"iss": a.issuer, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		panic(err) // the key signs every claim
	}
	return text
}

// ownerOf returns the token of the caller in whose name a client calls.
func (a *approvalSite) ownerOf(d decider) string {
	switch p := d.(type) {
	case *programDecider:
		return p.token
	case *profileProgram:
		return p.token
	case *formDecider:
		return p.token
	}
	return a.person("echo")
}

func (a *approvalSite) raw(t *testing.T, version string, request func(string) (string, string)) decider {
	t.Helper()
	return &rawDecider{client: sidecartest.Client(t, a.person("echo")), url: a.URL, version: version, message: request}
}

// state returns the state of a task of a caller.
func (a *approvalSite) state(t *testing.T, token, task string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, task)
	response, err := sidecartest.Client(t, token).Post(a.URL+"/", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct{ Result json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	got, err := shownOf(answer.Result)
	if err != nil {
		t.Fatal(err)
	}
	return got.State
}

// open opens the page as the person.
func (a *approvalSite) open(t *testing.T, method string, at *url.URL, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.page+at.RequestURI(), strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.person("page"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := sidecartest.Plain(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// programDecider is a program with an SDK of another language. It reads a line of JSON for each message, and writes a line with the answer.
type programDecider struct {
	name  string
	token string
	in    *json.Encoder
	out   *bufio.Scanner
	// errors has what the program writes to stderr.
	errors *strings.Builder
}

// profileProgram is a programDecider that knows the extension.
type profileProgram struct{ *programDecider }

func (d *programDecider) say(ctx context.Context, task, text string) (*shown, error) {
	return d.send(ctx, task, text, nil)
}

func (d *profileProgram) decide(ctx context.Context, task string, object json.RawMessage) (*shown, error) {
	return d.send(ctx, task, "A person has decided.", object)
}

func (d *programDecider) send(_ context.Context, task, text string, object json.RawMessage) (*shown, error) {
	if err := d.in.Encode(map[string]any{"task": task, "text": text, "object": object}); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", d.name, err, d.errors)
	}
	if !d.out.Scan() {
		return nil, fmt.Errorf("%s ends: %s", d.name, d.errors)
	}
	var answer struct {
		Task        json.RawMessage
		Text, Error string
	}
	if err := json.Unmarshal(d.out.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("%s writes %q: %w", d.name, d.out.Text(), err)
	}
	switch {
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	case answer.Task == nil:
		return &shown{Text: answer.Text}, nil
	}
	return shownOf(answer.Task)
}

// start starts a program. It gets a job, and calls in the name of the owner of token.
func (a *approvalSite) start(t *testing.T, dir, program string, arguments []string, token, protocol, binding string) *programDecider {
	t.Helper()
	job, err := json.Marshal(map[string]string{
		"url": a.URL, "gateway": a.gateway, "scheme": "jwt", "credential": token, "protocol": protocol, "binding": binding,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	command := exec.CommandContext(ctx, program, append(arguments, string(job))...)
	command.Dir = dir
	d := &programDecider{name: strings.Join(arguments, " "), token: token, errors: &strings.Builder{}}
	command.Stderr = d.errors
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the program
		_ = command.Wait()
		cancel()
	})
	d.in = json.NewEncoder(in)
	d.out = bufio.NewScanner(out)
	d.out.Buffer(nil, 1<<20)
	return d
}

// pythonDecider runs python/approve.py with a client.
func pythonDecider(environmentName, client, protocol, binding string) func(*testing.T, *approvalSite) (decider, error) {
	return func(t *testing.T, a *approvalSite) (decider, error) {
		t.Helper()
		if testing.Short() {
			t.Skip("Python programs are not run with -short")
		}
		python := pyenv.Python(t, filepath.Join("python", "requirements", environmentName+".txt"))
		token := a.person("echo")
		if protocol == "" {
			token = a.caller
		}
		d := a.start(t, "python", python, []string{"-u", "approve.py", client}, token, protocol, binding)
		if protocol == "" {
			return d, nil
		}
		return &profileProgram{d}, nil
	}
}

// jsDecider runs js/approve.mjs with a client.
func jsDecider(client, protocol, binding string) func(*testing.T, *approvalSite) (decider, error) {
	return func(t *testing.T, a *approvalSite) (decider, error) {
		t.Helper()
		program, err := node()
		if err != nil {
			t.Skipf("SKIPPED: the JavaScript client does not run: %v", err)
		}
		if protocol == "" {
			return a.start(t, "js", program, []string{"approve.mjs", client}, a.caller, protocol, binding), nil
		}
		return &profileProgram{a.start(t, "js", program, []string{"approve.mjs", client}, a.person("echo"), protocol, binding)}, nil
	}
}
