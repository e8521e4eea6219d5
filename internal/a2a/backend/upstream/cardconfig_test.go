// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend/upstream"
	"github.com/a2a-operator/a2a-operator/internal/a2a/version"
)

// respondsHello responds with a message in each version and binding.
func respondsHello(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case strings.HasPrefix(string(body), `{"jsonrpc"`) && strings.Contains(string(body), `"tasks/send`):
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"Hello"}]}}}}`)
	case strings.HasPrefix(string(body), `{"jsonrpc"`) && strings.Contains(string(body), `"message/`):
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","parts":[{"kind":"text","text":"Hello"}]}}`)
	case strings.HasPrefix(string(body), `{"jsonrpc"`):
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","result":{"message":{"parts":[{"text":"Hello"}]}}}`)
	default:
		_, _ = io.WriteString(w, `{"message":{"parts":[{"text":"Hello"}]}}`)
	}
}

func TestConfiguredVersionPathAndQuery(t *testing.T) {
	t.Parallel()
	const card10 = `{"supportedInterfaces":[{"url":"http://x/a2a/1","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{}}`
	for name, tt := range map[string]struct {
		path    string
		options upstream.Options
		card    string
		cardAt  string
		want    []string
	}{
		"LangGraph with the assistant in the query": {
			options: upstream.Options{Query: "assistant_id=1"}, card: card10, cardAt: "/.well-known/agent-card.json",
			want: []string{"GET /.well-known/agent-card.json?assistant_id=1", "POST /a2a/1?assistant_id=1"},
		},
		"LangGraph with the assistant in the path": {
			path: "/a2a/1", card: card10, cardAt: "/a2a/1/.well-known/agent-card.json",
			want: []string{"GET /a2a/1/.well-known/agent-card.json", "POST /a2a/1"},
		},
		"a card at a configured path": {
			options: upstream.Options{CardPath: "/cards/a%2Fb.json"}, card: card10, cardAt: "/cards/a/b.json",
			want: []string{"GET /cards/a%2Fb.json", "POST /a2a/1"},
		},
		"a card and an endpoint at configured paths": {
			path: "/rpc", options: upstream.Options{CardPath: "/card.json", Query: "k=v&w"}, card: card10, cardAt: "/card.json",
			want: []string{"GET /card.json?k=v&w", "POST /rpc?k=v&w"},
		},
		"1.0 without a card": {options: upstream.Options{Version: version.V10}, want: []string{"POST / SendStreamingMessage"}},
		"0.3 without a card": {options: upstream.Options{Version: version.V03}, path: "/x", want: []string{"POST /x message/stream"}},
		"0.2 without a card": {options: upstream.Options{Version: version.V02}, want: []string{"POST / message/stream"}},
		"0.1 without a card": {options: upstream.Options{Version: version.V01}, want: []string{"POST / tasks/sendSubscribe"}},
		"0.3 with a card of 1.0": {
			options: upstream.Options{Version: version.V03, CardPath: "/card.json"}, card: card10, cardAt: "/card.json",
			want: []string{"GET /card.json", "POST /a2a/1 message/send"},
		},
		"a query in the card": {
			options: upstream.Options{CardPath: "/card.json"}, cardAt: "/card.json",
			card: `{"supportedInterfaces":[{"url":"http://x/a2a/1?k=v","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{}}`,
			want: []string{"GET /card.json", "POST /a2a/1?k=v"},
		},
		"1.0 over HTTP+JSON with a card of 0.3": {
			options: upstream.Options{Version: version.V10, CardPath: "/card.json", Query: "k=v"}, cardAt: "/card.json",
			card: `{"url":"http://x/rest","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0"}`,
			want: []string{"GET /card.json?k=v", "POST /rest/message:send?k=v"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				line := r.Method + " " + r.RequestURI
				if r.Method == http.MethodGet {
					got = append(got, line)
					if r.URL.Path != tt.cardAt {
						http.NotFound(w, r)
						return
					}
					_, _ = io.WriteString(w, tt.card)
					return
				}
				body, _ := io.ReadAll(r.Body)
				if fields := strings.Split(string(body), `"`); tt.options.Version != (version.Version{}) && fields[1] == "jsonrpc" {
					line += " " + fields[11]
				}
				got = append(got, line)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				respondsHello(w, r)
			}))
			defer server.Close()
			o := tt.options
			o.URL = server.URL + tt.path
			b, err := upstream.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for range 2 {
				if h, outcome := run(t, b, newTurn()); outcome != "ended" && outcome != "whole" {
					t.Errorf("Run() = %s, %s", h, outcome)
				}
			}
			// The second turn does not read the card.
			want := append(slices.Clone(tt.want), tt.want[len(tt.want)-1])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestConfiguredVersionHasNoFallback checks that the backend tries no version other than
// the configured one.
func TestConfiguredVersionHasNoFallback(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"x"}}`)
	}))
	defer server.Close()
	b, err := upstream.New(upstream.Options{URL: server.URL, Version: version.V02})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const want = "failed: The agent does not speak A2A 0.3 over JSONRPC, which backend.a2a.version names"
	if _, outcome := run(t, b, newTurn()); outcome != want || calls != 2 {
		t.Errorf("Run() = %s after %d calls, want %s", outcome, calls, want)
	}
}

func TestMissingCardNamesTheBestResponse(t *testing.T) {
	t.Parallel()
	const cure = "; set backend.a2a.cardPath and backend.a2a.query to where the card is, or backend.a2a.version to use no card"
	type answer struct {
		status          int
		mediaType, body string
	}
	notFound := answer{404, "application/json", `{"detail":"Not Found"}`}
	none := "failed: The agent serves no card at /.well-known/agent-card.json or /.well-known/agent.json, which names its version of A2A" + cure
	for name, tt := range map[string]struct {
		first, second answer
		cardPath      string
		want          string
	}{
		"LangGraph": {
			first:  answer{400, "application/json", `{"error":{"code":-32602,"message":"Missing required query parameter: assistant_id"}}`},
			second: notFound,
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 400 Bad Request: " +
				`{"error":{"code":-32602,"message":"Missing required query parameter: assistant_id"}}` + cure,
		},
		"the second explains more": {
			first: notFound, second: answer{401, "text/plain", "token required"},
			want: "failed: The agent serves no card: GET /.well-known/agent.json returned 401 Unauthorized: token required" + cure,
		},
		"the first of two responses with a text": {
			first: answer{500, "text/plain", "one"}, second: answer{500, "text/plain", "two"},
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 500 Internal Server Error: one" + cure,
		},
		"a page is not quoted": {
			first: answer{500, "text/html", "<html>"}, second: notFound,
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 500 Internal Server Error" + cure,
		},
		"a secret is not passed": {
			first: answer{403, "text/plain", "bad token: hunter2"}, second: notFound,
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 403 Forbidden: bad token: [redacted]" + cure,
		},
		"no card at both paths": {first: notFound, second: notFound, want: none},
		"a redirect": {
			first: answer{307, "", ""}, second: notFound,
			want: "failed: The agent serves no card: GET /.well-known/agent-card.json returned 307 Temporary Redirect" + cure,
		},
		"the place that is configured": {
			cardPath: "/card", second: notFound,
			want: `failed: The agent serves no card: GET /card returned 404 Not Found: {"detail":"Not Found"}` + cure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := tt.second
				if r.URL.Path == "/.well-known/agent-card.json" {
					a = tt.first
				}
				w.Header().Set("Content-Type", a.mediaType)
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
			}))
			defer server.Close()
			b, err := upstream.New(upstream.Options{URL: server.URL, CardPath: tt.cardPath})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if _, outcome := run(t, b, newTurn()); outcome != tt.want {
				t.Errorf("Run() = %s\nwant %s", outcome, tt.want)
			}
		})
	}
}
