// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/auditlog"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// logBuffer stores the lines of a log. It is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// events returns the events with this message. It removes their times and durations, and
// the ports of their addresses.
func (b *logBuffer) events(t *testing.T, message string) []map[string]any {
	t.Helper()
	events := []map[string]any{}
	for decoder := json.NewDecoder(strings.NewReader(b.String())); decoder.More(); {
		var e map[string]any
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e["msg"] != message {
			continue
		}
		if took, found := e["duration_seconds"]; found && took.(float64) < 0 {
			t.Errorf("duration of %v is negative", e)
		}
		if address, found := e["address"].(string); found {
			e["address"], _, _ = strings.Cut(address, ":")
		}
		for _, key := range []string{"time", "level", "msg", "duration_seconds"} {
			delete(e, key)
		}
		events = append(events, e)
	}
	return events
}

func TestTheAccessLogNamesCallerOperationAndOutcome(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) { c.Observability.AccessLog = true })
	const id = "0af7651916cd43dd8448eb211c80319c"
	own := []string{"Authorization", "Bearer " + p.token("team"), "Traceparent", "00-" + id + "-b7ad6b7169203331-01"}
	p.do("POST", p.agent(), strings.Replace(hello, `"role"`, `"referenceTaskIds":["task-of-the-caller"],"role"`, 1), own...)
	p.do("GET", p.agent()+"tasks/unknown-canary", "", append(own, "A2A-Version", "1.0")...)
	p.do("POST", p.agent(), hello)
	const principal = "system:serviceaccount:team:caller"
	want := []map[string]any{
		{"operation": "SendMessage", "outcome": "ok", "binding": "jsonrpc", "version": "0.3", "caller": principal, "trace_id": id, "parent_task_id": "task-of-the-caller"},
		{"operation": "GetTask", "outcome": "rejected", "reason": "TASK_NOT_FOUND", "binding": "rest", "version": "1.0", "caller": principal, "trace_id": id},
		{"operation": "", "outcome": "rejected", "reason": "UNAUTHENTICATED", "binding": "jsonrpc", "version": ""},
	}
	p.eventually("three events", func() bool { return len(p.log.events(t, "request ended")) == len(want) })
	got := p.log.events(t, "request ended")
	for _, key := range []string{"task_id", "context_id"} { // of the response; the other requests have none
		if id, _ := got[0][key].(string); id == "" {
			t.Errorf("no %s in %v", key, got[0])
		}
		delete(got[0], key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access log (-want +got):\n%s", diff)
	}
	for _, content := range []string{"Hello", "Hi", "canary", p.token("team")} {
		if strings.Contains(p.log.String(), content) {
			t.Errorf("the log has %q", content)
		}
	}
}

// A request whose client disconnected is counted and logged once, in each binding.
func TestRequestsWhoseClientLeftAreCanceled(t *testing.T) {
	post := func(path, body string) func(context.Context, *testing.T, *pod) {
		return func(ctx context.Context, t *testing.T, p *pod) {
			t.Helper()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.agent()+path, strings.NewReader(withNewMessageID(body)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+p.token("team"))
			r.Header.Set("A2A-Version", "1.0")
			if response, err := p.client.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}
	}
	const message = `{"message":{"messageId":"new","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`
	rpc := func(method string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + message + `}`
	}
	for name, tt := range map[string]struct {
		binding, operation string
		call               func(context.Context, *testing.T, *pod)
	}{
		"JSON-RPC":           {"jsonrpc", "SendMessage", post("", rpc("SendMessage"))},
		"stream of JSON-RPC": {"jsonrpc", "SendStreamingMessage", post("", rpc("SendStreamingMessage"))},
		"REST":               {"rest", "SendMessage", post("message:send", message)},
		"stream of REST":     {"rest", "SendStreamingMessage", post("message:stream", message)},
		"gRPC": {"grpc", "SendMessage", func(ctx context.Context, _ *testing.T, p *pod) {
			_, _ = v10.NewA2AServiceClient(p.dial()).SendMessage(ctx, hello10)
		}},
		"stream of gRPC": {"grpc", "SendStreamingMessage", func(ctx context.Context, _ *testing.T, p *pod) {
			if stream, err := v10.NewA2AServiceClient(p.dial()).SendStreamingMessage(ctx, hello10); err == nil {
				for err == nil {
					_, err = stream.Recv()
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			arrived, proceed := make(chan struct{}), make(chan struct{})
			p := newPod(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				close(arrived)
				<-proceed
			}, func(c *sidecarconfig.Config) { c.Observability.AccessLog = true })
			defer close(proceed)
			ctx, leave := context.WithCancel(p.caller())
			defer leave()
			go func() { <-arrived; leave() }()
			tt.call(ctx, t, p)
			p.eventually("the event", func() bool {
				events := p.log.events(t, "request ended")
				return len(events) == 1 && events[0]["outcome"] == "canceled" && events[0]["operation"] == tt.operation && events[0]["binding"] == tt.binding
			})
			_, metrics := p.do("GET", p.health("/metrics"), "")
			for _, want := range []string{`a2a_requests_total{method="",outcome="canceled"} 1`, `a2a_protocol_requests_total{binding="` + tt.binding + `",version="1.0"} 1`} {
				if !strings.Contains(metrics, want) {
					t.Errorf("metrics do not contain %s", want)
				}
			}
		})
	}
}

func TestNoAccessLogByDefault(t *testing.T) {
	p := newPod(t, respondHi, nil)
	p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team"))
	if events := p.log.events(t, "request ended"); len(events) > 0 {
		t.Errorf("access log = %v", events)
	}
}

func TestDeniedRequestsAreLogged(t *testing.T) {
	p := newPod(t, respondHi, withRules(sidecarconfig.Rule{Name: "own", Action: sidecarconfig.ActionAllow, Namespaces: []string{"team"}}))
	p.do("POST", p.agent(), hello)
	p.do("POST", p.agent(), hello, "Authorization", "Bearer canary")
	p.do("POST", p.agent(), hello, p.tokenHeaders("other")...)
	p.do("POST", p.agent(), hello, p.tokenHeaders("team")...)
	want := []map[string]any{
		{"by": "authentication", "reason": "UNAUTHENTICATED", "address": "127.0.0.1", "credential": false},
		{"by": "authentication", "reason": "UNAUTHENTICATED", "address": "127.0.0.1", "credential": true, "cause": "Token is not a signed JWT of an accepted algorithm"},
		{"by": "authorization", "reason": "PERMISSION_DENIED", "operation": "SendMessage", "rule": "", "cause": "none of the rules that allow calls matches: own", "caller": "system:serviceaccount:other:caller"},
	}
	if diff := cmp.Diff(want, p.log.events(t, "request denied")); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	if strings.Contains(p.log.String(), "canary") {
		t.Error("the log has a credential")
	}
}

func TestADeniedNamespaceIsLoggedWithItsCaller(t *testing.T) {
	p := newPod(t, respondHi, nil)
	p.do("POST", p.agent(), hello, p.tokenHeaders("other")...)
	want := []map[string]any{{"by": "authentication", "reason": "PERMISSION_DENIED", "address": "127.0.0.1", "caller": "system:serviceaccount:other:caller"}}
	if diff := cmp.Diff(want, p.log.events(t, "request denied")); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestTheAuditLogIsBounded(t *testing.T) {
	var log logBuffer
	now := time.Now()
	d := &denials{auditlog.New(logging.New(&log, slog.LevelInfo), func() time.Time { return now })}
	for range 3 * auditlog.Burst {
		d.unauthenticated(httptest.NewRequest(http.MethodPost, "/", nil), &a2a.Error{Reason: a2a.ReasonUnauthenticated})
	}
	now = now.Add(time.Second)
	d.unauthenticated(httptest.NewRequest(http.MethodPost, "/", nil), &a2a.Error{Reason: a2a.ReasonUnauthenticated})
	events := log.events(t, "request denied")
	if len(events) != auditlog.Burst+1 || events[auditlog.Burst]["dropped"] != float64(2*auditlog.Burst) {
		t.Errorf("%d events, the last one is %v", len(events), events[len(events)-1])
	}
}

// The audit log has a rate limit for each kind of event. Events of requests without a
// credential, and with a wrong one, therefore do not suppress the events of authenticated
// callers that the authorization rules deny.
func TestRequestsWithoutACredentialHideNoOtherDenial(t *testing.T) {
	p := newPod(t, respondHi, withRules(sidecarconfig.Rule{Name: "own", Action: sidecarconfig.ActionAllow, Namespaces: []string{"team"}}))
	stopped := time.Now()
	p.sidecar.denials.log = auditlog.New(p.sidecar.log, func() time.Time { return stopped })
	for range 10 * auditlog.Burst {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		p.sidecar.gate.Require(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 2 * auditlog.Burst {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header.Set("Authorization", "Bearer canary")
		p.sidecar.gate.Require(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), r)
	}
	p.do("POST", p.agent(), hello, p.tokenHeaders("other")...)
	logged := map[string]int{}
	for _, e := range p.log.events(t, "request denied") {
		logged[fmt.Sprint(e["by"], " ", e["credential"])]++
	}
	want := map[string]int{"authentication false": auditlog.Burst, "authentication true": auditlog.Burst, "authorization <nil>": 1}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestTheLogLevelChangesWithoutARestart(t *testing.T) {
	p := newPodWith(t, respondHi, nil, func(o *settings.Options) { o.LogLevel = slog.LevelInfo })
	level := p.sidecar.options.Level
	for _, step := range []struct {
		configured sidecarconfig.LogLevel
		want       slog.Level
	}{{"Debug", slog.LevelDebug}, {"Error", slog.LevelError}, {"Warn", slog.LevelWarn}, {"Error", slog.LevelError}, {"", slog.LevelInfo}} {
		p.config.Observability.LogLevel = step.configured
		p.mount(p.encode())
		p.eventually(fmt.Sprintf("level %q", step.configured), func() bool { return level.Level() == step.want })
	}
	p.eventually("the last event", func() bool { return len(p.log.events(t, "log level changed")) == 5 })
	if events := p.log.events(t, "log level changed"); len(events) != 5 || events[1]["new_level"] != "ERROR" || events[1]["former_level"] != "DEBUG" {
		t.Errorf("events = %v", events)
	}
}

func TestProfilesAreServedInsideThePodOnly(t *testing.T) {
	p := newPod(t, respondHi, nil)
	goroutines := p.health(sidecarconfig.ProfilesPath + "goroutine?debug=1")
	if response, body := p.do("GET", goroutines, ""); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "spec.observability.profiling") {
		t.Errorf("profile while it is off = %d %s", response.StatusCode, body)
	}
	p.config.Observability.Profiling = true
	p.mount(p.encode())
	p.eventually("a profile", func() bool {
		response, body := p.do("GET", goroutines, "")
		return response.StatusCode == http.StatusOK && strings.Contains(body, "goroutine profile:")
	})
	r := httptest.NewRequest(http.MethodGet, "http://10.1.2.3:8642"+sidecarconfig.ProfilesPath+"heap", nil)
	r.RemoteAddr = "10.9.9.9:4711"
	w := httptest.NewRecorder()
	p.sidecar.probes.Handler(p.sidecar.listeners.Health.Addr()).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("profile for a caller outside of the pod = %d %s", w.Code, w.Body)
	}
}
