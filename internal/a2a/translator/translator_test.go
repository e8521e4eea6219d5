// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package translator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

func TestNothingIsAllocatedBeforeTheFirstUse(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	if b.Running() != 0 || b.core != nil || b.links != nil || b.sweeper != nil {
		t.Error("something is made")
	}
	b.Swap(nil)
}

func TestCardHasTheAddressesOfTheGateway(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	for _, path := range []string{"/.well-known/agent-card.json", "/.well-known/agent.json"} {
		status, text := b.call(b.remote("weather"), http.MethodGet, path, "")
		var card struct {
			URL                 string
			SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
			Capabilities        map[string]bool
			SecuritySchemes     map[string]any
		}
		if err := json.Unmarshal([]byte(text), &card); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		got := []string{card.URL}
		for _, i := range card.SupportedInterfaces {
			got = append(got, i.ProtocolVersion+" "+i.ProtocolBinding+" "+i.URL)
		}
		want := []string{
			base + "/", "1.0 JSONRPC " + base + "/", "1.0 HTTP+JSON " + base, "0.3 JSONRPC " + base + "/", "0.3 HTTP+JSON " + base,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]bool{"streaming": true}, card.Capabilities); diff != "" {
			t.Errorf("capabilities (-want +got):\n%s", diff)
		}
		if len(card.SecuritySchemes) != 1 || card.SecuritySchemes["b"] == nil {
			t.Errorf("security schemes = %v, want those that an Authorization is for", card.SecuritySchemes)
		}
		if strings.Contains(text, b.agent.URL) {
			t.Errorf("the card leads past the gateway: %s", text)
		}
	}
	if b.connections.Load() != 0 {
		t.Error("the card was read at the agent")
	}
}

// TestAgentsThatCannotBeCalledAreRefused checks that the error names the agent in JSON-RPC,
// in REST, and in requests for the card.
func TestAgentsThatCannotBeCalledAreRefused(t *testing.T) {
	const otherOrigin = `{"name":"W","supportedInterfaces":[{"url":"https://other.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[]}`
	tests := map[string]struct {
		policy    *egress.Policy
		card, url string
		says      string
	}{
		"this machine":        {policy: &egress.Policy{Hosts: []string{"*"}, CIDRs: loopback.CIDRs}, says: "remote.allow"},
		"a range not allowed": {policy: &egress.Policy{Hosts: []string{"*"}, CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Local: true}, says: "remote.allow"},
		"no policy":           {says: "remote.allow"},
		"metadata":            {policy: &egress.Policy{Hosts: []string{"*"}}, url: "http://169.254.169.254", says: "remote.allow"},
		"without TLS":         {policy: &egress.Policy{Hosts: []string{"*"}}, url: "http://w.example", says: "remote.allow"},
		"gRPC only":           {policy: loopback, card: `{"name":"W","supportedInterfaces":[{"url":"%s","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`, says: "offers gRPC only"},
		"an unknown version":  {policy: loopback, card: `{"name":"W","supportedInterfaces":[{"url":"%s","protocolBinding":"JSONRPC","protocolVersion":"7.0"}]}`, says: "no version of A2A that the sidecar speaks"},
		"of another origin":   {policy: loopback, card: otherOrigin, says: "names no interface"},
		"no card":             {policy: loopback, card: `<html>`, says: "cannot be read"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, test.policy, task("completed"))
			b.url, b.card = test.url, strings.ReplaceAll(test.card, "%s", b.agent.URL)
			_, rpc := b.call(b.remote("weather"), http.MethodPost, "/", hello)
			web, v03 := b.call(b.remote("weather"), http.MethodPost, "/v1/message:send", "{}")
			card, text := b.call(b.remote("weather"), http.MethodGet, "/.well-known/agent-card.json", "")
			for _, response := range []string{rpc, v03, text} {
				if !strings.Contains(response, test.says) || !strings.Contains(response, "team/weather") {
					t.Errorf("response %s, want %q and the agent's name", response, test.says)
				}
			}
			if !strings.Contains(rpc, `"jsonrpc":"2.0"`) || web < 400 || card < 400 {
				t.Errorf("statuses = %d and %d; %s", web, card, rpc)
			}
			if n := b.connections.Load(); n != 0 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

func TestNameOfAForbiddenAddressIsNotCalled(t *testing.T) {
	// The policy allows the name. The guard refuses the address when it connects.
	b := newFixture(t, &egress.Policy{Hosts: []string{"*"}}, task("completed"))
	b.url = strings.Replace(b.agent.URL, "127.0.0.1", "localhost", 1)
	_, state, says := b.send(b.remote("weather"), hello)
	if state != "failed" || !strings.Contains(says, "remote.allow") || !strings.Contains(says, "(remote agent team/weather at "+b.url+")") {
		t.Errorf("%s %s", state, says)
	}
	if n := b.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

func TestFailuresOfTheAgentFailTheTurn(t *testing.T) {
	tests := map[string]struct {
		answer http.HandlerFunc
		state  string
		says   string
	}{
		"redirect": {
			answer: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
			},
			state: "failed", says: "redirect, which is not followed; spec.remote.url",
		},
		"unauthorized": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			state:  "failed", says: "requires other credentials; it receives the Authorization header",
		},
		"unauthorized, in JSON-RPC": {
			answer: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"1","error":{"code":-31401,"message":"secret"}}`)
			},
			state: "failed", says: "requires other credentials",
		},
		"forbidden": {
			answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			state:  "failed", says: "does not allow the call; ask its owner",
		},
		"broken": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, state: "failed", says: "connection to the agent broke"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calls := 0
			b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
				calls++
				if r.URL.Path != "/rpc" {
					t.Errorf("request to %s", r.URL)
				}
				test.answer(w, r)
			})
			_, state, says := b.send(b.remote("weather"), hello)
			if state != test.state || !strings.Contains(says, test.says) || !strings.Contains(says, "team/weather") {
				t.Errorf("%s %s", state, says)
			}
			if calls != 1 {
				t.Errorf("%d calls, want 1", calls)
			}
		})
	}
}

func TestCertificateIsVerified(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	b.options.Roots = nil
	_, state, says := b.send(b.remote("weather"), hello)
	if state != "failed" || !strings.Contains(says, "certificate is not trusted; spec.trustBundle") {
		t.Errorf("%s %s", state, says)
	}
	if len(b.keys) > 0 {
		t.Error("a request was sent")
	}
}

func TestCredentialIsSentForItsCallerAndOwnsItsTasks(t *testing.T) {
	b := newFixture(t, loopback, task("input-required"))
	agent := b.remote("weather")
	id, state, _ := b.send(agent, hello, "Authorization", "Bearer canary-one")
	if state != "input-required" {
		t.Fatalf("state = %s", state)
	}
	get := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, id)
	followUp := strings.Replace(hello, `"messageId":"m"`, fmt.Sprintf(`"messageId":"n","taskId":%q`, id), 1)
	for _, other := range [][]string{{"Authorization", "Bearer canary-two"}, nil} {
		for _, body := range []string{get, followUp} {
			if _, _, says := b.send(agent, body, other...); !strings.Contains(says, "not found") {
				t.Errorf("another caller gets %q", says)
			}
		}
	}
	if got, _, _ := b.send(agent, get, "Authorization", "Bearer canary-one"); got != id {
		t.Errorf("task = %q, want %q", got, id)
	}
	_, _, _ = b.send(agent, followUp, "Authorization", "Bearer canary-one")
	_, _, _ = b.send(agent, hello)
	if diff := cmp.Diff([]string{"Bearer canary-one", "Bearer canary-one", ""}, b.keys); diff != "" {
		t.Errorf("the agent received (-want +got):\n%s", diff)
	}
	if _, text := b.call(agent, http.MethodPost, "/", hello, "Authorization", "a", "Authorization", "b"); !strings.Contains(text, "one Authorization") {
		t.Errorf("two headers: %s", text)
	}
	for _, l := range b.links {
		if strings.Contains(string(l.owner), "canary") {
			t.Errorf("owner %q reveals the credential", l.owner)
		}
	}
	if strings.Contains(b.log.String(), "canary") {
		t.Errorf("the log reveals the credential: %s", b.log.String())
	}
}

func TestLinksAreBoundedAndTheirTasksStay(t *testing.T) {
	b := newFixture(t, loopback, task("input-required"))
	id, _, _ := b.send(b.remote("agent-0"), hello)
	for i := range maxLinks + 5 {
		b.clock.Add(int64(time.Second))
		_, _, _ = b.send(b.remote("agent-"+fmt.Sprint(i)), hello)
	}
	if n := len(b.links); n != maxLinks {
		t.Errorf("%d links, want %d", n, maxLinks)
	}
	get := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, id)
	if got, state, says := b.send(b.remote("agent-0"), get); got != id || state != "input-required" {
		t.Errorf("task of a link that was closed = %q %s %s", got, state, says)
	}
	b.waitUnused()
	b.clock.Add(int64(idleAfter))
	b.sweep()
	if len(b.links) != 0 || b.cards != 0 || b.sweeper != nil {
		t.Errorf("%d links with cards of %d bytes are left", len(b.links), b.cards)
	}
	if got, _, says := b.send(b.remote("agent-0"), get); got != id {
		t.Errorf("task after the link was closed = %q %s", got, says)
	}
}

func TestLinksInUseAreKept(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	for i := range maxLinks {
		if _, err := b.linkFor(b.remote("agent-"+fmt.Sprint(i)), "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, says := b.send(b.remote("weather"), hello); !strings.Contains(says, "in use") {
		t.Errorf("error = %q", says)
	}
	b.clock.Add(int64(time.Hour))
	b.sweep()
	if n := len(b.links); n != maxLinks {
		t.Errorf("%d links, want %d", n, maxLinks)
	}
	for _, l := range b.links {
		b.release(l)
	}
}

// The links of one agent, with many credentials, leave links and memory for cards to another agent.
func TestLinksOfOneAgentStopNoOtherAgent(t *testing.T) {
	for _, size := range []int{0, 16 << 10} {
		b := newFixture(t, loopback, task("completed"))
		many := b.remote("many")
		many.Card = append(many.Card, strings.Repeat(" ", size)...)
		open := 0
		for i := range maxLinks {
			if _, err := b.linkFor(many, fmt.Sprint("Bearer ", i), nil); err == nil {
				open++
			}
		}
		if _, state, says := b.send(b.remote("weather"), hello); state != "completed" || open == 0 || open > maxLinks/2 {
			t.Errorf("%d links of one agent, another agent: %s %s", open, state, says)
		}
		for _, l := range b.links {
			for l.uses > 0 {
				b.release(l)
			}
		}
	}
}

// Two users call an agent whose card needs more than a quarter of the memory for cards.
func TestAgentWithALargeCardServesTwoUsersAtOnce(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	large := b.remote("large")
	large.Card = append(large.Card, strings.Repeat(" ", int(b.options.Memory.Cards)/3)...)
	for _, user := range []string{"Bearer 1", "Bearer 2"} {
		l, err := b.linkFor(large, user, nil)
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		defer b.release(l)
	}
}

func TestAgentWithAnotherCardKeepsItsTasks(t *testing.T) {
	b := newFixture(t, loopback, task("input-required"))
	id, _, _ := b.send(b.remote("weather"), hello)
	b.card = `{"name":"W2","supportedInterfaces":[{"url":"` + b.agent.URL + `/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],"capabilities":{}}`
	if _, text := b.call(b.remote("weather"), http.MethodGet, "/.well-known/agent-card.json", ""); !strings.Contains(text, `"W2"`) {
		t.Errorf("card = %s", text)
	}
	get := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, id)
	if got, _, says := b.send(b.remote("weather"), get); got != id || len(b.links) != 1 {
		t.Errorf("task = %q %s, %d links", got, says, len(b.links))
	}
	// An agent with another URL has other tasks.
	b.url = strings.Replace(b.agent.URL, "127.0.0.1", "localhost", 1)
	b.card = ""
	if _, _, says := b.send(b.remote("weather"), get); !strings.Contains(says, "not found") {
		t.Errorf("error = %q", says)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	b := newFixture(t, loopback, task("completed"))
	b.open = maxRequests
	if _, _, says := b.send(b.remote("weather"), hello); !strings.Contains(says, "Too many requests") {
		t.Errorf("error = %q", says)
	}
	b.open = 0
	if _, state, says := b.send(b.remote("weather"), hello); state != "completed" || len(b.openTo) != 0 {
		t.Errorf("%s %s, open requests %v", state, says, b.openTo)
	}
}

// An agent that does not answer, called with many credentials, leaves requests and turns to another agent.
func TestAgentThatHangsStopsNoOtherAgent(t *testing.T) {
	asked := make(chan struct{}, maxTurns)
	release := make(chan struct{})
	b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			asked <- struct{}{}
			<-release
		}
		task("completed")(w, r)
	})
	hung := b.remote("hung")
	var calls sync.WaitGroup
	for i := range maxRequests/2 + 8 {
		calls.Go(func() {
			b.send(hung, strings.Replace(hello, `"m"`, fmt.Sprintf(`"m%d"`, i), 1), "Authorization", fmt.Sprint("Bearer ", i%100))
		})
	}
	for range maxTurns / 2 {
		<-asked
	}
	if _, state, says := b.send(b.remote("weather"), hello); state != "completed" {
		t.Errorf("another agent: %s %s", state, says)
	}
	if n := len(asked); n > 0 || b.Running() > maxTurns/2 {
		t.Errorf("%d turns run at the agent that hangs, want %d", maxTurns/2+n, maxTurns/2)
	}
	close(release)
	calls.Wait()
}

func TestDrainFailsRunningTasksAndRefusesNewOnes(t *testing.T) {
	working := make(chan struct{})
	b := newFixture(t, loopback, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "tasks/cancel") {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"far","contextId":"c","status":{"state":"working"}}}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		close(working)
		<-r.Context().Done()
	})
	b.card = `{"name":"W","supportedInterfaces":[{"url":"` + b.agent.URL + `/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],"capabilities":{"streaming":true}}`
	ended := make(chan string)
	go func() {
		_, state, says := b.send(b.remote("weather"), hello)
		ended <- state + " " + says
	}()
	<-working
	if n := b.Running(); n != 1 {
		t.Errorf("Running() = %d", n)
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Drain(late); err == nil {
		t.Error("Drain() = nil, although a turn was interrupted")
	}
	if got := <-ended; !strings.HasPrefix(got, "failed ") {
		t.Errorf("the turn ended as %q", got)
	}
	if _, _, says := b.send(b.remote("weather"), hello); !strings.Contains(says, "shutting down") {
		t.Errorf("error = %q", says)
	}
}

func TestChangedPolicyAppliesToOpenLinks(t *testing.T) {
	b := newFixture(t, loopback, task("input-required"))
	agent := b.remote("weather")
	id, _, _ := b.send(agent, hello)
	b.Swap(&egress.Policy{Hosts: []string{"*"}})
	followUp := strings.Replace(hello, `"messageId":"m"`, fmt.Sprintf(`"messageId":"n","taskId":%q`, id), 1)
	if _, state, says := b.send(agent, followUp); state != "failed" || !strings.Contains(says, "remote.allow") {
		t.Errorf("%s %s", state, says)
	}
	if n := len(b.keys); n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}
