// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v10 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc/metadata"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/tracecollector"
)

const (
	streamHello = `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"new","role":"user","parts":[{"kind":"text","text":"Hello"}]}}}`

	clientTrace  = "0af7651916cd43dd8448eb211c80319c"
	clientSpan   = "b7ad6b7169203331"
	clientParent = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// tracedTo configures the export of every trace to an endpoint.
func tracedTo(endpoint string) func(*sidecarconfig.Config) {
	return func(c *sidecarconfig.Config) {
		c.Tracing = &sidecarconfig.Tracing{Endpoint: endpoint, SamplingPercent: 100}
	}
}

// newTracedPod returns a pod that exports every trace soon after its spans ended.
func newTracedPod(t *testing.T, agent http.HandlerFunc) (*pod, *tracecollector.Collector) {
	t.Helper()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	c := tracecollector.Start(t)
	return newPod(t, agent, tracedTo(c.URL)), c
}

// heldAgent returns an agent that sends one event at once, and the next one when proceed
// is closed.
func heldAgent(proceed <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = io.WriteString(w, `{"text":"one "}`+"\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-proceed:
			_, _ = io.WriteString(w, `{"text":"two"}`+"\n")
		case <-r.Context().Done():
		}
	}
}

// The span of a call in each binding is a child of the client's span and the parent of
// the turn's span. The agent receives the trace context of the turn.
func TestEachBindingContinuesTheTraceOfTheClient(t *testing.T) {
	received := make(chan string, 1)
	p, c := newTracedPod(t, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Get("Traceparent")
		respondHi(w, r)
	})
	headers := []string{"Authorization", "Bearer " + p.token("team"), "Traceparent", clientParent, "A2A-Version", "1.0"}
	const message = `{"message":{"messageId":"new","role":"ROLE_USER","parts":[{"text":"Hello"}]}}`
	grpcClient := v10.NewA2AServiceClient(p.dial())
	grpcContext := metadata.AppendToOutgoingContext(p.caller(), "traceparent", clientParent)
	for binding, send := range map[string]func() error{
		"jsonrpc": func() error {
			p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":`+message+`}`, headers...)
			return nil
		},
		"rest": func() error {
			p.do("POST", p.agent()+"message:send", message, headers...)
			return nil
		},
		"grpc": func() error {
			_, err := grpcClient.SendMessage(grpcContext, hello10)
			return err
		},
	} {
		if err := send(); err != nil {
			t.Fatalf("%s: %v", binding, err)
		}
		ofBinding := func(s tracecollector.Span) bool {
			return s.Value("a2a.binding") == binding && tracecollector.Server("echo", "SendMessage")(s)
		}
		operation := c.Await(t, ofBinding)[0]
		turn := c.Await(t, func(s tracecollector.Span) bool { return string(s.ParentSpanId) == string(operation.SpanId) })[0]
		if trace, parent := hex.EncodeToString(operation.TraceId), hex.EncodeToString(operation.ParentSpanId); trace != clientTrace || parent != clientSpan {
			t.Errorf("%s: the operation has trace %s and parent %s, want those of the client", binding, trace, parent)
		}
		if got := operation.Value("a2a.version") + " " + operation.Value("a2a.outcome"); got != "1.0 success" {
			t.Errorf("%s: version and outcome = %q, want 1.0 success", binding, got)
		}
		if got := <-received; got != turn.TraceParent() {
			t.Errorf("%s: agent received %q, want %q", binding, got, turn.TraceParent())
		}
	}
}

func TestSpanOfAParkedStreamEndsWithTheStream(t *testing.T) {
	proceed := make(chan struct{})
	p, c := newTracedPod(t, heldAgent(proceed))
	response := p.open("POST", p.agent(), streamHello, p.tokenHeaders("team")...)
	defer response.Body.Close()
	p.eventually("the stream is parked", func() bool { return p.sidecar.parking.Len() == 1 })
	parked := time.Now()
	close(proceed)
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	span := c.Await(t, tracecollector.Server("echo", "SendStreamingMessage"))[0]
	if got := span.Value("a2a.outcome") + " " + span.Value("a2a.task.state"); got != "success completed" {
		t.Errorf("outcome and state = %q, want success completed", got)
	}
	if ended := time.Unix(0, int64(span.EndTimeUnixNano)); ended.Before(parked) {
		t.Errorf("the span ended %v before the end of the stream", parked.Sub(ended))
	}
}

// The span of an operation whose client disconnected is canceled, and the span of its
// turn continues.
func TestSpanOfAClientThatLeftIsCanceled(t *testing.T) {
	for name, tt := range map[string]struct {
		body, operation string
		// parked is true if the client disconnects while its stream is parked.
		parked bool
	}{
		"call":          {body: hello, operation: "SendMessage"},
		"stream":        {body: streamHello, operation: "SendStreamingMessage"},
		"parked stream": {body: streamHello, operation: "SendStreamingMessage", parked: true},
	} {
		t.Run(name, func(t *testing.T) {
			proceed, called := make(chan struct{}), make(chan struct{})
			held := heldAgent(proceed)
			p, c := newTracedPod(t, func(w http.ResponseWriter, r *http.Request) {
				close(called)
				held(w, r)
			})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.agent(), strings.NewReader(withNewMessageID(tt.body)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+p.token("team"))
			go func() {
				<-called
				if tt.parked {
					p.eventually("the stream is parked", func() bool { return p.sidecar.parking.Len() == 1 })
				}
				leave()
			}()
			if response, err := p.client.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			span := c.Await(t, tracecollector.Server("echo", tt.operation))[0]
			if got := span.Value("a2a.outcome"); got != "canceled" {
				t.Errorf("outcome = %q, want canceled\n%s", got, c)
			}
			if strings.Contains(c.String(), "invoke_agent") {
				t.Errorf("the span of the turn ended with its client:\n%s", c)
			}
			close(proceed)
			turn := c.Await(t, tracecollector.Client("echo", "invoke_agent echo"))[0]
			if got := turn.Value("a2a.outcome"); got != "success" {
				t.Errorf("outcome of the turn = %q, want success", got)
			}
		})
	}
}

// If one replica forwards a message to the replica that runs the task, the message stays
// in the trace of its own client.
func TestForwardedMessageKeepsItsTrace(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	c, server := tracecollector.Start(t), redistest.Start(t)
	received := make(chan string, 2)
	replica := func(name string) *pod {
		var turns atomic.Int64
		return newPodWith(t, func(w http.ResponseWriter, r *http.Request) {
			received <- name + " " + r.Header.Get("Traceparent")
			if turns.Add(1) > 1 {
				respondHi(w, r)
				return
			}
			// The turn asks for input and continues to run, so that this replica remains the owner
			// of the task.
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"input-required"}}`+"\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, tracedTo(c.URL), func(o *settings.Options) { o.Store, o.Replica = "redis://"+server.Address(), name })
	}
	owner, other := replica("owner"), replica("other")
	_, first := owner.do("POST", owner.agent(), hello, owner.tokenHeaders("team")...)
	var asked struct{ Result struct{ ID string } }
	if err := json.Unmarshal([]byte(first), &asked); err != nil || asked.Result.ID == "" {
		t.Fatalf("the first message was answered with %s", first)
	}
	<-received
	second := strings.Replace(hello, `"role":`, `"taskId":"`+asked.Result.ID+`","role":`, 1)
	if _, body := other.do("POST", other.agent(), second, append(other.tokenHeaders("team"), "Traceparent", clientParent)...); !strings.Contains(body, `"completed"`) {
		t.Fatalf("the second message was answered with %s", body)
	}
	inTrace := func(is func(tracecollector.Span) bool) func(tracecollector.Span) bool {
		return func(s tracecollector.Span) bool { return hex.EncodeToString(s.TraceId) == clientTrace && is(s) }
	}
	spans := c.Await(t, inTrace(tracecollector.Server("echo", "SendMessage")), inTrace(tracecollector.Client("echo", "invoke_agent echo")))
	if string(spans[1].ParentSpanId) != string(spans[0].SpanId) {
		t.Errorf("the turn is no child of the operation:\n%s", c)
	}
	if got, want := <-received, "owner "+spans[1].TraceParent(); got != want {
		t.Errorf("agent received %q, want %q", got, want)
	}
}

func TestTracingIsReloaded(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	c := tracecollector.Start(t)
	p := newPod(t, respondHi, nil)
	send := func() { p.do("POST", p.agent(), hello, p.tokenHeaders("team")...) }
	send()
	reload := func(change func(*sidecarconfig.Config)) {
		t.Helper()
		former := p.sidecar.current()
		change(p.config)
		p.mount(p.encode())
		p.eventually("the configuration is reloaded", func() bool { return p.sidecar.current() != former })
	}
	reload(tracedTo(c.URL))
	send()
	c.Await(t, tracecollector.Server("echo", "SendMessage"), tracecollector.Client("echo", "invoke_agent echo"))
	reload(func(c *sidecarconfig.Config) { c.Tracing = nil })
	send()
	// The Wait shows that the reload has exported the recorded spans. Without it, the
	// shutdown could be the one that exports them.
	p.sidecar.traces.retiring.Wait()
	if n := strings.Count(c.String(), "\n"); n != 2 {
		t.Errorf("%d spans arrived, want those of the second call only:\n%s", n, c)
	}
}

// A new version of the card during a turn loses no span.
func TestSpansOutliveAChangeOfTheCard(t *testing.T) {
	proceed, called := make(chan struct{}), make(chan struct{})
	held := heldAgent(proceed)
	p, c := newTracedPod(t, func(w http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		held(w, r)
	})
	send := func() {
		if _, body := p.do("POST", p.agent(), hello, p.tokenHeaders("team")...); !strings.Contains(body, "completed") {
			t.Errorf("response = %s", body)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); send() }()
	<-called
	former := p.sidecar.current()
	formerVersion := former.Card.Version
	p.config.Card.Version = "new"
	p.mount(p.encode())
	p.eventually("the configuration is reloaded", func() bool { return p.sidecar.current() != former })
	close(proceed)
	<-ended
	go func() { <-called }()
	send()
	for _, version := range []string{formerVersion, "new"} {
		c.Await(t, func(s tracecollector.Span) bool {
			return tracecollector.Server("echo", "SendMessage")(s) && s.Value("gen_ai.agent.version") == version
		}, func(s tracecollector.Span) bool {
			return tracecollector.Client("echo", "invoke_agent echo")(s) && s.Value("gen_ai.agent.version") == version
		})
	}
}

// A change of the collector during a turn loses no span: the spans that began before it
// reach the former collector, and those that begin after it reach the new one.
func TestSpansOutliveAChangeOfTheCollector(t *testing.T) {
	proceed, called := make(chan struct{}), make(chan struct{})
	held := heldAgent(proceed)
	p, former := newTracedPod(t, func(w http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		held(w, r)
	})
	send := func() {
		if _, body := p.do("POST", p.agent(), hello, p.tokenHeaders("team")...); !strings.Contains(body, "completed") {
			t.Errorf("response = %s", body)
		}
	}
	ended := make(chan struct{})
	go func() { defer close(ended); send() }()
	<-called
	next, before := tracecollector.Start(t), p.sidecar.current()
	tracedTo(next.URL)(p.config)
	p.mount(p.encode())
	p.eventually("the configuration is reloaded", func() bool { return p.sidecar.current() != before })
	close(proceed)
	<-ended
	go func() { <-called }()
	send()
	for name, c := range map[string]*tracecollector.Collector{"former": former, "new": next} {
		c.Await(t, tracecollector.Server("echo", "SendMessage"), tracecollector.Client("echo", "invoke_agent echo"))
		if n := strings.Count(c.String(), "\n"); n != 2 {
			t.Errorf("the %s collector received %d spans, want 2:\n%s", name, n, c)
		}
	}
	p.sidecar.traces.retiring.Wait()
	p.metric(`a2a_trace_spans_total{result="lost"} 0`)
}

// If a collector accepts connections and never responds, calls are still answered, and
// the sidecar stops in time.
func TestHangingCollectorDelaysNoCall(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	p := newPod(t, respondHi, tracedTo(hanging.URL))
	for range 20 {
		if response, body := p.do("POST", p.agent(), hello, p.tokenHeaders("team")...); response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", response.Status, body)
		}
	}
	p.eventually("lost spans are counted", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_trace_spans_total{result="lost"} 3`)
	})
	begin := time.Now()
	p.stop()
	if err := <-p.done; err != nil {
		t.Errorf("Serve() error = %v", err)
	}
	p.done <- nil // the cleanup of the test receives this
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
}
