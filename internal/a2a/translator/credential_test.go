// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/delegation"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway"
	"github.com/a2a-operator/a2a-operator/internal/a2a/gateway/remotecredentials"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

// holding returns an agent with a credential. get returns the credential, as gateway.Remote.Credential does.
func (b *fixture) holding(get func(refused string) (remotecredential.Credential, error)) *gateway.Remote {
	agent := b.remote("weather")
	agent.Credential = func(_ context.Context, origin, refused string) (remotecredential.Credential, error) {
		if u, err := url.Parse(agent.URL); err != nil || origin != u.Scheme+"://"+u.Host {
			return remotecredential.Credential{}, fmt.Errorf("credential for %s, want %s: %w", origin, agent.URL, err)
		}
		return get(refused)
	}
	return agent
}

func TestCredentialOfTheAgentIsSent(t *testing.T) {
	tests := map[string]struct {
		credential remotecredential.Credential
		own        []string
		want       string
	}{
		"header":                    {remotecredential.Credential{Header: "X-K", Value: "canary"}, nil, "canary - -"},
		"authorization":             {remotecredential.Credential{Header: "Authorization", Value: "Bearer canary"}, nil, "- Bearer canary -"},
		"query":                     {remotecredential.Credential{Query: "key", Value: "canary&"}, nil, "- - key=canary%26"},
		"none":                      {remotecredential.Credential{}, nil, "- - -"},
		"own Authorization":         {remotecredential.Credential{Header: "Authorization", Value: "Bearer canary"}, []string{"Authorization", "Bearer user"}, "- Bearer user -"},
		"own Authorization and key": {remotecredential.Credential{Header: "X-K", Value: "canary"}, []string{"Authorization", "Bearer user"}, "canary Bearer user -"},
		"own header of that name":   {remotecredential.Credential{Header: "X-K", Value: "canary"}, []string{"X-K", "mine"}, "canary - -"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got atomic.Value
			answer := task("completed")
			b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
				or := func(s string) string {
					if s == "" {
						return "-"
					}
					return s
				}
				got.Store(or(r.Header.Get("X-K")) + " " + or(r.Header.Get("Authorization")) + " " + or(r.URL.RawQuery))
				answer(w, r)
			})
			agent := b.holding(func(string) (remotecredential.Credential, error) { return test.credential, nil })
			if _, state, says := b.send(agent, hello, test.own...); state != "completed" || got.Load() != test.want {
				t.Errorf("%s %s: the agent received %q, want %q", state, says, got.Load(), test.want)
			}
			if strings.Contains(b.log.String(), "canary") {
				t.Errorf("the log reveals the credential: %s", b.log.String())
			}
			_, card := b.call(agent, http.MethodGet, "/.well-known/agent-card.json", "")
			if required := strings.Contains(card, `"securitySchemes"`); required != test.credential.IsZero() {
				t.Errorf("card of an agent with %s: %s", test.credential, card)
			}
		})
	}
}

// TestRefusedCredentialIsReplacedOnce rotates the credential: no call fails, and the tasks stay.
func TestRefusedCredentialIsReplacedOnce(t *testing.T) {
	var accepted, calls atomic.Int64
	answer := task("input-required")
	value := func(n int64) string { return "Bearer canary-" + string(rune('0'+n)) }
	b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != value(accepted.Load()) || len(body) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	})
	var held atomic.Int64
	agent := b.holding(func(refused string) (remotecredential.Credential, error) {
		if refused == (remotecredential.Credential{Header: "Authorization", Value: value(held.Load())}).Digest() {
			held.Store(min(held.Load()+1, 5))
		}
		return remotecredential.Credential{Header: "Authorization", Value: value(held.Load())}, nil
	})
	id, _, _ := b.send(agent, hello)
	for range 5 {
		accepted.Add(1)
		next := strings.Replace(hello, `"messageId":"m"`, `"messageId":"n`+value(accepted.Load())[14:]+`","taskId":"`+id+`"`, 1)
		if got, state, says := b.send(agent, next); got != id || state != "input-required" {
			t.Errorf("after a rotation: task %q %s %s", got, state, says)
		}
	}
	if n := calls.Load(); n != 11 {
		t.Errorf("%d requests, want 1 and 5 refused and 5 repeated", n)
	}
	accepted.Add(1) // there is no newer credential
	before := calls.Load()
	if _, state, says := b.send(agent, hello[:len(hello)-3]+`,"x":1}}}`); calls.Load() != before+1 || !strings.Contains(says, "requires other credentials") {
		t.Errorf("without a newer credential: %d requests, %s %q", calls.Load()-before, state, says)
	}
	if strings.Contains(b.log.String(), "canary") {
		t.Errorf("the log reveals the credential: %s", b.log.String())
	}
}

func TestCallWithoutACredentialNamesTheCause(t *testing.T) {
	var calls atomic.Int64
	b := newFixture(t, loopback, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})
	tests := map[string]struct {
		err   error
		calls int64
		want  string
	}{
		"of other namespaces": {remotecredentials.ErrNotShared, 1, "list the namespace of this agent in spec.remote.credentials.namespaces"},
		"not to be had":       {&remotecredentials.UnavailableError{Reason: "canary"}, 0, "The registry gives no credential for the agent"},
	}
	for name, test := range tests {
		calls.Store(0)
		agent := b.holding(func(string) (remotecredential.Credential, error) { return remotecredential.Credential{}, test.err })
		agent.Name = strings.ReplaceAll(name, " ", "-")
		if _, state, says := b.send(agent, hello); state != "failed" && !strings.Contains(says, test.want) || !strings.Contains(says, test.want) || calls.Load() != test.calls {
			t.Errorf("%s: %s %q after %d requests, want %q", name, state, says, calls.Load(), test.want)
		}
	}
}

// newPair returns a client certificate with a name.
func newPair(t *testing.T, name string) remotecredential.Credential {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return remotecredential.Credential{
		Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		PrivateKey:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
	}
}

func TestClientCertificateIsPresentedAndRotated(t *testing.T) {
	var presented atomic.Value
	answer := task("completed")
	b := newFixture(t, loopback, func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented.Store(r.TLS.PeerCertificates[0].Subject.CommonName)
		answer(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	b.url = server.URL
	credential := newPair(t, "first")
	agent := b.holding(func(string) (remotecredential.Credential, error) { return credential, nil })
	sent := 0
	message := func() string { // a repeated message would not be sent
		sent++
		return strings.Replace(hello, `"messageId":"m"`, fmt.Sprintf(`"messageId":"m%d"`, sent), 1)
	}
	for _, name := range []string{"first", "second"} {
		credential = newPair(t, name)
		for range 2 {
			if _, state, says := b.send(agent, message()); state != "completed" || presented.Load() != name {
				t.Errorf("%s %s with the certificate %v, want %s", state, says, presented.Load(), name)
			}
		}
		b.Swap(loopback)
	}
	credential.PrivateKey = "canary"
	if _, _, says := b.send(agent, message()); !strings.Contains(says, "gives no credential") || strings.Contains(says+b.log.String(), "canary") {
		t.Errorf("a certificate without its key: %q", says)
	}
	credential = remotecredential.Credential{}
	if _, state, says := b.send(agent, message()); state != "failed" || !strings.Contains(says, "may require a client certificate, or another one than that in spec.remote.credentials") {
		t.Errorf("without a certificate: %s %q", state, says)
	}
}

// TestCertificateOfTheSidecarRotates replaces the sidecar's own certificate while one call is in flight: no later call uses a connection with
// the former one.
func TestCertificateOfTheSidecarRotates(t *testing.T) {
	presented := make(chan string, 1)
	held := make(chan struct{})
	answer := task("completed")
	b := newFixture(t, loopback, func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented <- r.TLS.PeerCertificates[0].Subject.CommonName
		if strings.HasPrefix(r.Header.Get("Authorization"), "hold") {
			<-held
		}
		answer(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	b.url = server.URL
	var own atomic.Pointer[tls.Certificate]
	set := func(name string) {
		certificate, err := newPair(t, name).TLSCertificate()
		if err != nil {
			t.Fatal(err)
		}
		own.Store(certificate)
	}
	set("first")
	b.options.Certificate = func(context.Context) (*tls.Certificate, error) { return own.Load(), nil }
	call := func(authorization, want string) {
		if _, state, says := b.send(b.remote("weather"), hello, "Authorization", authorization); state != "completed" {
			t.Errorf("%s: %s %q", authorization, state, says)
		}
		if authorization == "hold" {
			return
		}
		if got := <-presented; got != want {
			t.Errorf("%s presents %q, want %q", authorization, got, want)
		}
	}
	call("1", "first")
	var wg sync.WaitGroup
	wg.Go(func() { call("hold", "") })
	if got := <-presented; got != "first" {
		t.Errorf("the held call presents %q", got)
	}
	set("second")
	b.Reconnect()
	call("2", "second")
	close(held)
	wg.Wait()
	call("3", "second")
}

// TestUsersShareNoTask checks that each user's call has the user's credential, that a user does not see the tasks of another one, and that a
// user without a token gets no call.
func TestUsersShareNoTask(t *testing.T) {
	var sent atomic.Value
	answer := task("input-required")
	b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("Authorization"))
		answer(w, r)
	})
	agent := b.remote("weather")
	agent.Credential = func(ctx context.Context, _, _ string) (remotecredential.Credential, error) {
		user := delegation.From(ctx)
		if user == nil || user.Credential == "" {
			return remotecredential.Credential{}, &remotecredentials.UnavailableError{Reason: "there is no token of the user"}
		}
		return remotecredential.Credential{Header: "Authorization", Value: "Bearer for-" + string(user.Credential)}, nil
	}
	call := func(user *a2a.Subject, body string) string {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(delegation.With(t.Context(), user), http.MethodPost, "http://127.0.0.1:8643/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		b.ServeRemote(w, r, agent, base)
		return w.Body.String()
	}
	one := &a2a.Subject{Principal: "one", Owner: "one", Credential: "one"}
	two := &a2a.Subject{Principal: "two", Owner: "two", Credential: "two"}
	var made struct{ Result struct{ ID string } }
	if err := json.Unmarshal([]byte(call(one, hello)), &made); err != nil || made.Result.ID == "" || sent.Load() != "Bearer for-one" {
		t.Fatalf("task %q with %v, %v", made.Result.ID, sent.Load(), err)
	}
	get := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"` + made.Result.ID + `"}}`
	if text := call(two, get); !strings.Contains(text, "-32001") {
		t.Errorf("another user gets the task: %s", text)
	}
	renewed := *one
	renewed.Credential = "one-renewed"
	if text := call(&renewed, get); !strings.Contains(text, made.Result.ID) {
		t.Errorf("the user does not get the task with a newer token: %s", text)
	}
	next := strings.Replace(hello, `"messageId":"m"`, `"messageId":"n","taskId":"`+made.Result.ID+`"`, 1)
	if text := call(&renewed, next); !strings.Contains(text, made.Result.ID) || sent.Load() != "Bearer for-one-renewed" {
		t.Errorf("the next turn has %v: %s", sent.Load(), text)
	}
	sent.Store("")
	if text := call(&a2a.Subject{Principal: "three", Owner: "three"}, hello); sent.Load() != "" || !strings.Contains(text, "There is no credential for the agent: there is no token of the user") {
		t.Errorf("a user without a token: %v %s", sent.Load(), text)
	}
}
