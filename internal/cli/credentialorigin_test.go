// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// collector is an agent that counts the requests with a credential.
type collector struct {
	*httptest.Server
	credentials atomic.Int64
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent := fmt.Sprint(r.Header, r.URL); strings.Contains(sent, "secret") {
			c.credentials.Add(1)
		}
		answering(func() string { return c.URL })(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

// naming serves a card that names an interface at another address, and returns its own URL.
func naming(t *testing.T, address string) string {
	t.Helper()
	server := httptest.NewServer(answering(func() string { return address }))
	t.Cleanup(server.Close)
	return server.URL
}

// TestCredentialsGoToTheOriginOfTheURLOnly checks that a card cannot direct a credential to another origin.
func TestCredentialsGoToTheOriginOfTheURLOnly(t *testing.T) {
	other := newCollector(t)
	front := naming(t, other.URL)
	redirecting := httptest.NewServer(http.RedirectHandler(other.URL+"/.well-known/agent-card.json", http.StatusFound))
	defer redirecting.Close()
	file := filepath.Join(t.TempDir(), "card.json")
	text := fmt.Sprintf(`{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, other.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, key := selfSigned(t)
	for _, reference := range []string{front, strings.TrimPrefix(front, "http://"), redirecting.URL, file} {
		for _, credential := range [][]string{
			{"--bearer", "secret"},
			{"--svc-param", "X-Key: secret"},
			{"--cert-file", certificate, "--key-file", key},
		} {
			args := append([]string{"send", "--url", reference, "x"}, credential...)
			r := run(t, args...)
			if reference == redirecting.URL && credential[0] == "--cert-file" {
				if r.status != 3 || !strings.Contains(r.stderr, "A2ACLI_ERR_CARD_NOT_FOUND") {
					t.Errorf("%v follows the redirect with a certificate: %+v", args, r)
				}
				continue
			}
			if r.status != 1 || !strings.Contains(r.stderr, "A2ACLI_ERR_CARD_INVALID") || !strings.Contains(r.stderr, "--credential-origin "+other.URL) {
				t.Errorf("%v: %+v", args, r)
			}
			if reference == front && !strings.Contains(r.stderr, front) {
				t.Errorf("%v does not name the origin of --url: %s", args, r.stderr)
			}
		}
	}
	if sent := other.credentials.Load(); sent != 0 {
		t.Errorf("%d requests with a credential reached the other origin", sent)
	}
	if r := run(t, "send", "--url", front, "x"); r.status != 0 {
		t.Errorf("a call without a credential fails: %+v", r)
	}
	if r := run(t, "send", "--url", front, "x", "--bearer", "secret", "--credential-origin", other.URL); r.status != 0 || other.credentials.Load() == 0 {
		t.Errorf("a call to an allowed origin fails: %+v", r)
	}
	for _, value := range []string{"agent.example.com", "ftp://agent.example.com", "https://agent.example.com/path", "https://me@agent.example.com"} {
		if r := run(t, "send", "--url", front, "x", "--bearer", "secret", "--credential-origin", value); r.status != 2 || !strings.Contains(r.stderr, "--credential-origin") {
			t.Errorf("--credential-origin %s: %+v", value, r)
		}
	}
}

// TestCredentialsDoNotFollowRedirects checks that no redirect of an agent directs a credential to another origin. Go's
// client itself removes some headers on a redirect to another host, and keeps them on a redirect to another port.
func TestCredentialsDoNotFollowRedirects(t *testing.T) {
	other := newCollector(t)
	for location, member := range map[string]string{"header": "X-Key", "query": "key", "cookie": "key"} {
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "well-known") {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
				return
			}
			_, _ = io.WriteString(w, fmt.Sprintf(`{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],
				"securitySchemes":{"k":{"apiKeySecurityScheme":{"location":%q,"name":%q}}}}`, server.URL, location, member))
		}))
		for _, credential := range []string{"--bearer", "--api-key"} {
			for _, args := range [][]string{{"task", "get", "t-1"}, {"task", "list"}, {"send", "x"}, {"task", "cancel", "t-1"}} {
				r := run(t, append(args, "--url", server.URL, credential, "secret")...)
				if r.status != 3 || !strings.Contains(r.stderr, "redirects to") {
					t.Errorf("%v, %s in %s: %+v", args, credential, location, r)
				}
			}
		}
		server.Close()
	}
	if sent := other.credentials.Load(); sent != 0 {
		t.Errorf("%d requests with a credential followed a redirect", sent)
	}
}
