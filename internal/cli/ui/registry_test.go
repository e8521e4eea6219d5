// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/cli/failure"
	"github.com/a2a-operator/a2a-operator/internal/cli/registryclient"
)

// registry is a registry with the agents that a test sets.
type registry struct {
	*httptest.Server
	mu sync.Mutex
	// agents are JSON values in order.
	agents []map[string]any
	card   string
	// down is true if the registry refuses requests, unreachable if connections to agents fail.
	down, unreachable bool
	// revision counts the changes, and changed is closed at the next one.
	revision int
	last     string
	changed  chan struct{}
	// resumed are the last event ids with which watches began, and searches the queries of searches.
	resumed, searches []string
	// conditions are the conditions of Agents by name.
	conditions map[string][]metav1.Condition
	// sidecars are the URLs of agents by name.
	sidecars map[string]string
	// watched has a value for each watch that began.
	watched chan struct{}
}

func startRegistry(t *testing.T) *registry {
	t.Helper()
	f := &registry{sidecars: map[string]string{}, conditions: map[string][]metav1.Condition{}, changed: make(chan struct{}), watched: make(chan struct{}, 100), card: `{"name":"Echo"}`}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/agents", f.search)
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, agent := range f.agents {
			if agent["namespace"] == r.PathValue("namespace") && agent["name"] == r.PathValue("name") {
				_ = json.NewEncoder(w).Encode(agent)
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	})
	mux.HandleFunc("GET /v1/agents/{namespace}/{name}/card", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = w.Write([]byte(strings.ReplaceAll(f.card, "VERSION", r.Header.Get("A2A-Version"))))
	})
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		down := f.down
		f.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer registry-token":
			w.WriteHeader(http.StatusUnauthorized)
		case down:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *registry) search(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("watch") {
		f.watch(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.searches = append(f.searches, r.URL.RawQuery)
	var found []map[string]any
	for _, agent := range f.agents {
		text := fmt.Sprint(agent["name"], agent["displayName"], agent["description"])
		if strings.Contains(strings.ToLower(text), strings.ToLower(r.URL.Query().Get("q"))) && (r.URL.Query().Get("ready") == "" || r.URL.Query().Get("ready") == fmt.Sprint(agent["ready"])) {
			found = append(found, agent)
		}
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	page := map[string]any{"items": found[min(offset, len(found)):min(offset+limit, len(found))], "total": len(found), "nextCursor": ""}
	if offset+limit < len(found) {
		page["nextCursor"] = strconv.Itoa(offset + limit)
	}
	_ = json.NewEncoder(w).Encode(page) // the test fails without it
}

func (f *registry) watch(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	f.mu.Lock()
	f.resumed = append(f.resumed, r.Header.Get("Last-Event-ID"))
	if r.Header.Get("Last-Event-ID") == "" {
		_, _ = fmt.Fprint(w, "id:\nevent: reset\ndata: {}\n\n")
	}
	_, _ = fmt.Fprintf(w, "id: r%d\nevent: synced\ndata: {}\n\n", f.revision)
	changed := f.changed
	f.mu.Unlock()
	f.watched <- struct{}{}
	for {
		_ = control.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
		f.mu.Lock()
		if f.down {
			f.mu.Unlock()
			return
		}
		namespace, name, _ := strings.Cut(f.last, "/")
		_, _ = fmt.Fprintf(w, "id: r%d\nevent: upsert\ndata: {\"namespace\":%q,\"name\":%q}\n\n", f.revision, namespace, name)
		changed = f.changed
		f.mu.Unlock()
	}
}

// set adds or replaces an agent of the namespace team, and notifies watches.
func (f *registry) set(name string, more map[string]any) {
	const namespace = "team"
	agent := map[string]any{"namespace": namespace, "name": name, "displayName": name, "ready": true, "skills": []any{}, "updatedAt": "2026-11-22T09:30:00Z"}
	maps.Copy(agent, more)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.agents = slices.DeleteFunc(f.agents, func(a map[string]any) bool { return a["namespace"] == namespace && a["name"] == name })
	f.agents = append(f.agents, agent)
	f.announce(name)
}

// notify notifies watches of a change of an agent of the namespace team.
func (f *registry) notify(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.announce(name)
}

// announce is notify for a caller that holds f.mu.
func (f *registry) announce(name string) {
	f.last = "team/" + name
	f.revision++
	close(f.changed)
	f.changed = make(chan struct{})
}

// setDown sets whether the registry refuses requests. If down is true, it also ends all watches.
func (f *registry) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	close(f.changed)
	f.changed = make(chan struct{})
}

// page is a running server with an HTTP client.
type page struct {
	*registry
	server *Server
	// base is the URL of the list.
	base string
	// stop ends the server. stopped then receives the result of Serve.
	stop    context.CancelFunc
	stopped chan error
	// sent is the number of bytes that the server has sent.
	sent *atomic.Int64
}

// countingListener counts the bytes that its connections send.
type countingListener struct {
	net.Listener

	sent *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countingConn{conn, l.sent}, err
}

type countingConn struct {
	net.Conn

	sent *atomic.Int64
}

func (c countingConn) Write(text []byte) (int, error) {
	n, err := c.Conn.Write(text)
	c.sent.Add(int64(n))
	return n, err
}

// startPage starts a page for the namespace team.
func startPage(t *testing.T) *page {
	t.Helper()
	f := startRegistry(t)
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Registry:  &registryclient.Client{HTTP: f.Client(), URL: u, Token: func(context.Context) (string, error) { return "registry-token", nil }},
		Namespace: "team", Caller: "ServiceAccount team/default", CallsAs: "ServiceAccount default", Now: time.Now,
		Connect: f.connect,
		Object: func(_ context.Context, namespace, name string) (*a2av1alpha1.Agent, error) {
			if name == "forbidden" {
				return nil, failure.New(failure.AuthFailed, "you may not get agents in namespace %s", namespace).WithHint("ask for a Role")
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			agent := &a2av1alpha1.Agent{}
			agent.Status.Conditions = f.conditions[name]
			if agent.Status.Conditions == nil {
				agent.Status.Conditions = []metav1.Condition{
					{Type: "Ready", Status: "False", Reason: "ImagePullFailed", Message: "container agent: image <none> cannot be pulled", LastTransitionTime: metav1.Now()},
					{Type: "Accepted", Status: "True", Reason: "Accepted", LastTransitionTime: metav1.Now()},
				}
			}
			return agent, nil
		},
	}
	server, err := Listen(t.Context(), "0", options)
	if err != nil {
		t.Fatal(err)
	}
	sent := &atomic.Int64{}
	server.listener = countingListener{server.listener, sent}
	ctx, stop := context.WithCancel(t.Context())
	p := &page{registry: f, server: server, base: "http://" + server.host + "/" + server.secret + "/", stop: stop, stopped: make(chan error, 1), sent: sent}
	go func() { p.stopped <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-p.stopped; err != nil {
			t.Error(err)
		}
	})
	return p
}
