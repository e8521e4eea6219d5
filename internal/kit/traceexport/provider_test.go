// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package traceexport

import (
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector starts a server in place of a collector, and returns its URL.
func collector(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL + TracesPath
}

func newProvider(c Config) (*Provider, *Counters) {
	counters := NewCounters()
	if c.Sampler == (Sampler{}) {
		c.Sampler.Ratio = 1
	}
	return New(c, Options{ServiceName: "s", Counters: counters, Log: slog.New(slog.DiscardHandler)}), counters
}

// all returns the numbers of exported and of lost spans.
func (c *Counters) all() [2]float64 {
	var values [2]float64
	for i, counter := range []prometheus.Counter{c.exported, c.lost} {
		m := &dto.Metric{}
		_ = counter.Write(m) // a counter has no error
		values[i] = m.GetCounter().GetValue()
	}
	return values
}

func TestSpansReachTheCollector(t *testing.T) {
	got := make(chan *tracepb.TracesData, 1)
	var header http.Header
	url := collector(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Errorf("body is not gzip: %v", err)
			return
		}
		body, _ := io.ReadAll(unzipped)
		data := &tracepb.TracesData{}
		if err := proto.Unmarshal(body, data); err != nil {
			t.Errorf("body is no TracesData: %v", err)
		}
		got <- data
		// partial_success { rejected_spans: 1 }
		inner := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
		_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner))
	})
	p, counters := newProvider(Config{Endpoint: url, Headers: map[string]string{"authorization": "Bearer x"}, Gzip: true, ServiceName: "mine"})
	for _, name := range []string{"a", "b"} {
		_, span := p.Tracer("t").Start(t.Context(), name)
		span.End()
	}
	p.Shutdown(t.Context())
	data := <-got
	spans := data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()
	if len(spans) != 2 || spans[0].GetName() != "a" || spans[1].GetName() != "b" || header.Get("Authorization") != "Bearer x" || header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("collector got %v with header %v", spans, header)
	}
	if text := data.GetResourceSpans()[0].GetResource().String(); !strings.Contains(text, "mine") {
		t.Errorf("resource %s does not name the service", text)
	}
	if got, want := counters.all(), [2]float64{1, 1}; got != want {
		t.Errorf("exported, lost = %v, want %v", got, want)
	}
}

func TestNoEndpointMakesNoProvider(t *testing.T) {
	p, _ := newProvider(Config{})
	if p != nil {
		t.Fatal("New() made a provider without an endpoint")
	}
	p.Shutdown(t.Context())
}

// TestFaultyCollectorsCostNoTimeAndBoundedMemory checks that, with a collector that fails in
// any way, spans end without a delay, memory holds at most the queue, each lost span is
// counted, and the shutdown ends in time.
func TestFaultyCollectorsCostNoTimeAndBoundedMemory(t *testing.T) {
	const queued, spans = 8, 1000
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, endpoint := range map[string]string{
		"hangs":   collector(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); awaitEnd(r, release) }),
		"refuses": collector(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }),
		"is overloaded": collector(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9999")
			w.WriteHeader(http.StatusServiceUnavailable)
		}),
		"is gone":               closed.URL,
		"redirects":             collector(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }),
		"closes the connection": collector(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, counters := newProvider(Config{Endpoint: endpoint, Batch: Batch{MaxQueue: queued, MaxExport: 4}})
			tracer := p.Tracer("t")
			start := time.Now()
			for range spans {
				_, span := tracer.Start(t.Context(), "x")
				span.End()
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%d spans took %v", spans, took)
			}
			p.Shutdown(context.Background())
			if took := time.Since(start); took > shutdownTimeout+2*time.Second {
				t.Errorf("shutdown took %v", took)
			}
			// The last export may still be ending.
			for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
				got := counters.all()
				if got == [2]float64{0, spans} {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("exported, lost = %v of %d spans", got, spans)
				}
			}
		})
	}
}

// awaitEnd waits until the client leaves or the test ends.
func awaitEnd(r *http.Request, released <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-released:
	}
}

func TestHugeResponseIsNotRead(t *testing.T) {
	var written atomic.Int64
	ended := make(chan struct{})
	url := collector(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		piece := make([]byte, 1<<20)
		for range 64 {
			n, err := w.Write(piece)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	})
	p, counters := newProvider(Config{Endpoint: url})
	_, span := p.Tracer("t").Start(t.Context(), "x")
	span.End()
	p.Shutdown(t.Context())
	<-ended
	if n := written.Load(); n > 32<<20 {
		t.Errorf("the collector could send %d bytes", n)
	}
	if got := counters.all(); got[0] != 1 {
		t.Errorf("exported = %v, want 1", got[0])
	}
}

func TestExportIsTriedAgain(t *testing.T) {
	var calls atomic.Int64
	url := collector(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	p, counters := newProvider(Config{Endpoint: url})
	_, span := p.Tracer("t").Start(t.Context(), "x")
	span.End()
	p.Shutdown(t.Context())
	if got := counters.all(); calls.Load() != 2 || got[0] != 1 {
		t.Errorf("%d calls, exported = %v; want 2, 1", calls.Load(), got[0])
	}
}

func TestSamplerFollowsParentsAndLinks(t *testing.T) {
	url := collector(t, func(http.ResponseWriter, *http.Request) {})
	parent := func(flags trace.TraceFlags) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags, Remote: true})
	}
	recorded, unrecorded := parent(trace.FlagsSampled), parent(0)
	for name, tt := range map[string]struct {
		sampler Sampler
		parent  trace.SpanContext
		link    *trace.SpanContext
		want    bool
	}{
		"root, all":              {Sampler{Ratio: 1}, trace.SpanContext{}, nil, true},
		"root, none":             {Sampler{IgnoreParent: false, Ratio: 1e-18}, trace.SpanContext{}, nil, false},
		"recorded parent":        {Sampler{Ratio: 1e-18}, recorded, nil, true},
		"unrecorded parent":      {Sampler{Ratio: 1}, unrecorded, nil, false},
		"parent ignored":         {Sampler{Ratio: 1, IgnoreParent: true}, unrecorded, nil, true},
		"link to recorded":       {Sampler{Ratio: 1e-18}, trace.SpanContext{}, &recorded, true},
		"link to unrecorded":     {Sampler{Ratio: 1}, trace.SpanContext{}, &unrecorded, false},
		"parent counts for link": {Sampler{Ratio: 1}, unrecorded, &recorded, false},
	} {
		p, _ := newProvider(Config{Endpoint: url, Sampler: tt.sampler})
		var options []trace.SpanStartOption
		if tt.link != nil {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: *tt.link}))
		}
		_, span := p.Tracer("t").Start(trace.ContextWithSpanContext(t.Context(), tt.parent), "x", options...)
		if got := span.SpanContext().IsSampled(); got != tt.want {
			t.Errorf("%s: sampled = %t, want %t", name, got, tt.want)
		}
		p.Shutdown(t.Context())
	}
}

func TestLongValuesAreCut(t *testing.T) {
	got := make(chan []byte, 1)
	url := collector(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- body
	})
	p, _ := newProvider(Config{Endpoint: url})
	_, span := p.Tracer("t").Start(t.Context(), "x")
	span.SetAttributes(attribute.String("a2a.task.id", strings.Repeat("y", 1<<20)))
	span.End()
	p.Shutdown(t.Context())
	if body := <-got; len(body) > 4<<10 {
		t.Errorf("a span has %d bytes", len(body))
	}
}

// A Provider that was replaced exports its open spans as they end, and stops after the last of
// them.
func TestReplacedProviderExportsItsOpenSpans(t *testing.T) {
	p, counters := newProvider(Config{Endpoint: collector(t, func(http.ResponseWriter, *http.Request) {})})
	var open []trace.Span
	for range 3 {
		_, span := p.Tracer("t").Start(t.Context(), "x")
		open = append(open, span)
	}
	retired := make(chan struct{})
	go func() {
		defer close(retired)
		p.Retire(context.Background())
	}()
	for i, span := range open {
		select {
		case <-retired:
			t.Fatalf("the provider stops while %d spans are open", len(open)-i)
		default:
		}
		span.End()
	}
	<-retired
	if got, want := counters.all(), [2]float64{3, 0}; got != want {
		t.Errorf("exported, lost = %v, want %v", got, want)
	}
}

// A span that has not ended at the shutdown, or starts after it, counts as lost, once.
func TestSpansOpenAtTheShutdownCountAsLost(t *testing.T) {
	p, counters := newProvider(Config{Endpoint: collector(t, func(http.ResponseWriter, *http.Request) {})})
	tracer := p.Tracer("t")
	_, ended := tracer.Start(t.Context(), "x")
	_, open := tracer.Start(t.Context(), "x")
	ended.End()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p.Retire(over)
	open.End()
	if got, want := counters.all(), [2]float64{1, 1}; got != want {
		t.Errorf("exported, lost = %v, want %v", got, want)
	}
}

// Each of the spans that end during a shutdown counts once, as exported or as lost.
func TestEverySpanThatEndsDuringAShutdownIsCounted(t *testing.T) {
	const spans = 1000
	p, counters := newProvider(Config{Endpoint: collector(t, func(http.ResponseWriter, *http.Request) {})})
	tracer := p.Tracer("t")
	var open [spans]trace.Span
	for i := range open {
		_, open[i] = tracer.Start(t.Context(), "x")
	}
	half, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i, span := range open {
			if i == spans/2 {
				close(half)
			}
			span.End()
		}
	}()
	<-half
	p.Shutdown(t.Context())
	<-ended
	if got := counters.all(); got[0]+got[1] != spans || got[0] < spans/2 {
		t.Errorf("exported, lost = %v of %d spans", got, spans)
	}
}
