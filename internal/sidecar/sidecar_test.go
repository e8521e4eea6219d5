// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/reload"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
)

func TestAccess(t *testing.T) {
	p := newPod(t, respondHi, nil)
	tests := map[string]struct {
		headers []string
		status  int
		want    string
	}{
		"own namespace": {[]string{"Authorization", "Bearer " + p.token("team")}, 200, `"state":"completed"`},
		"no token":      {nil, 401, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"A credential is required; the security schemes of the Agent Card name the kinds"}}`},
		"bad token":     {[]string{"Authorization", "Bearer x"}, 401, `"code":-32603`},
		"1.0":           {[]string{"A2A-Version", "1.0"}, 401, `"reason":"UNAUTHENTICATED"`},
		"foreign":       {[]string{"Authorization", "Bearer " + p.token("other")}, 403, `"message":"Forbidden: callers of namespace \"other\" may not call this agent"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response, body := p.do("POST", p.agent(), hello, test.headers...)
			if response.StatusCode != test.status || !strings.Contains(body, test.want) {
				t.Errorf("response = %d %s, want %d %s", response.StatusCode, body, test.status, test.want)
			}
			if got := response.Header.Get("WWW-Authenticate"); (got != "") != (test.status == 401) {
				t.Errorf("WWW-Authenticate = %q", got)
			}
		})
	}
	if response, body := p.do("GET", p.agent()+".well-known/agent.json", ""); response.StatusCode != http.StatusOK || !strings.Contains(body, `"name":"Echo"`) {
		t.Errorf("public card = %d %s", response.StatusCode, body)
	}
	if response, body := p.do("GET", p.agent()+"elsewhere", ""); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "POST /") {
		t.Errorf("another path = %d %s", response.StatusCode, body)
	}
	for _, want := range []string{
		`a2a_requests_total{method="SendMessage",outcome="ok"} 1`,
		`a2a_protocol_requests_total{binding="jsonrpc",version="0.3"} 1`,
		`a2a_request_duration_seconds_count{method="SendMessage"} 1`,
		`a2a_turn_first_event_seconds_count 1`,
		`a2a_requests_total{method="",outcome="rejected"} 4`,
		`a2a_request_errors_total{reason="UNAUTHENTICATED"} 3`,
		`a2a_request_errors_total{reason="PERMISSION_DENIED"} 1`,
		`a2a_configuration_info{digest="` + sidecarconfig.Digest(p.encode()) + `"} 1`,
		`a2a_turn_duration_seconds_count{state="completed"} 1`,
		`a2a_tasks 1`,
	} {
		p.eventually(want, func() bool {
			_, metrics := p.do("GET", p.health("/metrics"), "")
			return strings.Contains(metrics, want)
		})
	}
}

func TestAnonymousIsTheLastAuthenticator(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		anonymous := sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous}
		c.Access.Authentication = append([]sidecarconfig.Authentication{anonymous}, c.Access.Authentication...)
	})
	for credential, want := range map[string]int{
		"": http.StatusOK, "Bearer " + p.token("team"): http.StatusOK,
		"Bearer x": http.StatusUnauthorized, "Bearer " + p.token("other"): http.StatusForbidden,
	} {
		var headers []string
		if credential != "" {
			headers = []string{"Authorization", credential}
		}
		if response, _ := p.do("POST", p.agent(), hello, headers...); response.StatusCode != want {
			t.Errorf("%.10q is answered with %d, want %d", credential, response.StatusCode, want)
		}
	}
}

func TestTasksBelongToTheirOwner(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Access.Namespaces = []string{"*"} })
	_, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
	var sent struct{ Result struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Result.ID == "" {
		t.Fatalf("send = %s", body)
	}
	answers := map[string]string{}
	for _, id := range []string{sent.Result.ID, strings.Repeat("0", len(sent.Result.ID))} {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/resubscribe", "GetTask", "CancelTask", "SubscribeToTask"} {
			_, body := p.do("POST", p.agent(), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"id":%q}}`, method, id),
				"Authorization", "Bearer "+p.token("other"))
			body = strings.ReplaceAll(body, id, "ID")
			if former, seen := answers[method]; seen && former != body {
				t.Errorf("%s: a foreign task is answered with %s, a missing one with %s", method, former, body)
			}
			answers[method] = body
			if !strings.Contains(body, "-32001") {
				t.Errorf("%s of a foreign task = %s", method, body)
			}
		}
	}
}

func TestProbes(t *testing.T) {
	address := freeport.Address(t)
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Backend.URL = "http://" + address + "/turns" })
	for path, want := range map[string]int{"/livez": 200, "/startedz": 200, "/readyz": 503, "/nothing": 404} {
		if response, body := p.do("GET", p.health(path), ""); response.StatusCode != want {
			t.Errorf("%s without an agent = %d %s, want %d", path, response.StatusCode, body, want)
		}
	}
	if _, body := p.do("GET", p.health("/readyz"), ""); !strings.Contains(body, "agent does not listen on "+address) {
		t.Errorf("/readyz = %s", body)
	}
	agent, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p.eventually("ready", func() bool {
		response, _ := p.do("GET", p.health("/readyz"), "")
		return response.StatusCode == http.StatusOK
	})
}

func TestReload(t *testing.T) {
	p := newPod(t, respondHi, nil)
	name := func() string {
		_, body := p.do("GET", p.agent()+".well-known/agent-card.json", "")
		var c struct{ Name string }
		if err := json.Unmarshal([]byte(body), &c); err != nil {
			t.Fatal(err)
		}
		return c.Name
	}
	metric := func(want string) bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, want)
	}

	p.config.Card.Name = "Renamed"
	p.mount(p.encode())
	p.eventually("new card", func() bool { return name() == "Renamed" })
	good := p.encode()

	p.mount([]byte(`{"version":"v1","card":{"name":"Broken"},"surprise":1}`))
	p.eventually("refused configuration", func() bool { return metric(`a2a_reload_refused{source="configuration"} 1`) })
	if !metric(`a2a_reloads_total{result="refused",source="configuration"} 1`) {
		t.Error("the refused configuration is not counted")
	}
	if got := name(); got != "Renamed" {
		t.Errorf("name = %q after a broken configuration", got)
	}
	if !metric(`a2a_configuration_info{digest="` + sidecarconfig.Digest(good) + `"} 1`) {
		t.Error("a2a_configuration_info does not name the configuration in use")
	}

	p.config.Access = sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}}
	p.mount(p.encode())
	p.eventually("open access", func() bool {
		response, _ := p.do("POST", p.agent(), hello)
		return response.StatusCode == http.StatusOK
	})
	// The new policy is in use a moment before the reload is counted.
	p.eventually("second configuration", func() bool { return metric(`a2a_reloads_total{result="applied",source="configuration"} 2`) })
	p.eventually("the end of the refusal", func() bool { return metric(`a2a_reload_refused{source="configuration"} 0`) })
}

// TestReloadThatFailsLeavesEveryPartAsItWas adds a step that cannot be prepared to the
// real steps, at each possible position.
func TestReloadThatFailsLeavesEveryPartAsItWas(t *testing.T) {
	p := newPod(t, respondHi, nil)
	former := p.sidecar.current()
	p.config.Card.Name = "Renamed"
	p.config.Backend.URL = "http://127.0.0.1:1"
	p.config.Access = sidecarconfig.Access{Authentication: []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}}
	p.config.Limits.MaxBodyBytes = 1 << 10
	p.config.PushNotifications = &sidecarconfig.PushNotifications{AllowedTargets: []sidecarconfig.PushTarget{{Host: "*"}}}
	p.config.Gateway = &sidecarconfig.Gateway{RegistryURL: "http://127.0.0.1:1", AgentURL: "http://{name}.{namespace}.svc"}
	next, err := p.sidecar.options.Load(reload.Files{sidecarconfig.FileName: p.encode()}, p.sidecar.listeners.Agent.Addr())
	if err != nil {
		t.Fatal(err)
	}
	broken := reload.Step[*settings.Loaded]{Name: "broken", Prepare: func(_, _ *settings.Loaded) (func(), error) { return nil, errors.New("cannot be prepared") }}
	for i := range len(p.sidecar.steps()) + 1 {
		if err := reload.Apply(slices.Insert(p.sidecar.steps(), i, broken), former, next); err == nil {
			t.Fatal("Apply() succeeds")
		}
	}
	if p.sidecar.current() != former || p.sidecar.turns.backend.config().URL != former.Backend.URL || p.sidecar.limits.HTTP().MaxBody() == 1<<10 {
		t.Error("the configuration, the backend or the limits changed")
	}
	if _, body := p.do("GET", p.agent()+".well-known/agent-card.json", ""); strings.Contains(body, "Renamed") {
		t.Error("the card changed")
	}
	if response, _ := p.do("POST", p.agent(), hello); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a request without a credential is answered with %d", response.StatusCode)
	}
	if err := reload.Apply(p.sidecar.steps(), former, next); err != nil || p.sidecar.current() != next || p.sidecar.turns.backend.config().URL != next.Backend.URL {
		t.Errorf("Apply() without it = %v", err)
	}
}

func TestGatewayIsServed(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"x":["`+r.URL.Path+" "+r.Header.Get("Authorization")+`"]}`)
	}))
	defer registry.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: "http://{name}.{namespace}", TokenFile: token}
	})
	if _, body := p.do("GET", "http://"+p.sidecar.Addresses().Gateway+"/registry/v1/agents", ""); body != `{"x":["/v1/agents Bearer mine"]}` {
		t.Errorf("registry = %s", body)
	}
}

// TestQuietStreamIsParked checks that a quiet stream is parked until its agent continues,
// and that its connection then serves the next request.
func TestQuietStreamIsParked(t *testing.T) {
	goOn := make(chan struct{})
	p := newPod(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "two")
	}, nil)
	address := p.sidecar.Addresses().Agent
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	ask := func(body string) *http.Response {
		t.Helper()
		_, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			address, p.token("team"), len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(lines, nil)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	stream := ask(strings.Replace(hello, "message/send", "message/stream", 1))
	parked := func(want int) {
		t.Helper()
		p.eventually("parked streams", func() bool { return p.sidecar.parking.Len() == want })
	}
	parked(1)
	close(goOn)
	text, err := io.ReadAll(stream.Body)
	if err != nil || !strings.Contains(string(text), "two") || !strings.Contains(string(text), `"state":"completed"`) {
		t.Errorf("stream = %s, %v", text, err)
	}
	next := ask(withNewMessageID(hello))
	if text, err := io.ReadAll(next.Body); err != nil || next.StatusCode != http.StatusOK || !strings.Contains(string(text), `"state":"completed"`) {
		t.Errorf("next answer = %d %s, %v", next.StatusCode, text, err)
	}
	parked(0)
	p.eventually("the stream in the metrics", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_requests_total{method="SendStreamingMessage",outcome="ok"} 1`) &&
			strings.Contains(metrics, "a2a_open_streams 0")
	})
}

// TestStartIsQuick prints the time until the first response. The goal is 50 ms for the
// whole process.
func TestStartIsQuick(t *testing.T) {
	began := time.Now()
	p := newPod(t, respondHi, nil)
	p.eventually("started", func() bool {
		response, _ := p.do("GET", p.health("/startedz"), "")
		return response.StatusCode == http.StatusOK
	})
	t.Logf("started in %v", time.Since(began))
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	good := write("card.yaml", "displayName: x")
	tests := map[string]struct {
		options settings.Options
		want    string
	}{
		"no configuration": {settings.Options{ConfigFile: filepath.Join(dir, "none")}, "read configuration " + filepath.Join(dir, "none") + ": open"},
		"configuration":    {settings.Options{ConfigFile: write("config.json", `{"version":"v9"}`)}, `sidecar configuration version: is "v9", this sidecar reads "v1"`},
		"unknown member":   {settings.Options{ConfigFile: write("unknown.json", `{"surprise":1}`)}, `surprise is unknown`},
		"card":             {settings.Options{BackendURL: "http://a", CardFile: write("bad.yaml", "displayName: x\nfoo: 1"), Anonymous: true}, "line 2: unknown key"},
		"backend":          {settings.Options{BackendURL: "127.0.0.1:9000", CardFile: good, Anonymous: true}, "backend.url"},
		"no key":           {settings.Options{BackendURL: "http://a", CardFile: good, Anonymous: true, CardSigningKeys: []string{filepath.Join(dir, "tls.key")}}, "card signing key cannot be used: " + dir},
		"broken key":       {settings.Options{BackendURL: "http://a", CardFile: good, Anonymous: true, CardSigningKeys: []string{good}}, "must have a PEM block or a JWK"},
		"port taken":       {settings.Options{BackendURL: "http://a", CardFile: good, Anonymous: true, Listen: taken.Addr().String()}, "(--listen)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.options.Listen == "" {
				test.options.Listen = "127.0.0.1:0"
			}
			test.options.HealthListen, test.options.GatewayListen = "127.0.0.1:0", "127.0.0.1:0"
			_, err := Open(t.Context(), &test.options, slog.New(slog.DiscardHandler), time.Now)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open() error = %v, want %q", err, test.want)
			}
			if got, want := ExitCode(err) == sidecarconfig.ExitCardKey, strings.HasSuffix(name, " key"); got != want {
				t.Errorf("ExitCode() tells of a key = %v, want %v", got, want)
			}
		})
	}
}

func TestMissingConfigurationIsReportedOnceAndTheFormerIsKept(t *testing.T) {
	p := newPod(t, respondHi, nil)
	if err := os.Remove(filepath.Join(p.dir, sidecarconfig.FileName)); err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_reloads_total{result="refused",source="configuration"} 1`)
	}
	p.eventually("a refused reload", refused)
	p.sidecar.reloader.Reload(p.sidecar.configuration)
	if !refused() {
		t.Error("counted twice")
	}
	if response, _ := p.do("GET", p.agent()+".well-known/agent-card.json", ""); response.StatusCode != http.StatusOK {
		t.Errorf("card = %d", response.StatusCode)
	}
}

// TestGatewayRefusesLoopback calls a remote agent that the registry lists at a loopback
// address, which no configuration can allow.
func TestGatewayRefusesLoopback(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	working := make(chan struct{}, 1)
	agent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		working <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(agent.Close)
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/agents/team/weather":
			_, _ = io.WriteString(w, `{"namespace":"team","name":"weather","url":"`+agent.URL+`","remote":true,"cardDigest":"1"}`)
		case "/v1/agents/team/weather/card":
			_, _ = io.WriteString(w, `{"name":"W","supportedInterfaces":[{"url":"`+agent.URL+`","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(registry.Close)
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Gateway = &sidecarconfig.Gateway{
			RegistryURL: registry.URL, TokenFile: token, RemoteAllow: []string{"127.0.0.0/8"},
			// The label is too long for DNS, so that the name fails without a query.
			AgentURL: "http://{name}.{namespace}." + strings.Repeat("x", 64),
		}
	})
	base := "http://" + p.sidecar.Addresses().Gateway + "/agents/team/"
	response, body := p.do("POST", base+"weather/", "", "Content-Type", "application/json")
	if response.StatusCode != http.StatusForbidden || !strings.Contains(body, "remote.allow") || !strings.Contains(body, `"jsonrpc"`) {
		t.Errorf("POST = %d %s", response.StatusCode, body)
	}
	if response, body := p.do("GET", base+"nobody/.well-known/agent-card.json", ""); response.StatusCode != http.StatusForbidden || !strings.Contains(body, "Agent team/nobody is not in the registry") {
		t.Errorf("an unknown agent = %d %s", response.StatusCode, body)
	}
	if calls.Load() != 0 {
		t.Errorf("the agent was called %d times", calls.Load())
	}

	// The drain also waits for turns of remote agents.
	if n := p.sidecar.running(); n != 0 {
		t.Errorf("%d turns run", n)
	}
	p.sidecar.translator.Swap(&egress.Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Local: true})
	called := make(chan struct{})
	go func() {
		defer close(called)
		p.do("POST", base+"weather/", hello, "Content-Type", "application/json")
	}()
	<-working
	if n := p.sidecar.running(); n != 1 {
		t.Errorf("%d turns run, want that of the remote agent", n)
	}
	p.metric("a2a_remote_turns_in_flight 1")
	agent.CloseClientConnections()
	<-called
}

func TestRemotePolicy(t *testing.T) {
	p, err := remotePolicy(&sidecarconfig.Gateway{AgentURL: "http://{name}.{namespace}.svc.corp.example", RemoteAllow: []string{"10.20.0.0/16"}})
	want := &egress.Policy{Hosts: []string{"*"}, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}, ClusterDomain: "corp.example"}
	if diff := cmp.Diff(want, p, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("policy (-want +got), %v:\n%s", err, diff)
	}
	if p, err := remotePolicy(nil); p != nil || err != nil {
		t.Errorf("without a gateway: %v, %v", p, err)
	}
}
