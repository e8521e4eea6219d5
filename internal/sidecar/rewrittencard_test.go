// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// rewritingGateway is a gateway that routes a path to a sidecar, removes the path, and rewrites cards as agentgateway does: each
// interface gets the URL of the request for the card, without the path of the card, followed by the path of the interface.
func rewritingGateway(t *testing.T, path, sidecar string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(sidecar)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = target.Scheme
			r.Out.URL.Host = target.Host
			r.Out.URL.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(r.In.URL.Path, path), "/")
		},
		ModifyResponse: func(response *http.Response) error {
			if response.Request.URL.Path != wellknown.Path {
				return nil
			}
			var served map[string]any
			if err := json.NewDecoder(response.Body).Decode(&served); err != nil {
				return err
			}
			gateway := "http://" + response.Request.Host + path
			interfaces, _ := served["supportedInterfaces"].([]any)
			for _, each := range interfaces {
				fields, _ := each.(map[string]any)
				address, _ := fields["url"].(string)
				if u, err := url.Parse(address); err == nil {
					fields["url"] = gateway + cmp.Or(u.Path, "/")
				}
			}
			text, err := json.Marshal(served)
			if err != nil {
				return err
			}
			response.Body = io.NopCloser(strings.NewReader(string(text)))
			response.Header.Set("Content-Length", strconv.Itoa(len(text)))
			response.ContentLength = int64(len(text))
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server
}

// TestACardSurvivesAGatewayThatRewritesIt reads the card through a gateway that rewrites it, and calls the agent at the addresses
// on the card. With the path of the gateway on the card, the path is there twice.
func TestACardSurvivesAGatewayThatRewritesIt(t *testing.T) {
	const path = "/team/echo"
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		c.Bases = []card.Base{{URL: "http://gateway.example/"}, {URL: "http://other.example/team/echo/"}, card.NewBase("http://echo.team.svc/")}
	}, func(o *settings.Options) { o.Listen = ":0" })
	gateway := rewritingGateway(t, path, p.agent())
	for host, want := range map[string]string{"gateway.example": "http://gateway.example" + path, "other.example": "http://other.example" + path + path} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway.URL+path+wellknown.Path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("A2A-Version", "1.0")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var served struct {
			SupportedInterfaces []struct {
				URL string `json:"url"`
			} `json:"supportedInterfaces"`
		}
		err = json.NewDecoder(response.Body).Decode(&served)
		_ = response.Body.Close()
		if err != nil || len(served.SupportedInterfaces) == 0 {
			t.Fatalf("%s: %v %+v", host, err, served)
		}
		for _, each := range served.SupportedInterfaces {
			if strings.TrimSuffix(each.URL, "/") != want { // the interface of HTTP+JSON has no slash at its end
				t.Errorf("%s: the card names %s, want %s", host, each.URL, want)
			}
		}
	}
}
