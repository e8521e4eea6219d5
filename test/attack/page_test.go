// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// opened finds the address that `kubectl a2a ui` prints. It works once.
var opened = regexp.MustCompile(`http://\S+/open/\S+`)

// TestConnectionsToThePage attacks the page that `kubectl a2a ui` serves on the loopback interface, which every program of the
// machine can reach.
func TestConnectionsToThePage(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[],"total":0,"nextCursor":""}`)
	}))
	t.Cleanup(registry.Close)
	attackListeners(t, func(t *testing.T) *subject {
		page := newListener(t, "page of the CLI")
		page.V4 = true
		p := Start(t, SidecarLimit, "cmd/kubectl-a2a", "ui", "--no-browser", "--port", page.Port, "--registry", registry.URL, "--registry-token", "token")
		await(t.Context(), func() bool { return opened.MatchString(p.Output.String()) || p.Failure() != "" })
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: time.Minute}
		response, err := client.Get(opened.FindString(p.Output.String()))
		if err != nil {
			t.Fatalf("%v: %s", err, p.Output)
		}
		_ = response.Body.Close()
		page.get(response.Header.Get("Location") + "static/ui.css")
		return newSubject(t, "page of the CLI", SidecarLimit, p, []listener{page})
	})
}

// TestConnectionsToTheWebhook attacks `kubectl a2a listen`, which receives the notifications of an agent.
func TestConnectionsToTheWebhook(t *testing.T) {
	if !full {
		t.Skip("the same server as that of the page: ATTACK=full")
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "jwks.json") {
			_, _ = w.Write(keys)
			return
		}
		_, _ = fmt.Fprintf(w, `{"protocolVersion":"0.3.0","name":"Echo","description":"d","version":"1","url":"http://%s/","preferredTransport":"JSONRPC","capabilities":{},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}`, r.Host)
	}))
	t.Cleanup(agent.Close)
	attackListeners(t, func(t *testing.T) *subject {
		webhook := newListener(t, "webhook of the CLI")
		webhook.V4 = true
		p := Start(t, SidecarLimit, "cmd/kubectl-a2a", "listen", "--url", agent.URL, "--address", webhook.bind())
		webhook.get("/")
		webhook.good[0].status = http.StatusMethodNotAllowed
		return newSubject(t, "webhook of the CLI", SidecarLimit, p, []listener{webhook})
	})
}
