// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestURLsOfARDLeadThroughTheGateway reads each kind of ARD document. Only the URLs of
// agents and of the registry change.
func TestURLsOfARDLeadThroughTheGateway(t *testing.T) {
	const (
		registry = "http://registry.system.svc:8444"
		agent    = `{"identifier":"urn:air:x:team:echo","url":"http://echo.team.svc/.well-known/agent-card.json","type":"application/a2a-agent-card+json","big":9007199254740993,` +
			`"metadata":{"externalURL":"https://a.example/echo","name":"echo","namespace":"team","ready":true}`
		remote = `{"type":"application/a2a-agent-card+json","url":"` + registry + `/v1/agents/far/weather/card","metadata":{"namespace":"far","name":"weather"}}`
		copied = `{"type":"application/a2a-agent-card+json","url":"` + registry + `/ard/cards/far/starting","metadata":{"namespace":"far","name":"starting"}}`
		own    = `{"type":"application/ai-registry+json","url":"` + registry + `/ard/"}`
		more   = `{"type":"application/ai-catalog+json","url":"` + registry + `/ard/catalogs/team?pageToken=x","metadata":{"namespace":"team"}}`
		peer   = agent + `,"source":"https://registry.peer.example/ard/"}`
		peers  = `{"type":"application/ai-registry+json","url":"https://registry.peer.example/ard/"}`
		odd    = `{"type":"application/a2a-agent-card+json","url":"http://x/","metadata":{"namespace":"../x","name":"echo"}}`
	)
	manifest := `{"specVersion":"1.0","host":{"url":"http://x/"},"entries":[` + own + "," + more + "," + peers + "]}"
	for _, test := range []struct{ method, path, uri, answer string }{
		{"GET", "/registry/ard/agents?pageSize=2", "/ard/agents?pageSize=2", ` {"items":[` + agent + "}, " + remote + "," + copied + "," + odd + "]}\n"},
		{"GET", "/registry/ard/agents/urn:air:x:team:echo", "/ard/agents/urn:air:x:team:echo", agent + "}"},
		{"GET", "/registry/ard/catalogs/team", "/ard/catalogs/team", `{"entries":[` + agent + "}," + more + "]}"},
		{"POST", "/registry/ard/search", "/ard/search", `{"results":[` + agent + `,"source":"` + registry + `/ard/","score":7},` + peer + `],"referrals":[` + peers + "]}"},
		{"POST", "/registry/ard/explore", "/ard/explore", `{"url":"` + registry + `/ard/"}`},
		{"GET", "/registry/.well-known/ard.json", "/.well-known/ard.json", manifest},
		{"GET", "/registry/.well-known/ai-catalog.json", "/.well-known/ai-catalog.json", manifest},
		{"GET", "/.well-known/ard.json", "/.well-known/ard.json", manifest},
		{"GET", "/.well-known/ai-catalog.json", "/.well-known/ai-catalog.json", manifest},
	} {
		t.Run(test.method+test.path, func(t *testing.T) {
			c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, test.answer) })
			want := strings.ReplaceAll(test.answer, peer, "PEER")
			if test.uri != "/ard/explore" {
				echo := c.gateway.URL + "/agents/team/echo/"
				want = strings.NewReplacer("http://echo.team.svc/", echo, "https://a.example/echo", echo,
					registry+"/v1/agents/far/weather/card", c.gateway.URL+"/agents/far/weather/.well-known/agent-card.json",
					registry+"/", c.gateway.URL+"/registry/").Replace(want)
			}
			want = strings.ReplaceAll(want, "PEER", peer)
			response, got := c.do(t, test.method, test.path, `{"query":{"text":"x"}}`, "Content-Type", "application/json", "Accept-Encoding", "gzip")
			if diff := gocmp.Diff(want, got); diff != "" || response.StatusCode != http.StatusOK {
				t.Errorf("status %d, answer (-want +got):\n%s", response.StatusCode, diff)
			}
			if seen := c.seen[0]; seen.Method != test.method || seen.URI != test.uri || seen.Host != "registry.system.svc:8444" || seen.Header.Get("Authorization") != "Bearer secret" ||
				test.method == http.MethodPost && seen.Body != `{"query":{"text":"x"}}` {
				t.Errorf("the registry got %+v", seen)
			}
		})
	}
}

// TestOtherMethodsOfARDAreRefused sends HTTP methods that the registry does not support
// for the path.
func TestOtherMethodsOfARDAreRefused(t *testing.T) {
	for path, test := range map[string]struct{ method, allow string }{
		"/registry/ard/search":   {"GET", "POST"},
		"/registry/ard/explore":  {"DELETE", "POST"},
		"/registry/ard/agents":   {"POST", "GET, HEAD"},
		"/.well-known/ard.json":  {"POST", "GET, HEAD"},
		"/registry/ard/search/x": {"POST", "GET, HEAD"},
	} {
		c := newCluster(t, ok)
		response, body := c.do(t, test.method, path, "")
		if got := response.Header.Get("Allow"); response.StatusCode != http.StatusMethodNotAllowed || got != test.allow || len(c.seen) != 0 {
			t.Errorf("%s %s: %d, Allow %q, %s", test.method, path, response.StatusCode, got, body)
		}
	}
}

// TestRegistryThatSendsNoARD checks that a response without an ARD document is reported
// as a failure of the registry.
func TestRegistryThatSendsNoARD(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON": "<html>", "a list": `[{}]`, "broken": `{"entries":[{"url":"http://x/"}`, "text in a list": `{"items":["x"]}`, "broken metadata": `{"metadata":{"name":`,
		"too large": `{"entries":[],"x":"` + strings.Repeat("x", maxEntries) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
			if response, body := c.do(t, "GET", "/registry/ard/agents", ""); response.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%d %.200s", response.StatusCode, body)
			}
		})
	}
}
