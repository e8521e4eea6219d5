// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestCardsLeadThroughTheGateway(t *testing.T) {
	const text = `{"name":"Echo <1>","url":"http://echo.team.svc/","preferredTransport":"JSONRPC",
		"additionalInterfaces":[{"url":"http://echo.team.svc/","transport":"JSONRPC"},{"url":"http://echo.team.svc","transport":"HTTP+JSON"},{"url":"echo.team.svc:80","transport":"GRPC"}],
		"supportedInterfaces":[{"url":"https://agents.example.com/team/echo/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
			{"url":"http://echo.team.svc","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
		"signatures":[{"protected":"x","signature":"y"}]}`
	for _, path := range []string{
		"/.well-known/agent-card.json", "/.well-known/agent.json", "/agent/authenticatedExtendedCard", "/v1/card", "/extendedAgentCard",
	} {
		c := newCluster(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", `"1"`)
			_, _ = io.WriteString(w, text)
		})
		response, body := c.do(t, "GET", "/agents/team/echo"+path, "", "If-None-Match", `"1"`)
		var got map[string]any
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		base := c.gateway.URL + "/agents/team/echo/"
		want := map[string]any{
			"name": "Echo <1>", "url": base, "preferredTransport": "JSONRPC",
			"additionalInterfaces": []any{
				map[string]any{"url": base, "transport": "JSONRPC"},
				map[string]any{"url": strings.TrimSuffix(base, "/"), "transport": "HTTP+JSON"},
			},
			"supportedInterfaces": []any{
				map[string]any{"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
				map[string]any{"url": strings.TrimSuffix(base, "/"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
			},
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("card (-want +got):\n%s", diff)
		}
		if response.Header.Get("ETag") != "" {
			t.Error("a card that was changed has the ETag of the original")
		}
	}
}

// TestCardsListWhatTheGatewayCarries, whatever the agent's own card lists.
func TestCardsListWhatTheGatewayCarries(t *testing.T) {
	const base = "http://127.0.0.1:8643/agents/team/echo"
	both := []any{map[string]any{"url": base + "/", "transport": "JSONRPC"}, map[string]any{"url": base, "transport": "HTTP+JSON"}}
	tests := map[string]struct{ card, want map[string]any }{
		"gRPC only": {
			map[string]any{
				"url": "echo.team.svc:80", "preferredTransport": "GRPC", "additionalInterfaces": []any{map[string]any{"url": "echo.team.svc:80", "transport": "GRPC"}},
				"supportedInterfaces": []any{map[string]any{"url": "echo.team.svc:80", "protocolBinding": "GRPC", "protocolVersion": "1.0"}},
			},
			map[string]any{
				"url": base + "/", "preferredTransport": "JSONRPC", "additionalInterfaces": both,
				"supportedInterfaces": []any{
					map[string]any{"url": base + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
					map[string]any{"url": base, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
				},
			},
		},
		"gRPC with a scheme, first": {
			map[string]any{
				"url": "http://echo.team.svc/", "preferredTransport": "GRPC",
				"additionalInterfaces": []any{map[string]any{"url": "http://echo.team.svc", "transport": "GRPC"}, map[string]any{"url": "http://echo.team.svc", "transport": "HTTP+JSON"}},
			},
			map[string]any{"url": base, "preferredTransport": "HTTP+JSON", "additionalInterfaces": []any{both[1]}},
		},
		"two origins": {
			map[string]any{"supportedInterfaces": []any{
				map[string]any{"url": "https://a.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
				"x",
				map[string]any{"url": "http://echo.team.svc/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
				map[string]any{"url": "http://echo.team.svc/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3", "tenant": "t"},
			}},
			map[string]any{"supportedInterfaces": []any{
				map[string]any{"url": base + "/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
				map[string]any{"url": base + "/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3", "tenant": "t"},
			}},
		},
		"of 0.1":   {map[string]any{"url": "http://echo.team.svc/"}, map[string]any{"url": base + "/"}},
		"nonsense": {map[string]any{"url": "http://echo.team.svc/", "additionalInterfaces": []any{1, "x"}, "supportedInterfaces": "x"}, map[string]any{"url": base + "/", "additionalInterfaces": both[:1], "supportedInterfaces": "x"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			(&way{base: base}).move(test.card)
			if diff := gocmp.Diff(test.want, test.card); diff != "" {
				t.Errorf("card (-want +got):\n%s", diff)
			}
		})
	}
}
