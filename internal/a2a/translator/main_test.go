// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/a2a-operator/a2a-operator/internal/a2a/backend"
	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/httpcall"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/a2a/memoryshare"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback allows the addresses of this machine.
var loopback = &egress.Policy{CIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Local: true}

// fixture is a Translator with a remote agent that supports 0.3 over TLS.
type fixture struct {
	*Translator
	t     *testing.T
	agent *httptest.Server
	// card and url replace the card and the URL of the agent, unless they are "".
	card, url string
	clock     atomic.Int64
	log       bytes.Buffer

	// connections counts the connections to the agent, and keys are the credentials that
	// it received.
	connections atomic.Int64
	mu          sync.Mutex
	keys        []string
}

func newFixture(t *testing.T, policy *egress.Policy, answer http.HandlerFunc) *fixture {
	t.Helper()
	b := &fixture{t: t}
	b.agent = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.keys = append(b.keys, r.Header.Get("Authorization"))
		b.mu.Unlock()
		answer(w, r)
	}))
	b.agent.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	b.agent.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			b.connections.Add(1)
		}
	}
	b.agent.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(b.agent.Certificate())
	shares, err := memoryshare.Divide(memoryshare.Default)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	now := func() time.Time { return begin.Add(time.Duration(b.clock.Load())) }
	b.Translator = New(Options{
		Policy: policy, Roots: func() *x509.CertPool { return roots },
		Limits: &httpcall.Limits{
			MaxBody: func() int64 { return 1 << 20 }, Bodies: limit.NewBudget(8<<20, time.Second), Answers: limit.NewBudget(8<<20, time.Second),
			WriteTimeout: time.Second, Now: time.Now,
		},
		Memory: &shares, Events: backend.NewMemory(shares.Events), Working: func() {}, Log: slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: now,
	})
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.Drain(ended)
		b.Close()
		b.agent.Close()
	})
	return b
}

// remote returns the remote agent as the gateway would pass it to the translator.
func (b *fixture) remote(name string) *gateway.Remote {
	at, card := b.url, b.card
	if at == "" {
		at = b.agent.URL
	}
	if card == "" {
		card = `{"name":"W","version":"1","description":"d","capabilities":{"streaming":false,"pushNotifications":true},"defaultInputModes":[],"defaultOutputModes":[],` +
			`"supportedInterfaces":[{"url":"` + at + `/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],` +
			`"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}},"k":{"apiKeySecurityScheme":{"location":"header","name":"X-K"}}},` +
			`"skills":[{"id":"s","name":"S","description":"d","tags":["t"]}]}`
	}
	return &gateway.Remote{Namespace: "team", Name: name, URL: at, Card: []byte(card), Digest: fmt.Sprint(len(card))}
}

const base = "http://127.0.0.1:8643/agents/team/weather"

// call sends a request to an agent and returns the response.
func (b *fixture) call(agent *gateway.Remote, method, path, body string, headers ...string) (int, string) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, "http://127.0.0.1:8643"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeRemote(w, r, agent, base)
	return w.Code, w.Body.String()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"Hi"}]}}}`

// send sends a message and returns the id, the state and the status message of the task.
// After an error, says is the message of the error.
func (b *fixture) send(agent *gateway.Remote, body string, headers ...string) (id, state, says string) {
	b.t.Helper()
	_, text := b.call(agent, http.MethodPost, "/", body, headers...)
	var response struct {
		Result struct {
			ID     string
			Status struct {
				State   string
				Message struct{ Parts []struct{ Text string } }
			}
		}
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	says = response.Error.Message
	for _, p := range response.Result.Status.Message.Parts {
		says += p.Text
	}
	return response.Result.ID, response.Result.Status.State, says
}

// waitUnused waits until no link is in use, because a turn ends after its response was
// sent.
func (b *fixture) waitUnused() {
	for used := true; used; runtime.Gosched() {
		b.Translator.mu.Lock()
		used = false
		for _, l := range b.links {
			used = used || l.uses > 0
		}
		b.Translator.mu.Unlock()
	}
}

// task returns an agent of version 0.3 that has one task in the given state.
func task(state string) http.HandlerFunc {
	var answers atomic.Int32 // a repeated id would mean a repeated question
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"far","contextId":"c","status":{"state":%q,"message":{"kind":"message","role":"agent","messageId":"a%d","parts":[{"kind":"text","text":"x"}]}}}}`, state, answers.Add(1))
	}
}
