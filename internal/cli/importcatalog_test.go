// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// catalogServer serves documents by their paths. %s in a document is the URL of the server.
func catalogServer(t *testing.T, documents map[string]string) *httptest.Server {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, strings.ReplaceAll(document, "%s", server.URL))
	}))
	t.Cleanup(server.Close)
	return server
}

func cardNamed(name string) string {
	return `{"name":"` + name + `","description":"d","version":"1","url":"%s/` + name + `","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","capabilities":{},
		"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"w","name":"w","description":"d","tags":["t"]}]}`
}

func TestImportCatalog(t *testing.T) {
	server := catalogServer(t, map[string]string{
		"/.well-known/ard.json": `{"specVersion":"1.0","host":{"displayName":"x"},"entries":[
			{"identifier":"a","displayName":"Weather","type":"application/a2a-agent-card+json","url":"%s/cards/weather.json"},
			{"identifier":"b","displayName":"More","type":"application/ai-catalog+json","url":"/more.json"},
			{"identifier":"c","displayName":"Tools","type":"application/mcp-server+json","url":"/mcp"},
			{"identifier":"d","displayName":"Elsewhere","type":"application/ai-catalog+json","url":"https://elsewhere.example.com/c.json"},
			{"identifier":"e","displayName":"Gone","type":"application/a2a-agent-card+json","url":"%s/cards/gone.json"},
			{"identifier":"f","displayName":"Nowhere","type":"application/a2a-agent-card+json"},
			{"identifier":"g","displayName":"Again","type":"application/ai-catalog+json","url":"%s/.well-known/ard.json"}]}`,
		"/more.json": `{"specVersion":"1.0","entries":[
			{"identifier":"a","mediaType":"application/a2a-agent-card+json","url":"%s/cards/weather.json"},
			{"identifier":"h","mediaType":"application/a2a-agent-card+json","url":"/cards/weather2.json"},
			{"identifier":"i","type":"application/ai-catalog+json","url":"/not-there.json"}]}`,
		"/cards/weather.json":  cardNamed("weather"),
		"/cards/weather2.json": cardNamed("weather"),
	})
	run(t, "import", "catalog", server.URL, "-n", "team").golden(t, "import-catalog")
	if r := run(t, "import", "card", server.URL+"/more.json", "-n", "team"); r.status == 0 || !strings.Contains(r.stderr, "is a catalog of agents") || !strings.Contains(r.stderr, "import catalog") {
		t.Errorf("a catalog as a card: %+v", r)
	}
}

func TestImportCatalogRefusesWhatIsNone(t *testing.T) {
	many := strings.Repeat(`{"identifier":"x","type":"application/ai-catalog+json","url":"/c.json"},`, 2000)
	server := catalogServer(t, map[string]string{
		"/card.json":  cardNamed("weather"),
		"/none.json":  `{"specVersion":"1.0","entries":[]}`,
		"/loop.json":  `{"specVersion":"1.0","entries":[` + many + `{"identifier":"x","type":"application/ai-catalog+json","url":"/loop.json"}]}`,
		"/c.json":     `{"specVersion":"1.0","entries":[{"identifier":"x","type":"application/ai-catalog+json","url":"/loop.json"}]}`,
		"/large.json": `{"specVersion":"1.0","entries":[],"x":"` + strings.Repeat("x", 2<<20) + `"}`,
	})
	for at, want := range map[string]string{
		server.URL + "/card.json":  "is not a catalog",
		server.URL + "/none.json":  "names no agent with a usable card",
		server.URL + "/loop.json":  "names no agent with a usable card",
		server.URL + "/large.json": "the catalog at",
		server.URL:                 "no catalog at",
		"ftp://example.com":        "is no URL of a catalog",
		"https://u:p@example.com/": "is no URL of a catalog",
	} {
		if r := run(t, "import", "catalog", at, "-n", "team"); r.status == 0 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: %+v, want %q", at, r, want)
		}
	}
}

// A catalog makes the command call no server in the network of the person: neither by a card at a private address, nor by a redirect to it.
func TestImportCatalogCallsNoPrivateAddress(t *testing.T) {
	var calls atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = fmt.Fprint(w, strings.ReplaceAll(cardNamed("private"), "%s", "http://"+r.Host))
	}))
	t.Cleanup(private.Close)
	server := catalogServer(t, map[string]string{
		"/c.json": `{"specVersion":"1.0","entries":[
			{"identifier":"a","type":"application/a2a-agent-card+json","url":"` + private.URL + `/card.json"},
			{"identifier":"b","type":"application/a2a-agent-card+json","url":"file:///etc/hostname"},
			{"identifier":"c","type":"application/a2a-agent-card+json","url":"%s/card.json"}]}`,
		"/card.json": cardNamed("weather"),
	})
	redirecting := httptest.NewServer(http.RedirectHandler(private.URL+"/c.json", http.StatusFound))
	t.Cleanup(redirecting.Close)
	r := run(t, "import", "catalog", server.URL+"/c.json", "-n", "team")
	if r.status != 0 || calls.Load() != 0 || !strings.Contains(r.stderr, "is not a public address") || !strings.Contains(r.stderr, "--private reads") || !strings.Contains(r.stderr, "has no URL") {
		t.Errorf("%d calls, %+v", calls.Load(), r)
	}
	if r := run(t, "import", "catalog", redirecting.URL+"/x.json", "-n", "team"); r.status == 0 || calls.Load() != 0 || !strings.Contains(r.stderr, "--private reads") {
		t.Errorf("%d calls after a redirect, %+v", calls.Load(), r)
	}
	r = run(t, "import", "catalog", server.URL+"/c.json", "-n", "team", "--private")
	if r.status != 0 || calls.Load() == 0 || !strings.Contains(r.stdout, "name: private") {
		t.Errorf("%d calls with --private, %+v", calls.Load(), r)
	}
}

func TestImportCatalogIsBounded(t *testing.T) {
	server := catalogServer(t, map[string]string{
		"/c.json": `{"specVersion":"1.0","entries":[{"type":"application/a2a-agent-card+json","url":"/card.json"},` +
			strings.Repeat(`{},`, 100_000) + `{"type":"application/ai-catalog+json","url":"/more.json"}]}`,
		"/card.json": cardNamed("weather"),
	})
	r := run(t, "import", "catalog", server.URL+"/c.json", "-n", "team")
	if lines := strings.Count(r.stderr, "\n"); r.status != 0 || lines > 5_000 || !strings.Contains(r.stderr, "at most 4096 entries are read") {
		t.Errorf("status %d, %d lines", r.status, lines)
	}
}
