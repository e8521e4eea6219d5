// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/jsonrpc"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/sse"
	"github.com/a2a-operator/a2a-operator/internal/kit/httpserver"
	"github.com/a2a-operator/a2a-operator/internal/kit/logging"
)

func TestPanicFailsOneRequest(t *testing.T) {
	var out bytes.Buffer
	log := logging.New(&out, slog.LevelInfo).With("a", 1)
	h := chain(withTrace, recoverPanic(log, jsonrpc.Deny))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") }))
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	const want = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}`
	if w.Body.String() != want {
		t.Errorf("answer = %s, want %s", w.Body, want)
	}
	for _, part := range []string{`"msg":"request panicked"`, `"trace_id":"0af7651916cd43dd8448eb211c80319c"`, `"a":1`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("log = %s, want %s in it", out.String(), part)
		}
	}
}

func TestTraceID(t *testing.T) {
	for _, text := range []string{"", "00", "00-x-y-z", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"} {
		if got := traceID(text); got != "" {
			t.Errorf("traceID(%q) = %q", text, got)
		}
	}
}

// TestPanicAbortsTheStream checks that a client can detect that the stream is incomplete.
func TestPanicAbortsTheStream(t *testing.T) {
	server := httptest.NewServer(recoverPanic(slog.New(slog.DiscardHandler), jsonrpc.Deny)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		panic("secret")
	})))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil || string(body) != "data: 1\n\n" {
		t.Errorf("body = %q, %v, want one that breaks off", body, err)
	}
}

// TestPanicAbortsTheParkedStream checks that a panic ends only the parked stream, and not
// the process: no server recovers from panics on the goroutine of the stream.
func TestPanicAbortsTheParkedStream(t *testing.T) {
	var out bytes.Buffer
	p := NewParking()
	park := ParkStreams(p, logging.New(&out, slog.LevelInfo))
	handler := withTrace(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		if !park(w, r, func(context.Context, sse.Conn) bool { panic("secret") }) {
			t.Error("the stream is not parked")
		}
	}))
	server := httptest.NewUnstartedServer(nil)
	own := httpserver.New(httpserver.Options{Name: "panics", Handler: handler, Memory: 1 << 20})
	server.Config = own.Server
	server.Listener = own.Listener(server.Listener)
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err == nil || string(body) != "data: 1\n\n" {
		t.Errorf("body = %q, %v, want one that breaks off", body, err)
	}
	p.Stop(t.Context())
	for _, part := range []string{`"msg":"parked stream panicked"`, `"trace_id":"0af7651916cd43dd8448eb211c80319c"`, "secret"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("log = %s, want %s in it", out.String(), part)
		}
	}
}
