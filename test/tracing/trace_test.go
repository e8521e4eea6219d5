// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing tests the traces of whole sidecars.
package tracing

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/exchangetest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
	"github.com/a2a-operator/a2a-operator/test/tracecollector"
)

func TestMain(m *testing.M) {
	// Export spans every 50 ms instead of every 5 s, so that the tests do not wait.
	if err := os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "00-" + traceID + "-b7ad6b7169203331-01"
)

// withTracing exports the spans of a sidecar of an Agent.
func withTracing(c *tracecollector.Collector, agent string, percent int) func(*sidecartest.Fixture, *sidecarconfig.Config) {
	return func(_ *sidecartest.Fixture, config *sidecarconfig.Config) {
		config.Agent.Name = agent
		config.Tracing = &sidecarconfig.Tracing{Endpoint: c.URL, SamplingPercent: percent}
	}
}

// withGateway gives the sidecar a gateway that finds one agent, team/second.
func withGateway(tb testing.TB, agent string) func(*sidecartest.Fixture, *sidecarconfig.Config) {
	tb.Helper()
	token := filepath.Join(tb.TempDir(), "token")
	if err := os.WriteFile(token, []byte("identity"), 0o600); err != nil {
		tb.Fatal(err)
	}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !exchangetest.Serve(w, r) {
			_, _ = io.WriteString(w, `{"namespace":"team","name":"second","url":"http://second.team.svc/","ready":true}`)
		}
	}))
	tb.Cleanup(registry.Close)
	return func(_ *sidecartest.Fixture, config *sidecarconfig.Config) {
		config.Gateway = &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: agent, TokenFile: token}
	}
}

var messages atomic.Int64

// call sends a message by JSON-RPC with a method, and returns the response.
func call(tb testing.TB, url, method string, header map[string]string) string {
	tb.Helper()
	// Each message needs an id of its own, because the sidecar deduplicates messages.
	id := fmt.Sprintf("m%d", messages.Add(1))
	message := `{"role":"ROLE_USER","messageId":"` + id + `","contextId":"conversation-1","parts":[{"text":"secret words"}]}`
	if strings.Contains(method, "/") {
		message = `{"kind":"message","role":"user","messageId":"` + id + `","contextId":"conversation-1","parts":[{"kind":"text","text":"secret words"}]}`
	}
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"message":`+message+`}}`))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := sidecartest.Plain(tb).Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return string(body)
}

// TestOneTraceReachesTheSecondAgent checks that one call through two sidecars is one trace, in
// which the parent of each span is the span before it. The agents receive the tracestate and
// the baggage. No span holds content.
func TestOneTraceReachesTheSecondAgent(t *testing.T) {
	c := tracecollector.Start(t)
	received := make(chan http.Header, 2)
	second := sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Clone()
		sidecartest.TextAgent(w, r)
	}, withTracing(c, "second", 0))
	var first *sidecartest.Fixture
	first = sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Clone()
		header := map[string]string{"A2A-Version": "1.0"}
		for _, name := range []string{"Traceparent", "Tracestate", "Baggage", "A2A-Task-Id"} {
			header[name] = r.Header.Get(name)
		}
		if answer := call(t, first.Gateway+"/agents/team/second", "SendMessage", header); !strings.Contains(answer, "TASK_STATE_COMPLETED") {
			t.Errorf("the second agent answered %s", answer)
		}
		sidecartest.TextAgent(w, r)
	}, withTracing(c, "first", 0), withGateway(t, second.URL))

	// The client records its trace, so the sampling of 0 % does not apply.
	answer := call(t, first.URL, "message/send", map[string]string{"Traceparent": parent, "Tracestate": "vendor=1", "Baggage": "tenant=a%20b"})
	if !strings.Contains(answer, "completed") {
		t.Fatalf("the first agent answered %s", answer)
	}
	spans := c.Await(t, tracecollector.Server("first", "SendMessage"), tracecollector.Client("first", "invoke_agent first"), tracecollector.Client("first", "invoke_agent team/second"),
		tracecollector.Server("second", "SendMessage"), tracecollector.Client("second", "invoke_agent second"))
	for i, s := range spans {
		want := "b7ad6b7169203331"
		if i > 0 {
			want = hex.EncodeToString(spans[i-1].SpanId)
		}
		if got := hex.EncodeToString(s.ParentSpanId); got != want || hex.EncodeToString(s.TraceId) != traceID {
			t.Errorf("%s %s: parent %s, want %s\n%s", s.Service, s.Name, got, want, c)
		}
	}
	for i, turn := range []tracecollector.Span{spans[1], spans[4]} {
		header := <-received
		if header.Get("Traceparent") != turn.TraceParent() || header.Get("Tracestate") != "vendor=1" || header.Get("Baggage") != "tenant=a%20b" {
			t.Errorf("agent %d received %v, want %s", i+1, header, turn.TraceParent())
		}
	}
	for _, want := range []struct {
		of         tracecollector.Span
		key, value string
	}{
		{spans[0], "a2a.operation", "SendMessage"},
		{spans[0], "a2a.binding", "jsonrpc"},
		{spans[0], "a2a.version", "0.3"},
		{spans[3], "a2a.version", "1.0"},
		{spans[0], "a2a.outcome", "success"},
		{spans[0], "a2a.task.state", "completed"},
		{spans[0], "gen_ai.conversation.id", "conversation-1"},
		{spans[1], "a2a.turn.attempt", "1"},
		{spans[2], "http.response.status_code", "200"},
		{spans[2], "gen_ai.agent.name", "team/second"},
	} {
		if got := want.of.Value(want.key); got != want.value {
			t.Errorf("%s of %s = %q, want %q\n%s", want.key, want.of.Name, got, want.value, c)
		}
	}
	if links := spans[2].Links; len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), spans[1].SpanId) {
		t.Errorf("the call has links %v, want one to the turn", links)
	}
	if spans[0].Value("a2a.task.id") == "" || spans[0].Value("a2a.method.name") != "" {
		t.Errorf("attributes of the operation:\n%s", c)
	}
	if all := c.Requests(); strings.Contains(all, "secret words") || strings.Contains(all, "identity") {
		t.Error("a span holds content or a credential")
	}
}

func TestSpansNameErrorsAndStreams(t *testing.T) {
	c := tracecollector.Start(t)
	f := sidecartest.Start(t, sidecartest.TextAgent, withTracing(c, "a", 100), func(_ *sidecartest.Fixture, config *sidecarconfig.Config) {
		config.Tracing.DraftAttributes = true
	})
	if body := call(t, f.URL, "SendStreamingMessage", map[string]string{"A2A-Version": "1.0"}); !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Fatalf("stream = %s", body)
	}
	response, err := sidecartest.Plain(t).Post(f.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"none"}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	spans := c.Await(t, tracecollector.Server("a", "SendStreamingMessage"), tracecollector.Server("a", "GetTask"))
	for key, want := range map[string]string{
		"a2a.task.state": "completed", "a2a.method.name": "SendStreamingMessage", "gen_ai.agent.name": "a", "a2a.protocol.version": "1.0", "gen_ai.agent.version": "1.0",
	} {
		if got := spans[0].Value(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	failed := spans[1]
	if got := failed.Value("a2a.outcome"); got != "TASK_NOT_FOUND" || failed.Value("error.type") != "-32001" {
		t.Errorf("outcome = %q, want TASK_NOT_FOUND with code -32001\n%s", got, c)
	}
}

// TestUnsampledTracesAreNotExported checks that an unsampled trace exports no span, and that
// the agent still receives the sampling decision.
func TestUnsampledTracesAreNotExported(t *testing.T) {
	c := tracecollector.Start(t)
	received := make(chan string, 3)
	f := sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Get("Traceparent")
		sidecartest.TextAgent(w, r)
	}, withTracing(c, "a", 0))
	for range 2 {
		call(t, f.URL, "message/send", nil)
	}
	call(t, f.URL, "message/send", map[string]string{"Traceparent": parent})
	c.Await(t, tracecollector.Server("a", "SendMessage"))
	c.Await(t, tracecollector.Client("a", "invoke_agent a"))
	if n := strings.Count(c.String(), "\n"); n != 2 {
		t.Fatalf("%d spans arrived, want the 2 of the recorded trace:\n%s", n, c)
	}
	for range 2 {
		if got := <-received; !strings.HasSuffix(got, "-00") {
			t.Errorf("traceparent = %q, want one that is not sampled", got)
		}
	}
}

func TestPushNotificationsLinkToTheirTurn(t *testing.T) {
	c := tracecollector.Start(t)
	received := make(chan string, 16)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received <- cmp.Or(r.Header.Get("Traceparent"), "none")
	}))
	t.Cleanup(hook.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_SERVICE_NAME", "standalone")
	url := startStandalone(t)
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"configuration":{"pushNotificationConfig":{"url":%q}},
		"message":{"kind":"message","role":"user","messageId":"m1","parts":[{"kind":"text","text":"hi"}]}}}`, hook.URL)
	response, err := sidecartest.Plain(t).Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	spans := c.Await(t, tracecollector.Client("standalone", "invoke_agent Echo"), tracecollector.Client("standalone", "push notification"))
	if links := spans[1].Links; len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), spans[0].SpanId) || bytes.Equal(spans[1].TraceId, spans[0].TraceId) {
		t.Errorf("the delivery links to %v, want the turn in another trace; response %s\n%s", links, answer, c)
	}
	if got := <-received; got != spans[1].TraceParent() {
		t.Errorf("receiver got %q, want %q", got, spans[1].TraceParent())
	}
}
