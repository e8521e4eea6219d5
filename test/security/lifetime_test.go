// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/redistest"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// chainOfU1 is the principal of the calls with which researcher and relay reach echo for the person u1, without the principal of u1.
const chainOfU1 = "system:serviceaccount:team:relay#uid-relay for system:serviceaccount:team:researcher#uid-researcher for "

// lastRelayed returns the headers of the last request to the container of relay.
func (c *chain) lastRelayed() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.relayed) == 0 {
		return nil
	}
	return c.relayed[len(c.relayed)-1]
}

// callUntil calls relay in a turn of the person u1 until done accepts a response. Every call that reaches relay must be for u1.
func (c *chain) callUntil(from *sidecartest.Fixture, task string, done func(status int, text string) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, text := c.call(from, task)
		if header := c.lastRelayed(); header.Get("A2A-Subject") != c.principalOfU1() {
			c.t.Fatalf("relay is called for %q by %q", header.Get("A2A-Subject"), header.Get("A2A-Principal"))
		}
		if done(status, text) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the last response is %d %s", status, text)
		}
	}
}

// TestTokenOfAUserEndsWhileTheTurnRuns calls other agents in a turn that outlives the token of its user. As long as the token is valid, the user is
// proven. Then researcher asserts the user: relay, which admits asserted users, is called for the user, and echo, which does not, refuses.
// No call is one of an agent for itself, and the turn ends as any other.
func TestTokenOfAUserEndsWhileTheTurnRuns(t *testing.T) {
	c := newChain(t, "subject.proven")
	token := c.person("u1", 4*time.Second)
	header, end := c.begin(token)
	task := header.Get("A2A-Task-Id")
	if status, text := c.call(c.researcher, task); status != http.StatusOK || !strings.Contains(text, "200 ") || c.lastRelayed().Get("A2A-Subject-Proven") != "true" {
		t.Fatalf("while the token is valid: %d %s, headers of relay %v", status, text, c.lastRelayed())
	}
	c.callUntil(c.researcher, task, func(status int, text string) bool {
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		return strings.Contains(text, "PERMISSION_DENIED")
	})
	if proven := c.lastRelayed().Get("A2A-Subject-Proven"); proven != "" {
		t.Errorf("relay is told that the user is proven: %q", proven)
	}
	if subject, principal := c.last(); subject != c.principalOfU1() || principal != chainOfU1+c.principalOfU1() || c.proven() != "true" {
		t.Errorf("the last admitted call of echo is for %q by %q, proven %q", subject, principal, c.proven())
	}
	end()
	c.awaitEnd(token, task)
	if !c.heard.contains("the log of echo", `"subject":"`+c.principalOfU1()+`"`) || c.heard.contains("the log of echo", `"subject":""`) {
		t.Error("the log of echo does not name the subject of each call")
	}
}

// TestTakeoverKeepsTheUser ends the replica of researcher on which a turn of a person runs: by SIGTERM, and as a replica ends for the others
// that is killed, whose lease expires. The other replica, which has no token of the person, runs the turn again, and calls the other agents
// for the same person, with the same owner of tasks.
func TestTakeoverKeepsTheUser(t *testing.T) {
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		takeOver(t, func(first *sidecartest.Fixture, _ *redis.Client) { first.Stop() })
	})
	t.Run("no lease", func(t *testing.T) {
		t.Parallel()
		takeOver(t, func(_ *sidecartest.Fixture, admin *redis.Client) {
			for _, command := range [][]any{{"ACL", "SETUSER", "first", "off"}, {"CLIENT", "KILL", "USER", "first"}} {
				if err := admin.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// takeOver runs a turn on a replica that is the user first of the store, calls lose for it, and checks the turn on another replica.
func takeOver(t *testing.T, lose func(first *sidecartest.Fixture, admin *redis.Client)) {
	c := newChain(t, "")
	address := redistest.Start(t).Address()
	admin := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = admin.Close() }()
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "first", "on", ">secret", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	replica := func(store, password string) *sidecartest.Fixture {
		return c.start("researcher", c.relay.URL, "", c.research, func(f *sidecartest.Fixture, config *sidecarconfig.Config) {
			f.Store = store
			f.StorePasswordFile = password
			config.Backend.OnInterruption = sidecarconfig.InterruptionRetry
			config.Drain.GracePeriod = sidecarconfig.Duration(4 * time.Second)
		})
	}
	first := replica("redis://first@"+address, password)
	second := replica("redis://"+address, "")
	c.researcher = first
	token := c.person("u1", time.Hour)
	before, _ := c.begin(token)
	task := before.Get("A2A-Task-Id")
	status, text := c.call(first, task)
	if status != http.StatusOK || c.lastRelayed().Get("A2A-Subject-Proven") != "true" {
		t.Fatalf("before the takeover: %d %s", status, text)
	}
	owner := c.lastRelayed().Get("A2A-Principal")
	lose(first, admin)
	var after http.Header
	select {
	case after = <-c.turns:
	case <-time.After(time.Minute):
		t.Fatal("the other replica does not run the turn")
	}
	first.Stop()
	c.researcher = second
	if after.Get("A2A-Task-Id") != task || after.Get("A2A-Principal") != before.Get("A2A-Principal") {
		t.Errorf("the turn runs again with the headers %v", after)
	}
	if status, text := c.call(second, task); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Errorf("after the takeover: %d %s", status, text)
	}
	header := c.lastRelayed()
	if header.Get("A2A-Subject") != c.principalOfU1() || header.Get("A2A-Principal") != owner || header.Get("A2A-Subject-Proven") != "" {
		t.Errorf("relay is called with the headers %v, want the owner %q", header, owner)
	}
	if subject, principal := c.last(); subject != c.principalOfU1() || principal != chainOfU1+c.principalOfU1() || c.proven() != "" {
		t.Errorf("echo is called for %q by %q, proven %q", subject, principal, c.proven())
	}
	if !c.heard.contains("the log of echo", `"subject":"`+c.principalOfU1()+`","proven":false`) {
		t.Error("the log of echo does not say that the subject is asserted")
	}
	c.proceed <- struct{}{}
	c.awaitEnd(token, task)
}

// TestKeysOfAnIssuerRotateUnderLoad replaces the key of an issuer of people while they call agents through two hops. The issuer signs with the new
// key as soon as it has published it, and withdraws the old one later. No call fails, and all users stay proven.
func TestKeysOfAnIssuerRotateUnderLoad(t *testing.T) {
	const calls = 10 // of each user, before and after each step
	c := newChain(t, "subject.proven")
	_, end := c.begin(c.person("u0", time.Hour)) // the keys are known
	end()
	users := []string{"u1", "u2", "u3", "u4"}
	counts := make([]atomic.Int64, len(users))
	failed := atomic.Int64{}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i, user := range users {
		wg.Go(func() {
			for failed.Load() == 0 {
				select {
				case <-stop:
					return
				default:
				}
				status, text := c.ask(c.researcher.URL, c.person(user, time.Hour), sending(askRelay, ""))
				if status != http.StatusOK || strings.Count(text, "200 ") != 2 {
					failed.Add(1)
					t.Errorf("%s: %d %s", user, status, text)
				}
				counts[i].Add(1)
			}
		})
	}
	steps := []func(){c.signWithANewKey, c.withdrawOldKeys}
	for step := range len(steps) + 1 {
		for i := range counts {
			for deadline := time.Now().Add(time.Minute); counts[i].Load() < int64(calls*(step+1)) && failed.Load() == 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d calls in a minute", users[i], counts[i].Load())
				}
			}
		}
		if step < len(steps) {
			steps[step]()
		}
	}
	close(stop)
	wg.Wait()
	total := int64(0)
	for i := range counts {
		total += counts[i].Load()
	}
	t.Logf("%d calls of %d users through two hops during a rotation, %d failed", total, len(users), failed.Load())
}

// TestKeyWithoutAnOverlap replaces the key of an issuer at once. Tokens of the new key are accepted from the first call on, also by the registry.
// Those of the old key are refused, and a turn that began with one goes on for its user, who is not proven any more.
func TestKeyWithoutAnOverlap(t *testing.T) {
	c := newChain(t, "")
	old := c.person("u1", 20*time.Second)
	header, end := c.begin(old)
	task := header.Get("A2A-Task-Id")
	c.signWithANewKey()
	c.withdrawOldKeys()
	status, text := c.ask(c.researcher.URL, c.person("u2", time.Hour), sending(askRelay, ""))
	if status != http.StatusOK || c.lastRelayed().Get("A2A-Subject-Proven") != "true" {
		t.Errorf("the first call with the new key: %d %s, headers of relay %v", status, text, c.lastRelayed())
	}
	if status, text := c.ask(c.researcher.URL, old, sending(askRelay, "")); status != http.StatusUnauthorized {
		t.Errorf("the old key: %d %s", status, text)
	}
	if status, text := c.call(c.researcher, task); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Errorf("the turn that began with the old key: %d %s", status, text)
	}
	if header := c.lastRelayed(); header.Get("A2A-Subject") != c.principalOfU1() || header.Get("A2A-Subject-Proven") != "" {
		t.Errorf("headers of relay %v", header)
	}
	end()
}

// TestRegistryAwayForLongerThanATokenLives stops the registry. Users still call agents and read their tasks, and an agent calls another one for a user
// until the token for these calls ends. Then the calls fail with a cause, and none is a call of the agent for itself. They work again with the registry.
func TestRegistryAwayForLongerThanATokenLives(t *testing.T) {
	c := newChain(t, "")
	token := c.person("u1", 5*time.Second)
	header, end := c.begin(token)
	task := header.Get("A2A-Task-Id")
	if status, text := c.call(c.researcher, task); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Fatalf("with the registry: %d %s", status, text)
	}
	c.away.Store(true)
	if status, text := c.call(c.researcher, task); status != http.StatusOK || !strings.Contains(text, "200 ") {
		t.Errorf("while the token is valid: %d %s", status, text)
	}
	c.callUntil(c.researcher, task, func(status int, text string) bool {
		ended := status == http.StatusServiceUnavailable
		if ended && !strings.Contains(text, "the registry has not issued a token for the call") {
			t.Fatalf("after the end of the token: %s", text)
		}
		return ended
	})
	other, endOther := c.begin(c.person("u2", time.Hour))
	if status, text := c.call(c.researcher, other.Get("A2A-Task-Id")); status != http.StatusServiceUnavailable || !strings.Contains(text, "the registry has not issued a token") {
		t.Errorf("a user whom no call was for: %d %s", status, text)
	}
	if status, text := c.ask(c.researcher.URL, c.person("u2", time.Hour), fmt.Sprintf(`"method":"GetTask","params":{"id":%q}`, other.Get("A2A-Task-Id"))); status != http.StatusOK || !strings.Contains(text, "TASK_STATE_WORKING") {
		t.Errorf("the task of the other user: %d %s", status, text)
	}

	c.away.Store(false)
	c.callUntil(c.researcher, task, func(status int, text string) bool { return status == http.StatusOK && strings.Contains(text, "200 ") })
	end()
	endOther()
	c.awaitEnd(token, task)
	c.awaitEnd(c.person("u2", time.Hour), other.Get("A2A-Task-Id"))
}

// TestCallOfAToolIsCanceledAfterItsTurn ends the turn in which the container of researcher calls relay by MCP, and then the call. The task at relay belongs
// to the user, and the gateway cancels it for the user, although no turn of the user runs any more.
func TestCallOfAToolIsCanceledAfterItsTurn(t *testing.T) {
	c := newChain(t, "")
	c.hold = make(chan struct{})
	defer close(c.hold)
	token := c.person("u1", time.Hour)
	header, end := c.begin(token)
	task := header.Get("A2A-Task-Id")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_agent","arguments":{"agent":"team/relay","message":"Hi"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.researcher.Gateway+"/mcp", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
		"Mcp-Name": "call_agent", "A2A-Task-Id": task,
	} {
		r.Header.Set(name, value)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		if response, err := client.Do(r); err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if ctx.Err() == nil {
				t.Errorf("the call ends with %d %s", response.StatusCode, text)
			}
		}
	})
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not within 20 s: %s", what)
			}
		}
	}
	await("echo is called", func() bool { subject, _ := c.last(); return subject == c.principalOfU1() })
	end()
	c.awaitEnd(token, task)
	leave()
	await("the task at relay is canceled for the user", func() bool {
		return c.heard.lineWith("the log of relay", `"operation":"CancelTask"`, `"subject":"`+c.principalOfU1()+`"`, `"outcome":"ok"`)
	})
	if status, text := c.call(c.researcher, task); status != http.StatusOK || !strings.Contains(text, "INVALID_REQUEST") || !strings.Contains(text, "A2A-Task-Id names a task of which no turn runs") {
		t.Errorf("a call after the turn: %d %s", status, text)
	}
}
