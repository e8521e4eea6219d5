// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/stream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
)

// TestAgentThatDoesNotStreamDespiteItsCard checks that the run sends the message again
// without streaming, and that later runs do not stream.
func TestAgentThatDoesNotStreamDespiteItsCard(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32601, -32004} {
		b, calls := newAgent(t, "0.3", true, upstream.Options{}, func(s *responder, a agentRequest) {
			if a.op == "stream" {
				s.respondError(code)
				return
			}
			s.respond(taskEvent(task(a2a.StateCompleted, "x")))
		})
		for range 2 {
			if _, outcome := run(t, b, newTurn()); outcome != "ended" {
				t.Errorf("Run() = %s", outcome)
			}
		}
		if calls.ops() != "stream send send" {
			t.Errorf("the agent received %s", calls.ops())
		}
	}
}

func TestUnsupportedVersionDespiteTheCard(t *testing.T) {
	t.Parallel()
	b, _ := newAgent(t, "1.0", false, upstream.Options{}, func(s *responder, _ agentRequest) { s.respondError(-32009) })
	if _, outcome := run(t, b, newTurn()); outcome != "failed: The agent does not speak A2A 1.0 over JSONRPC, which its card offers" {
		t.Errorf("Run() = %s", outcome)
	}
}

func TestCards(t *testing.T) {
	t.Parallel()
	const fine = `{"url":"/rpc","protocolVersion":"0.3.0","capabilities":{}}`
	hello := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}}`)
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	const cure = "; set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card"
	const none = "failed: The agent serves no card at /.well-known/agent-card.json or /.well-known/agent.json, which names its version of A2A" + cure
	const nothing = "failed: The agent's card offers no version of A2A that the sidecar speaks (0.1 to 1.0, over JSON-RPC or HTTP+JSON)"
	tests := map[string]struct {
		path string
		mux  map[string]http.HandlerFunc
		want string
	}{
		"none":             {mux: map[string]http.HandlerFunc{"/rpc": hello}, want: none},
		"at the old place": {mux: map[string]http.HandlerFunc{"/.well-known/agent.json": text(fine), "/rpc": hello}, want: "whole"},
		"below the path":   {path: "/a/b", mux: map[string]http.HandlerFunc{"/a/b/.well-known/agent-card.json": text(fine), "/a/b": hello}, want: "whole"},
		"at the root":      {path: "/a/b", mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(fine), "/a/b": hello}, want: "whole"},
		"without a path":   {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"http://0.0.0.0:9","protocolVersion":"0.3.0"}`), "/": hello}, want: "whole"},
		"64 MB": {
			mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": func(w http.ResponseWriter, _ *http.Request) {
				spaces := strings.Repeat(" ", 1<<20)
				for range 64 {
					if _, err := io.WriteString(w, spaces); err != nil {
						return
					}
				}
			}}, want: "failed: The agent's card exceeds 1048576 bytes",
		},
		"half":            {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":`)}, want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 7"},
		"trailing bytes":  {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(fine + "x")}, want: "failed: The agent's card is not JSON: data after the end of the JSON value"},
		"duplicate names": {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"a","url":"b"}`)}, want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 11"},
		"wrong types":     {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":7}`)}, want: "failed: The agent's card is not an Agent Card: url: must be a string"},
		"deep":            {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(strings.Repeat("[", 100))}, want: "failed: The agent's card is not JSON: JSON is nested deeper than 64 levels"},
		"too many": {
			mux:  map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"supportedInterfaces":[` + strings.Repeat("{},", 64) + `{}]}`)},
			want: "failed: The agent's card is not an Agent Card: supportedInterfaces[64]: exceeds the limit of 64 elements",
		},
		"no interface":  {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{}`)}, want: "failed: The agent's card names no interface: it has neither url nor supportedInterfaces"},
		"gRPC only":     {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"x:1","preferredTransport":"GRPC","protocolVersion":"0.3.0"}`)}, want: "failed: The agent's card offers gRPC only; the sidecar calls agents over JSON-RPC or HTTP+JSON"},
		"later version": {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"supportedInterfaces":[{"url":"x","protocolBinding":"JSONRPC","protocolVersion":"2.0"}]}`)}, want: nothing},
		"odd version":   {mux: map[string]http.HandlerFunc{"/.well-known/agent-card.json": text(`{"url":"x","protocolVersion":"new"}`)}, want: nothing},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			for path, h := range tt.mux {
				if path == "/" {
					path = "/{$}"
				}
				mux.HandleFunc(path, h)
			}
			server := httptest.NewServer(mux)
			defer server.Close()
			b, err := upstream.New(upstream.Options{URL: server.URL + tt.path})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, outcome := run(t, b, newTurn()); outcome != tt.want && !strings.HasPrefix(outcome, tt.want+"; received: ") {
				t.Errorf("Run() = %s\nwant %s", outcome, tt.want)
			}
		})
	}
}

// TestCardWithoutVersionFallsBackToV01 checks that the backend assumes 0.3 for a card
// without a version, and uses 0.1 if the agent does not support the methods of 0.3.
func TestCardWithoutVersionFallsBackToV01(t *testing.T) {
	t.Parallel()
	var methods []string
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"name":"x","url":"http://localhost:10000/","version":"1","capabilities":{},"skills":[]}`)
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		method := strings.Split(string(body), `"`)[11]
		methods = append(methods, method)
		if method != "tasks/send" {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"id":"`+strings.Split(string(body), `"`)[17]+`","status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"x"}]}}},"error":null}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b, err := upstream.New(upstream.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for range 2 {
		if h, outcome := run(t, b, newTurn()); outcome != "ended" {
			t.Errorf("Run() = %s, %s", h, outcome)
		}
	}
	if got := strings.Join(methods, " "); got != "message/send tasks/send tasks/send" {
		t.Errorf("the agent received %s", got)
	}
}

// TestCardIsReadAgainAfterAnUnsupportedMethod replaces the agent by an agent of another
// version.
func TestCardIsReadAgainAfterAnUnsupportedMethod(t *testing.T) {
	t.Parallel()
	var version atomic.Value
	version.Store("0.3")
	var cards atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		cards.Add(1)
		_, _ = fmt.Fprintf(w, `{"supportedInterfaces":[{"url":"/","protocolBinding":"JSONRPC","protocolVersion":%q}]}`, version.Load())
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		now := "0.3"
		if strings.Contains(string(body), "SendMessage") {
			now = "1.0"
		}
		switch {
		case now != version.Load():
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
		case now == "1.0":
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"new"}]}}}`)
		default:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"old"}]}}`)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b, err := upstream.New(upstream.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, want := range []string{"message:old", "message:old"} {
		if h, outcome := run(t, b, newTurn()); h.String() != want || outcome != "whole" {
			t.Errorf("Run() = %q, %s, want %q", h, outcome, want)
		}
	}
	version.Store("1.0")
	if h, outcome := run(t, b, newTurn()); h.String() != "message:new" || outcome != "whole" || cards.Load() != 2 {
		t.Errorf("Run() = %q, %s after %d cards", h, outcome, cards.Load())
	}
}

func TestCardHasATimeLimit(t *testing.T) {
	t.Parallel()
	b := func() *upstream.Backend {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		t.Cleanup(server.Close)
		b, err := upstream.New(upstream.Options{URL: server.URL, Limits: stream.Limits{FirstEvent: 50 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}()
	if _, outcome := run(t, b, newTurn()); outcome != "failed: The agent did not answer within 50ms" {
		t.Errorf("Run() = %s", outcome)
	}
}

// TestUntrustedCardDoesNotChangeTheHost checks that the backend calls only the configured
// host, whatever host the card names.
func TestUntrustedCardDoesNotChangeTheHost(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a foreign server received a request for %s", r.URL)
	}))
	defer elsewhere.Close()
	const hello03 = `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}}`
	interfaces := func(url, version string) string {
		return `{"supportedInterfaces":[{"url":"` + url + `","protocolBinding":"JSONRPC","protocolVersion":"` + version + `"}],"capabilities":{"streaming":true}}`
	}
	for name, tt := range map[string]struct {
		card    string
		handler http.HandlerFunc // serves the card, in place of its text
		output  string
		want    string
	}{
		"a foreign address":          {card: interfaces(elsewhere.URL+"/rpc", "0.3"), output: "message:Hello", want: "whole"},
		"a relative address":         {card: interfaces("/rpc", "0.3"), output: "message:Hello", want: "whole"},
		"an address with a password": {card: interfaces("http://a:b@elsewhere.example/rpc?x=y#z", "0.3"), output: "message:Hello", want: "whole"},
		"a path with dots":           {card: interfaces("/a/../rpc", "0.3"), want: "failed: The agent answered 307 Temporary Redirect"},
		"no address":                 {card: interfaces(":", "0.3"), want: "failed: The agent's card has an interface whose URL cannot be read"},
		"a version that is newer":    {card: interfaces("/rpc", "1.0"), want: "failed: The agent does not speak A2A 1.0 over JSONRPC, which its card offers"},
		"a version that is older":    {card: interfaces("/rpc", "0.1"), output: "message:Hello", want: "whole"},
		"streaming":                  {card: interfaces("/rpc", "0.3"), output: "message:Hello", want: "whole"},
		"a page":                     {card: "<html><title>Sign in</title>", want: "failed: The agent's card is not JSON: Invalid JSON payload at byte 0; received: <html><title>Sign in</title>"},
		"10 MB": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat(" ", 10<<20))
			},
			want: "failed: The agent's card exceeds 1048576 bytes",
		},
		"a redirect": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			},
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 302 Found; " +
				"set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card",
		},
		"half, and then nothing": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"supported`)
				_ = http.NewResponseController(w).Flush()
				panic(abort)
			},
			want: "failed: The agent's answer broke off",
		},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
				if tt.handler != nil {
					tt.handler(w, r)
					return
				}
				_, _ = io.WriteString(w, tt.card)
			})
			// The agent uses 0.3 and does not stream.
			mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"message/send"`) {
					_, _ = io.WriteString(w, hello03)
					return
				}
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601}}`)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			b, err := upstream.New(upstream.Options{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if h, outcome := run(t, b, newTurn()); h.String() != tt.output || outcome != tt.want {
				t.Errorf("Run() = %q, %s\nwant %q, %s", h, outcome, tt.output, tt.want)
			}
		})
	}
}
