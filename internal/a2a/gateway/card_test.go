// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestCardsHaveURLsOfTheGateway(t *testing.T) {
	const text = `{"name":"Echo <1>","url":"http://echo.team.svc/","preferredTransport":"JSONRPC",
		"additionalInterfaces":[{"url":"http://echo.team.svc/","transport":"JSONRPC"},{"url":"http://echo.team.svc","transport":"HTTP+JSON"},{"url":"echo.team.svc:80","transport":"GRPC"}],
		"supportedInterfaces":[{"url":"https://agents.example.com/team/echo/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
			{"url":"http://echo.team.svc","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
		"signatures":[{"protected":"x","signature":"y"}]}`
	for _, path := range []string{
		"/.well-known/agent-card.json", "/.well-known/agent.json", "/agent/authenticatedExtendedCard", "/v1/card", "/extendedAgentCard",
		"/v1/t%2F1/card", "/t1/extendedAgentCard",
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

// TestExtendedCardOverJSONRPCHasURLsOfTheGateway requests the extended card by both names
// of the method. It also checks that other responses are not changed.
func TestExtendedCardOverJSONRPCHasURLsOfTheGateway(t *testing.T) {
	const (
		found   = `{"jsonrpc":"2.0","id":9007199254740993,"result":{"name":"Echo","big":9007199254740993,"signatures":[{}],"supportedInterfaces":[{"url":"http://echo.team.svc/","protocolBinding":"JSONRPC"}]}}`
		failed  = `{"jsonrpc":"2.0","id":1,"error":{"code":-32007,"message":"there is none"}}`
		nulled  = `{"jsonrpc":"2.0","id":1,"result":null}`
		message = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"method":"GetExtendedAgentCard"}}`
	)
	large := `{"params":{"a":"` + strings.Repeat("x", maxCardRequest) + `"},"method":"GetExtendedAgentCard"}`
	for name, test := range map[string]struct {
		request, answer string
		moved           bool
	}{
		"1.0":             {`{"jsonrpc":"2.0","id":9007199254740993,"method":"GetExtendedAgentCard"}`, found, true},
		"0.3":             {`{"params":{},"method":"agent/getAuthenticatedExtendedCard"}`, found, true},
		"an error":        {`{"method":"GetExtendedAgentCard"}`, failed, false},
		"no result":       {`{"method":"GetExtendedAgentCard"}`, nulled, false},
		"another method":  {message, found, false},
		"no method":       {`{"id":1}`, found, false},
		"a number":        {`{"method":1}`, found, false},
		"no JSON":         {`GetExtendedAgentCard`, found, false},
		"nothing":         {``, found, false},
		"a large request": {large, found, false},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chunked %t", name, chunked), func(t *testing.T) {
				c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("ETag", `"1"`)
					_, _ = io.WriteString(w, test.answer)
				})
				var body io.Reader = strings.NewReader(test.request)
				if chunked {
					body = io.MultiReader(body) // the length of this body is unknown
				}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.gateway.URL+"/agents/team/echo/", body)
				if err != nil {
					t.Fatal(err)
				}
				response, err := c.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				got, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				if len(c.seen) != 1 || c.seen[0].Body != test.request {
					t.Errorf("the agent has seen %.200v", c.seen)
				}
				want := test.answer
				if test.moved {
					want = `{"jsonrpc":"2.0","id":9007199254740993,"result":{"name":"Echo","big":9007199254740993,"supportedInterfaces":[` +
						`{"protocolBinding":"JSONRPC","url":"` + c.gateway.URL + `/agents/team/echo/"}]}}`
				}
				if diff := gocmp.Diff(want, string(got)); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
				if cached := response.Header.Get("ETag") != ""; cached == test.moved && test.answer == found {
					t.Errorf("ETag = %q", response.Header.Get("ETag"))
				}
			})
		}
	}
}

// TestCardPaths checks for which paths a response is rewritten as a card.
func TestCardPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/.well-known/agent-card.json": true, "/extendedAgentCard": true, "/t/extendedAgentCard": true, "/v1/card": true, "/v1/t/card": true,
		"/card": false, "/t/card": false, "/tasks/extendedAgentCard": false, "/v1/tasks/card": false, "/v1/extendedAgentCard": false,
		"/a/b/extendedAgentCard": false, "/v1/a/b/card": false, "/": false,
	} {
		if got := isCardPath(path); got != want {
			t.Errorf("isCardPath(%q) = %t", path, got)
		}
	}
}

// TestCardsListWhatTheGatewayForwards checks that a rewritten card lists the interfaces
// of the gateway, whatever the agent's own card lists.
func TestCardsListWhatTheGatewayForwards(t *testing.T) {
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
			moveInterfaces(test.card, base)
			if diff := gocmp.Diff(test.want, test.card); diff != "" {
				t.Errorf("card (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCardsWithCutCharactersPass rewrites cards whose texts have half of a surrogate pair, or bytes that are no UTF-8.
func TestCardsWithCutCharactersPass(t *testing.T) {
	for _, text := range []string{`\ud83d`, "\xf0\x9f"} {
		out, err := readdressCard([]byte(`{"description":"`+text+`","`+text+`":1,"url":"http://echo.team.svc/"}`), "http://gateway")
		if want := `{"description":"` + text + `","` + text + `":1,"url":"http://gateway/"}`; err != nil || string(out) != want {
			t.Errorf("readdressCard() = %s, %v, want %s", out, err, want)
		}
	}
}
