// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// TestCardOfTheHost requests the card by the names of the agent's Service and by the host
// name of a Gateway.
func TestCardOfTheHost(t *testing.T) {
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		withHiddenSkill(c)
		c.Card.Interfaces = card.NewBase("http://echo.team.svc.cluster.local/").Interfaces(nil)
		c.Bases = []card.Base{{URL: "https://agents.example.com/echo/"}, card.NewBase("http://echo.team.svc.cluster.local/"), card.NewBase("http://echo/")}
	}, func(o *settings.Options) { o.Listen = ":0" })
	for host, want := range map[string]string{
		"agents.example.com": "https://agents.example.com/echo/", "echo": "http://echo/",
		"echo.team.svc.cluster.local:80": "http://echo.team.svc.cluster.local/", "127.0.0.1:1": "https://agents.example.com/echo/",
	} {
		for name, request := range map[string][]string{
			"card":         {"GET", wellknown.Path, "", ""},
			"0.2":          {"GET", wellknown.ExtendedPath, "", ""},
			"0.3 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`, ""},
			"1.0 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "1.0"},
			"0.3 REST":     {"GET", "/v1/card", "", ""},
			"1.0 REST":     {"GET", "/extendedAgentCard", "", "1.0"},
		} {
			r, err := http.NewRequestWithContext(t.Context(), request[0], strings.TrimSuffix(p.agent(), "/")+request[1], strings.NewReader(request[2]))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			r.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {request[3]}, "Authorization": {"Bearer " + p.token("team")}, "X-Forwarded-Host": {"evil.example.com"}}
			response, err := p.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || !strings.Contains(string(text), `"url":"`+want+`"`) || strings.Contains(string(text), "evil") {
				t.Errorf("%s at %s: %v %s", name, host, err, text)
			}
			for _, other := range []string{"https://agents.example.com/echo/", "http://echo/", "http://echo.team.svc.cluster.local/"} {
				if other != want && strings.Contains(string(text), `"`+other+`"`) {
					t.Errorf("%s at %s lists %s: %s", name, host, other, text)
				}
			}
			if strings.Contains(string(text), "GRPC") {
				t.Errorf("%s at %s lists gRPC, which is not configured: %s", name, host, text)
			}
		}
	}
	modified := func() string {
		response, _ := p.do("GET", p.agent()+wellknown.Path[1:], "")
		return response.Header.Get("Last-Modified")
	}
	file, err := os.Stat(p.sidecar.options.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := modified(), file.ModTime().UTC().Format(http.TimeFormat); got != want {
		t.Errorf("Last-Modified = %q, want that of the configuration file, %q", got, want)
	}
}
