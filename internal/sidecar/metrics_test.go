// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/agenttokens"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/mcpserver"
	"github.com/a2a-operator/a2a-operator/internal/a2a/push"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/health"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/metrics"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// operations maps methods of 1.0 to the JSON-RPC methods of all versions.
var operations = map[a2a.Method][]string{
	a2a.MethodSendMessage:          {"SendMessage", "message/send", "tasks/send"},
	a2a.MethodSendStreamingMessage: {"SendStreamingMessage", "message/stream", "tasks/sendSubscribe"},
	a2a.MethodGetTask:              {"GetTask", "tasks/get"},
	a2a.MethodListTasks:            {"ListTasks", "tasks/list"},
	a2a.MethodCancelTask:           {"CancelTask", "tasks/cancel"},
	a2a.MethodSubscribeToTask:      {"SubscribeToTask", "tasks/resubscribe"},
	a2a.MethodCreatePushConfig:     {"CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", "tasks/pushNotification/set"},
	a2a.MethodGetPushConfig:        {"GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", "tasks/pushNotification/get"},
	a2a.MethodListPushConfigs:      {"ListTaskPushNotificationConfigs", "ListTaskPushNotificationConfig", "tasks/pushNotificationConfig/list"},
	a2a.MethodDeletePushConfig:     {"DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete"},
	a2a.MethodGetExtendedCard:      {"GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", "agent/authenticatedExtendedCard"},
}

// paths maps HTTP methods to the paths of REST, which exist at the root and below /v1.
var paths = map[string][]string{
	"POST":   {"message:send", "message:stream", "tasks/t:cancel", "tasks/t:subscribe", "tasks/t/pushNotificationConfigs"},
	"GET":    {"tasks", "tasks/t", "tasks/t:subscribe", "tasks/t/pushNotificationConfigs", "tasks/t/pushNotificationConfigs/c", "extendedAgentCard", "card"},
	"DELETE": {"tasks/t/pushNotificationConfigs/c"},
}

// remoteProcedures maps gRPC services to their procedures.
var remoteProcedures = map[string][]string{
	"a2a.v1.A2AService": {
		"SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "TaskSubscription", "CreateTaskPushNotificationConfig",
		"GetTaskPushNotificationConfig", "ListTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", "GetAgentCard",
		"CreateTaskPushNotification", "GetTaskPushNotification", "ListTaskPushNotification",
	},
	"lf.a2a.v1.A2AService": {
		"SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask", "CreateTaskPushNotificationConfig",
		"GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig", "GetExtendedAgentCard",
	},
	"hostile.Service": {"hostile"},
}

// Each request is counted by the 1.0 name of its operation. No label contains text of a
// client.
func TestMetricsNameOperationsByTheirNamesOf10(t *testing.T) {
	for operation, methods := range operations {
		p := newPod(t, respondHi, nil)
		for _, method := range methods {
			p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`, "Authorization", "Bearer "+p.token("team"))
		}
		counted := 0.0
		for _, m := range p.family("a2a_requests_total").GetMetric() {
			if got := labelOf(m, "method"); got != string(operation) {
				t.Errorf("%v is counted as %q, want %q", methods, got, operation)
			}
			counted += m.GetCounter().GetValue()
		}
		if int(counted) != len(methods) {
			t.Errorf("%v: %v requests are counted, want %d", methods, counted, len(methods))
		}
	}
}

// PromQL sees no increase in a series that begins with 1, so an alert would miss the first event.
func TestCountersOfAlertsStartAtZero(t *testing.T) {
	text, err := os.ReadFile("../../charts/a2a-operator/monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// values maps the metric of each alert to the values of the label that the alert
	// selects.
	values := map[string][]string{
		"a2a_limited_total":                 {"turns", "total_requests", "total_streams", "total_tokens"},
		"a2a_gateway_token_exchanges_total": {"failed"},
		"a2a_push_configs_abandoned_total":  {"refused", "exhausted", "denied"},
	}
	registry, increases := metrics.New(time.Now, func() {}).Registry, 0
	// Alerts that only need a least number of events begin with another expression.
	for _, found := range regexp.MustCompile(`expr: 'sum by \(namespace, a2a_operator_dev_agent[^)]*\) \(increase\((\w+)\{job="a2a-agents", (\w+)`).FindAllStringSubmatch(string(text), -1) {
		increases++
		metric, label := found[1], found[2]
		if values[metric] == nil {
			t.Errorf("an alert uses the increase of %s: add its values to this test", metric)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range values[metric] {
			if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
				return f.GetName() == metric && slices.ContainsFunc(f.GetMetric(), func(m *dto.Metric) bool {
					return labelOf(m, label) == value && m.GetCounter().GetValue() == 0
				})
			}) {
				t.Errorf("a fresh sidecar has no %s{%s=%q}", metric, label, value)
			}
		}
	}
	if increases != len(values) {
		t.Errorf("%d alerts use an increase, want %d", increases, len(values))
	}
}

// TestSeriesAreBounded counts the series after it has sent every operation in every
// version, with errors and with values that a hostile client chooses. It also adds every
// value of a label that the code of the sidecar contains.
func TestSeriesAreBounded(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
		c.Access.Namespaces = []string{"*"}
	})
	const hostile = "hostile\x22,x=\x22\u00e4"
	for _, methods := range operations {
		for _, method := range methods {
			for _, version := range []string{"", "0.1", "0.2", "0.3", "1.0", "7.7", hostile} {
				for _, params := range []string{`{}`, `{"id":"` + "hostile" + `","taskId":"hostile"}`, `[]`, `{"message":{"messageId":"new","role":"user","parts":[{"text":"hostile"}]}}`} {
					p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, "A2A-Version", version, "User-Agent", hostile)
				}
			}
		}
	}
	for i := range 50 {
		p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"hostile`+strings.Repeat("x", i)+`"}`)
		p.do("POST", p.agent(), strings.Repeat("{hostile", i))
		p.do("GET", p.agent()+"hostile"+strings.Repeat("/x", i), "")
	}
	for verb, below := range paths {
		for _, path := range below {
			for _, prefix := range []string{"", "v1/", "hostile/"} {
				p.do(verb, p.agent()+prefix+path, `{}`)
				p.do("PUT", p.agent()+prefix+path, `{}`)
			}
		}
	}
	for service, names := range remoteProcedures {
		for _, name := range names {
			for _, body := range []string{"\x00\x00\x00\x00\x00", "hostile", ""} {
				p.do("POST", p.agent()+service+"/"+name, body, "Content-Type", "application/grpc-web+proto", "A2A-Version", "1.0")
				p.do("POST", p.agent()+service+"/"+name, body, "Content-Type", "application/grpc-web", "A2A-Version", hostile)
			}
		}
	}
	fill(t, p.sidecar.metrics)
	for _, dependency := range sidecarconfig.Dependencies {
		p.sidecar.health.Add(dependency, health.Options{}).Failf(sidecarconfig.CauseRefused, "x")
	}

	series, err := p.sidecar.metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, family := range series {
		in := 0
		for _, m := range family.GetMetric() {
			in += seriesOf(m)
			for _, label := range m.GetLabel() {
				if strings.Contains(label.GetValue(), "hostile") {
					t.Errorf("%s has the label %s with a text of a client", family.GetName(), label)
				}
			}
		}
		total += in
		t.Logf("%4d %s", in, family.GetName())
	}
	t.Logf("%d series", total)
	const most = 330 // the comment of metrics.Metrics promises it
	if total > most {
		t.Errorf("a sidecar has %d series, want at most %d", total, most)
	}
}

// reasons returns the reasons of errors that package a2a declares.
func reasons(t *testing.T) (all []a2a.Reason) {
	t.Helper()
	source, err := os.ReadFile("../a2a/error.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "(\w+)"$`).FindAllSubmatch(source, -1) {
		all = append(all, a2a.Reason(found[1]))
	}
	if !slices.Contains(all, a2a.ReasonInternal) {
		t.Fatalf("the reasons in error.go of package a2a are %q", all)
	}
	return all
}

// fill adds the values of labels that occur only with a certain configuration or after a
// fault.
func fill(t *testing.T, m *metrics.Metrics) {
	t.Helper()
	ctx := t.Context()
	for operation := range operations {
		m.ObserveRequest(ctx, httpcall.Outcome{Method: operation, Binding: "jsonrpc", Version: "1.0", Started: time.Now()})
		for _, reason := range reasons(t) {
			m.ObserveRequest(ctx, httpcall.Outcome{Method: operation, Binding: "jsonrpc", Version: "1.0", Reason: reason, Started: time.Now()})
		}
	}
	m.ObserveRequest(ctx, httpcall.Outcome{Method: a2a.MethodSendMessage, Binding: "jsonrpc", Version: "1.0", ClientLeft: true})
	for _, version := range []string{"", "0.1", "0.2", "0.3", "1.0"} {
		m.ObserveRequest(ctx, httpcall.Outcome{Method: a2a.MethodGetExtendedCard, Binding: "wellknown", Version: version})
	}
	for state := a2a.StateUnknown; state <= a2a.StateRejected+5; state++ {
		m.TurnEnded(ctx, state, time.Second)
	}
	m.FirstEvent(ctx, time.Second)
	for _, tool := range []string{mcpserver.ToolFind, mcpserver.ToolGet, mcpserver.ToolCall} {
		for _, outcome := range []mcpserver.Outcome{mcpserver.OutcomeSucceeded, mcpserver.OutcomeFailed, mcpserver.OutcomeInputRequired, mcpserver.OutcomeCanceled} {
			m.ToolCalled(tool, string(outcome))
		}
	}
	m.ObserveTokens(backend.Usage{Input: 1, Output: 1})
	calls := m.StoreCalls()
	calls.Called(time.Second, nil)
	calls.Called(time.Second, io.EOF)
	m.CallRefused("", false)
	for i := range 64 {
		for _, failed := range []bool{false, true} {
			m.CallRefused(strings.Repeat("r", i+1), failed)
		}
		m.InternalEvent(strings.Repeat("k", i+1))
	}
	for _, source := range []string{"configuration", "tls", "card-signing-keys", "model-api-key", "mtls-ca-bundle", "trust-bundle", "api-keys"} {
		m.Reloaded(source, nil)
		m.Reloaded(source, io.EOF)
		m.SetRefused(source, true)
	}
	for _, limit := range []string{"turns", "requests", "total_requests", "failed_authentications", "streams", "total_streams", "tokens", "total_tokens"} {
		m.Limited(limit)
	}
	for _, err := range []error{nil, agenttokens.ErrRefused, io.EOF} {
		m.TokenExchanged(err)
	}
	for _, ok := range []bool{false, true} {
		m.IssuerKeysFetched(ok)
	}
	m.SetAPIKeys(1, 1)
	for _, result := range []push.Result{push.ResultDelivered, push.ResultRetry, push.ResultRefused, push.ResultDenied} {
		m.Attempted(result)
	}
	for _, cause := range []push.Cause{push.CauseRefused, push.CauseExhausted, push.CauseGone, push.CauseDenied} {
		m.Abandoned(cause)
	}
}

// A turn ends even if scrapes hang, while they collect the metrics or while their clients
// do not read.
func TestHangingScrapesDoNotBlockTurns(t *testing.T) {
	p := newPod(t, respondHi, nil)
	send := func() {
		t.Helper()
		if response, body := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team")); response.StatusCode != http.StatusOK || !strings.Contains(body, "completed") {
			t.Errorf("response = %d %s", response.StatusCode, body)
		}
	}
	release := make(chan struct{})
	var scrapes sync.WaitGroup
	defer scrapes.Wait()
	defer close(release)
	scrape := func(w http.ResponseWriter) {
		p.sidecar.metrics.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	}
	unread := &unreadResponse{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), release: release}
	scrapes.Go(func() { scrape(unread) })
	<-unread.begun
	send()

	slow := &slowCollector{begun: make(chan struct{}), release: release}
	p.sidecar.metrics.Registry.MustRegister(slow)
	scrapes.Go(func() { scrape(httptest.NewRecorder()) })
	<-slow.begun
	send()
}

// A client cannot make the sidecar collect its metrics more than MaxScrapes times at once.
func TestScrapesAtATimeAreLimited(t *testing.T) {
	p := newPod(t, respondHi, nil)
	release := make(chan struct{})
	var scrapes sync.WaitGroup
	handler := p.sidecar.metrics.Handler()
	for range metrics.MaxScrapes {
		w := &unreadResponse{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), release: release}
		scrapes.Go(func() {
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		})
		<-w.begun
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	close(release)
	scrapes.Wait()
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("scrape %d = %d, want 503", metrics.MaxScrapes+1, w.Code)
	}
}

// Durations are recorded in classic and native buckets, with the id of a sampled trace as
// the exemplar.
func TestDurationsHaveTheTraceOfTheirRequest(t *testing.T) {
	for name, flags := range map[string]trace.TraceFlags{"sampled": trace.FlagsSampled, "not sampled": 0} {
		t.Run(name, func(t *testing.T) {
			m := metrics.New(time.Now, func() {})
			span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags})
			ctx := trace.ContextWithSpanContext(t.Context(), span)
			m.ObserveRequest(ctx, httpcall.Outcome{Method: a2a.MethodGetTask, Started: time.Now()})
			m.TurnEnded(ctx, a2a.StateCompleted, time.Second)
			m.FirstEvent(ctx, time.Second)
			families, err := m.Registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			seen := 0
			for _, family := range families {
				if family.GetType() != dto.MetricType_HISTOGRAM || len(family.GetMetric()) == 0 {
					continue
				}
				seen++
				h := family.GetMetric()[0].GetHistogram()
				if len(h.GetPositiveSpan()) == 0 && len(h.GetPositiveDelta()) == 0 && h.GetZeroCount() == 0 {
					t.Errorf("%s has no native buckets", family.GetName())
				}
				var ids []string
				for _, b := range h.GetBucket() {
					for _, label := range b.GetExemplar().GetLabel() {
						ids = append(ids, label.GetName()+"="+label.GetValue())
					}
				}
				want := ""
				if flags.IsSampled() {
					want = "trace_id=" + span.TraceID().String()
				}
				if got := strings.Join(ids, " "); got != want {
					t.Errorf("%s has the exemplars %q, want %q", family.GetName(), got, want)
				}
			}
			if seen != 3 {
				t.Errorf("%d histograms, want 3", seen)
			}
		})
	}
}

// unreadResponse is a response whose client does not read until release is closed.
type unreadResponse struct {
	*httptest.ResponseRecorder
	once           sync.Once
	begun, release chan struct{}
}

func (w *unreadResponse) Write(text []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	<-w.release
	return w.ResponseRecorder.Write(text)
}

// slowCollector is a collector that blocks until release is closed.
type slowCollector struct {
	once           sync.Once
	begun, release chan struct{}
}

func (c *slowCollector) Describe(chan<- *prometheus.Desc) {}

func (c *slowCollector) Collect(chan<- prometheus.Metric) {
	c.once.Do(func() { close(c.begun) })
	<-c.release
}

// family returns the metric of a name.
func (p *pod) family(name string) *dto.MetricFamily {
	p.t.Helper()
	families, err := p.sidecar.metrics.Registry.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family
		}
	}
	return &dto.MetricFamily{}
}

// seriesOf returns the number of series of a metric in the text format.
func seriesOf(m *dto.Metric) int {
	switch {
	case m.GetHistogram() != nil:
		return len(m.GetHistogram().GetBucket()) + 3
	case m.GetSummary() != nil:
		return len(m.GetSummary().GetQuantile()) + 2
	default:
		return 1
	}
}

func labelOf(m *dto.Metric, name string) string {
	for _, label := range m.GetLabel() {
		if label.GetName() == name {
			return label.GetValue()
		}
	}
	return ""
}
