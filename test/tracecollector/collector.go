// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracecollector is an OpenTelemetry collector for tests. It receives traces by OTLP
// over HTTP, decodes them with the official protobuf messages, and stores them in memory. Only
// tests import it.
package tracecollector

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector receives spans. Its URL is the endpoint of exporters.
type Collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []Span
	// bodies are the bodies of the requests.
	bodies []string
	// arrived receives a value after each request.
	arrived chan struct{}
}

// Span is a span with the name of its service.
type Span struct {
	*tracepb.Span
	Service string
}

// Start runs a collector until the test ends. A request that is not OTLP fails the test.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{arrived: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		data := &tracepb.TracesData{}
		if err := proto.Unmarshal(body, data); err != nil || r.URL.Path != "/v1/traces" {
			tb.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		c.bodies = append(c.bodies, string(body))
		for _, resource := range data.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					c.spans = append(c.spans, Span{s, valueOf(resource.GetResource().GetAttributes(), "service.name")})
				}
			}
		}
		c.mu.Unlock()
		select {
		case c.arrived <- struct{}{}:
		default:
		}
	}))
	tb.Cleanup(c.Close)
	return c
}

func valueOf(attributes []*commonpb.KeyValue, key string) string {
	for _, a := range attributes {
		if a.GetKey() == key {
			if number, ok := a.GetValue().GetValue().(*commonpb.AnyValue_IntValue); ok {
				return fmt.Sprint(number.IntValue)
			}
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// Value returns the value of an attribute as a text, "" if the span does not have it.
func (s Span) Value(key string) string { return valueOf(s.Attributes, key) }

// TraceParent returns the traceparent header of a request that the span causes.
func (s Span) TraceParent() string {
	return "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"
}

// Await waits up to 30 s until a span matches each predicate. It returns the first matching span of each predicate,
// in the order of the predicates.
func (c *Collector) Await(tb testing.TB, wanted ...func(Span) bool) []Span {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	for {
		found := make([]Span, 0, len(wanted))
		c.mu.Lock()
		for _, is := range wanted {
			for _, s := range c.spans {
				if is(s) {
					found = append(found, s)
					break
				}
			}
		}
		c.mu.Unlock()
		if len(found) == len(wanted) {
			return found
		}
		select {
		case <-c.arrived:
		case <-deadline:
			tb.Fatalf("%d of %d spans arrived:\n%s", len(found), len(wanted), c)
		}
	}
}

// Requests returns the bodies of all requests, one after another.
func (c *Collector) Requests() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.bodies, "")
}

// String lists the spans, one in each line.
func (c *Collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, s := range c.spans {
		fmt.Fprintf(&b, "%s %s %s trace %x span %x parent %x", s.Service, s.Kind, s.Name, s.TraceId, s.SpanId, s.ParentSpanId)
		for _, a := range s.Attributes {
			fmt.Fprintf(&b, " %s=%s", a.GetKey(), valueOf(s.Attributes, a.GetKey()))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// Server returns a predicate that selects the SERVER spans of a service for an operation, by its name.
func Server(service, name string) func(Span) bool {
	return of(service, name, tracepb.Span_SPAN_KIND_SERVER)
}

// Client returns a predicate that selects the CLIENT spans of a service with a name.
func Client(service, name string) func(Span) bool {
	return of(service, name, tracepb.Span_SPAN_KIND_CLIENT)
}

func of(service, name string, kind tracepb.Span_SpanKind) func(Span) bool {
	return func(s Span) bool { return s.Service == service && s.Name == name && s.Kind == kind }
}
