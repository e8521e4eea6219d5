// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// server is a sidecar in one configuration, in front of the agent of the suite.
type server struct {
	*endpoint
	agent *agent
	// webhooks receives the notifications of the sidecar; nil if the sidecar cannot reach it.
	webhooks *webhooks
	// anonymous is true if the sidecar admits callers without a credential.
	anonymous bool
	// capabilities are those of the card.
	capabilities map[string]any
	// known has the variables of the suite. Without credentials, some are absent.
	known map[string]any
	// callers call the sidecar over each binding.
	callers map[string]caller
}

// passes are the configurations in which the suite runs, in the order of the page.
var passes = []struct {
	name  string
	start func(t *testing.T) *server
}{
	{"all capabilities", startAll},
	{"reduced capabilities", startReduced},
	{"authentication enforced", startAuthenticated},
}

// modes are the input modes of the agent. A message with another media type is refused.
var modes = []string{"text/plain", "application/json"}

// startAll starts the program of a standalone sidecar, the only one that may post to a webhook at loopback.
func startAll(t *testing.T) *server {
	t.Helper()
	s := &server{agent: newAgent(), anonymous: true, webhooks: newWebhooks(t)}
	backend := httptest.NewServer(s.agent)
	t.Cleanup(backend.Close)
	t.Cleanup(s.agent.release)
	dir, keys := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const own, other = "key-of-the-runner-0123456789abcdef", "key-of-another-caller-0123456789abcdef"
	write(filepath.Join(keys, "runner"), own)
	write(filepath.Join(keys, "other"), other)
	cardFile := filepath.Join(dir, "card.yaml")
	write(cardFile, `
displayName: ACTS
description: The agent of the suite
version: "1.0"
defaultInputModes: [`+strings.Join(modes, ", ")+`]
skills:
- {id: s, name: S, description: d, tags: [t]}
- {id: x, name: X, description: d, tags: [t], visibility: Extended}
`)
	address := freeport.Address(t)
	program := exec.CommandContext(t.Context(), programs.Path("cmd/sidecar"),
		"--backend-url", backend.URL, "--listen", address, "--card", cardFile, "--anonymous", "--api-keys", keys,
		"--binding", "JSONRPC", "--binding", "HTTPJSON", "--binding", "GRPC", "--allowed-push-target", "127.0.0.0/8")
	programs.Serve(t, program, address, time.Minute)
	s.open(t, "http://"+address, "X-Api-Key", own, other)
	s.known["webhookUrl"] = s.webhooks.url
	s.known["insufficientAuthToken"] = "insufficient"
	return s
}

// startReduced starts a sidecar without push notifications, extended card and credentials.
func startReduced(t *testing.T) *server {
	t.Helper()
	s := &server{agent: newAgent(), anonymous: true}
	fixture := sidecartest.Start(t, s.agent.ServeHTTP, withModes)
	t.Cleanup(s.agent.release)
	s.open(t, fixture.URL, "", "", "")
	s.known["webhookUrl"] = sidecartest.Webhook
	return s
}

// startAuthenticated starts a sidecar of a pod that refuses callers without a token.
func startAuthenticated(t *testing.T) *server {
	t.Helper()
	s := &server{agent: newAgent()}
	fixture := sidecartest.Start(t, s.agent.ServeHTTP, withModes, sidecartest.WithEverything, sidecartest.WithoutAnonymous)
	t.Cleanup(s.agent.release)
	s.open(t, fixture.URL, "Authorization", "Bearer "+fixture.Token(t, "runner"), "Bearer "+fixture.Token(t, "other"))
	s.known["webhookUrl"] = sidecartest.Webhook
	s.known["insufficientAuthToken"] = fixture.TokenOf(t, "elsewhere", "runner")
	return s
}

func withModes(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
	c.Card.DefaultInputModes = modes
	c.Card.Bindings = card.Bindings
}

// credential adds a header to each request.
type credential struct {
	http.RoundTripper
	name, value string
}

func (c credential) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if r.Header.Get(c.name) == "" {
		r.Header.Set(c.name, c.value)
	}
	return c.RoundTripper.RoundTrip(r)
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (c credential) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if c.name == "" {
		return nil, nil
	}
	return map[string]string{strings.ToLower(c.name): c.value}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (credential) RequireTransportSecurity() bool { return false }

// open makes the clients of a sidecar, reads its card, and creates a task of another caller. name is the header of the
// credentials, "" for none.
func (s *server) open(t *testing.T, url, name, own, other string) {
	t.Helper()
	client := func(value string) *http.Client {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		var base http.RoundTripper = transport
		if value != "" {
			base = credential{transport, name, value}
		}
		return &http.Client{Transport: spec.NewTransport(t, base)}
	}
	s.endpoint = &endpoint{client: client(own), plain: client(""), url: url}
	s.known = map[string]any{"baseUrl": url}
	read, err := s.card(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	document, _ := read.body.(map[string]any)
	s.capabilities, _ = document["capabilities"].(map[string]any)
	connection, err := grpc.NewClient(strings.TrimPrefix(url, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(credential{nil, name, own}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	s.callers = map[string]caller{"JSON-RPC": jsonRPC{s.endpoint}, "REST": rest{s.endpoint}, "gRPC": grpcCaller{connection}}
	if name == "" {
		return
	}
	stranger := jsonRPC{&endpoint{client: client(other), url: url}}
	sent, err := stranger.call(t.Context(), "send_message", map[string]any{
		"message": map[string]any{"messageId": "of another caller", "role": "ROLE_USER", "parts": []any{map[string]any{"text": "tck-complete-task"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := find("task.id", sent.body)
	if len(ids) != 1 {
		t.Fatalf("the task of another caller: %s, %+v", show(sent.body), sent.problem)
	}
	s.known["otherUserTaskId"] = ids[0]
}

// webhooks is a receiver of notifications. It is safe for concurrent use.
type webhooks struct {
	url string

	mu       sync.Mutex
	received map[string][]delivery
	changed  chan struct{}
}

// delivery is a notification.
type delivery struct {
	header http.Header
	body   any
}

func newWebhooks(t *testing.T) *webhooks {
	t.Helper()
	w := &webhooks{received: map[string][]delivery{}, changed: make(chan struct{}, 1)}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("notification: %v", err)
		}
		ids := append(append(find("task.id", body), find("statusUpdate.taskId", body)...), find("artifactUpdate.taskId", body)...)
		if len(ids) != 1 {
			t.Errorf("notification %s, want one with a task", show(body))
			return
		}
		w.mu.Lock()
		id := fmt.Sprint(ids[0])
		w.received[id] = append(w.received[id], delivery{r.Header, body})
		w.mu.Unlock()
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	w.url = receiver.URL + "/hook"
	return w
}

// await returns the deliveries for a task when there are count.
func (w *webhooks) await(ctx context.Context, task string, count int) ([]delivery, error) {
	for {
		w.mu.Lock()
		all := w.received[task]
		w.mu.Unlock()
		if len(all) >= cmp.Or(count, 1) {
			return all, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d deliveries, want %d", len(all), count)
		}
	}
}
