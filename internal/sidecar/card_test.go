// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/binding/wellknown"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card/signing"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/signingtest"
)

func withHiddenSkill(c *sidecarconfig.Config) {
	c.Card.Skills = []card.Skill{
		{ID: "open", Name: "Open", Description: "d", Tags: []string{"t"}},
		{ID: "hidden", Name: "Hidden", Description: "d", Tags: []string{"t"}, Extended: true},
	}
	c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{Type: sidecarconfig.AuthenticationAnonymous})
}

func TestWire18_ExtendedCardOf02(t *testing.T) {
	p := newPod(t, respondHi, withHiddenSkill)
	url := strings.TrimSuffix(p.agent(), "/") + wellknown.ExtendedPath

	response, body := p.do("GET", url, "", "Authorization", "Bearer "+p.token("team"))
	if response.StatusCode != http.StatusOK || !strings.Contains(body, `"hidden"`) || strings.Contains(body, "supportedInterfaces") {
		t.Errorf("extended card = %d %s", response.StatusCode, body)
	}
	want := map[string]string{"Cache-Control": "private, no-store", "Vary": "Authorization", "Content-Type": "application/json"}
	got := map[string]string{}
	for name := range want {
		got[name] = response.Header.Get(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if response, body := p.do("HEAD", url, "", "Authorization", "Bearer "+p.token("team")); response.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD gives %d %q", response.StatusCode, body)
	}
	if response, _ := p.do("POST", url, "{}", "Authorization", "Bearer "+p.token("team")); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gives %d", response.StatusCode)
	}

	// Anonymous callers may call the agent. They get the public card only.
	for _, headers := range [][]string{nil, {"Authorization", "Bearer x"}} {
		response, body := p.do("GET", url, "", headers...)
		if response.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(response.Header.Get("WWW-Authenticate"), "Bearer") ||
			strings.Contains(body, "hidden") {
			t.Errorf("headers %v give %d %q", headers, response.StatusCode, body)
		}
	}
	if response, _ := p.do("GET", url, "", "Authorization", "Bearer "+p.token("other")); response.StatusCode != http.StatusForbidden {
		t.Errorf("a caller of another namespace gets %d", response.StatusCode)
	}

	_, public := p.do("GET", p.agent()+".well-known/agent-card.json", "")
	if !strings.Contains(public, `"supportsAuthenticatedExtendedCard":true`) || strings.Contains(public, "hidden") {
		t.Errorf("public card is %s", public)
	}
}

func TestWire18_NoExtendedCard(t *testing.T) {
	for name, change := range map[string]func(*sidecarconfig.Config){
		"no such skill": nil,
		"only anonymous callers": func(c *sidecarconfig.Config) {
			withHiddenSkill(c)
			c.Access.Authentication = c.Access.Authentication[1:]
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, respondHi, change)
			var headers []string
			if change == nil {
				headers = []string{"Authorization", "Bearer " + p.token("team")}
			}
			response, body := p.do("GET", strings.TrimSuffix(p.agent(), "/")+wellknown.ExtendedPath, "", headers...)
			if response.StatusCode != http.StatusNotFound || strings.Contains(body, "hidden") {
				t.Errorf("extended card = %d %s", response.StatusCode, body)
			}
			if _, public := p.do("GET", p.agent()+".well-known/agent-card.json", ""); strings.Contains(public, "xtendedAgentCard") || strings.Contains(public, "xtendedCard") {
				t.Errorf("public card declares an extended one: %s", public)
			}
		})
	}
}

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// TestWire19_KeysAreRotated performs each step of a key rotation without a restart.
func TestWire19_KeysAreRotated(t *testing.T) {
	dir := t.TempDir()
	first, second := newKey(t), newKey(t)
	mount(t, dir, map[string][]byte{"tls.key": first})
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		c.CardSigning.JWKSURL = "https://keys.example/echo.json"
	}, func(o *settings.Options) {
		o.CardSigningKeys = []string{filepath.Join(dir, "tls.key"), filepath.Join(dir, "previous.key")}
	})
	keys := func() (set jose.JSONWebKeySet) {
		t.Helper()
		response, body := p.do("GET", strings.TrimSuffix(p.agent(), "/")+signing.Path, "")
		if response.StatusCode != http.StatusOK || response.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("key set = %d %v", response.StatusCode, response.Header)
		}
		if err := json.Unmarshal([]byte(body), &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	public := func(text []byte) (set jose.JSONWebKeySet) {
		t.Helper()
		k, err := signing.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		set.Keys = append(set.Keys, *k.Public())
		return set
	}
	verifies := func(set jose.JSONWebKeySet) bool {
		t.Helper()
		_, text := p.do("GET", p.agent()+".well-known/agent-card.json", "")
		union := signingtest.Verify([]byte(text), card.FormV03, set)
		_, text = p.do("GET", p.agent()+".well-known/agent-card.json", "", "A2A-Version", "1.0")
		pure := signingtest.Verify([]byte(text), card.FormV10, set)
		return union == nil && pure == nil
	}
	// reported checks the signatures that the sidecar reports to the registry, which renders
	// the configured card.
	reported := func(keys int) {
		t.Helper()
		report := p.sidecar.health.Report().CardSignatures
		if report == nil {
			t.Fatal("no signatures are reported")
		}
		c := *p.config
		c.Declare()
		if err := signing.Verify(&c.Card, report.Signatures, report.Keys); err != nil {
			t.Errorf("reported signatures: %v", err)
		}
		var set jose.JSONWebKeySet
		if err := json.Unmarshal(report.Keys, &set); err != nil || len(set.Keys) != keys {
			t.Errorf("%d reported keys, want %d: %v", len(set.Keys), keys, err)
		}
	}
	reported(1)
	if !verifies(public(first)) || verifies(public(second)) || len(keys().Keys) != 1 || !verifies(keys()) {
		t.Fatal("the card is not signed with the first key alone")
	}

	mount(t, dir, map[string][]byte{"tls.key": second, "previous.key": first})
	p.eventually("both keys", func() bool { return verifies(public(first)) && verifies(public(second)) && len(keys().Keys) == 2 })

	// The card of a reloaded configuration is signed with both keys, too.
	p.config.Card.Name = "Renamed"
	p.mount(p.encode())
	p.eventually("new card", func() bool {
		_, text := p.do("GET", p.agent()+".well-known/agent-card.json", "")
		return strings.Contains(text, "Renamed")
	})
	if !verifies(public(first)) || !verifies(public(second)) {
		t.Error("the new card is not signed with both keys")
	}
	reported(2)

	metric := func(want string) bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, want)
	}
	mount(t, dir, map[string][]byte{"tls.key": []byte("broken"), "previous.key": first})
	p.eventually("refused key", func() bool { return metric(`a2a_reloads_total{result="refused",source="card-signing-keys"} 1`) })
	if !verifies(public(second)) {
		t.Error("a broken key took the former one away")
	}

	mount(t, dir, map[string][]byte{"tls.key": second})
	p.eventually("the second key alone", func() bool { return !verifies(public(first)) && verifies(public(second)) && len(keys().Keys) == 1 })
	reported(1)
}

func TestKeysOfAnUnsignedCard(t *testing.T) {
	p := newPod(t, respondHi, nil)
	if response, _ := p.do("GET", strings.TrimSuffix(p.agent(), "/")+signing.Path, ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("key set = %d", response.StatusCode)
	}
	if _, text := p.do("GET", p.agent()+".well-known/agent-card.json", ""); strings.Contains(text, "signatures") {
		t.Errorf("card has signatures: %s", text)
	}
	if report := p.sidecar.health.Report(); report.CardSignatures != nil {
		t.Errorf("reported signatures %+v", report.CardSignatures)
	}
}

// TestProtocolOptions changes the protocol options by a reload.
func TestProtocolOptions(t *testing.T) {
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
	})
	const get = `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}`
	union := func() bool {
		_, text := p.do("GET", p.agent()+".well-known/agent-card.json", "")
		return strings.Contains(text, "preferredTransport")
	}
	refused := func() bool {
		_, text := p.do("POST", p.agent(), get)
		return strings.Contains(text, "-32009")
	}
	if !union() || refused() {
		t.Fatalf("by default the card is the union: %v, and a request without a version is refused: %v", union(), refused())
	}
	p.config.ProtocolOptions = sidecarconfig.ProtocolOptions{CardProfile: card.ProfileV1, StrictVersion: true}
	p.mount(p.encode())
	p.eventually("card of 1.0", func() bool { return !union() })
	if !refused() {
		t.Error("a request without a version is served where that is checked")
	}
}

// TestMessageOptions changes two options by a reload: the effect of a repeated message,
// and of a message with a context only.
func TestMessageOptions(t *testing.T) {
	asks := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"status-update","status":{"state":"input-required"}}`)
	}
	p := newPod(t, asks, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationAnonymous}}
	})
	send := func(id, contextID string) string {
		t.Helper()
		_, text := p.do("POST", p.agent(), `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","role":"user",
			"messageId":"`+id+`","contextId":"`+contextID+`","parts":[{"kind":"text","text":"hi"}]}}}`)
		var answer struct {
			Result struct {
				ID     string
				Status struct{ State string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Result.Status.State != "input-required" {
			t.Fatalf("message/send = %s", text)
		}
		return answer.Result.ID
	}
	first := send("m1", "c1")
	if again := send("m1", "c1"); again != first {
		t.Errorf("the same message made task %s, and then %s", first, again)
	}
	if reply := send("m2", "c1"); reply == first {
		t.Error("by default a message that names a context continues a task")
	}
	off := sidecarconfig.Duration(0)
	p.config.ProtocolOptions = sidecarconfig.ProtocolOptions{MessageDeduplication: &off, ContextReplies: sidecarconfig.ContextRepliesContinuePaused}
	p.mount(p.encode())
	p.eventually("deduplication is off", func() bool {
		before := send("m3", "")
		return send("m3", "") != before
	})
	question := send("m4", "c2")
	if reply := send("m5", "c2"); reply != question {
		t.Errorf("the reply made task %s, want it to continue %s", reply, question)
	}
}

// TestWire18_ExtendedCardOfEveryBinding requests the extended card as the clients of each
// version do.
func TestWire18_ExtendedCardOfEveryBinding(t *testing.T) {
	offered, none := newPod(t, respondHi, withHiddenSkill), newPod(t, respondHi, nil)
	tests := map[string]struct {
		method, path, body, version string
		// none is a text in the response of an agent without an extended card.
		none string
	}{
		"0.3 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`, "", "-32007"},
		"1.0 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "1.0", "-32004"},
		// In 0.3 over REST, one operation returns the public or the extended card.
		"0.3 REST": {"GET", "/v1/card", "", "", ""},
		"1.0 REST": {"GET", "/extendedAgentCard", "", "1.0", "UNSUPPORTED_OPERATION"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ask := func(p *pod, headers ...string) (*http.Response, string) {
				return p.do(test.method, strings.TrimSuffix(p.agent(), "/")+test.path, test.body, append(headers, "A2A-Version", test.version)...)
			}
			response, body := ask(offered, "Authorization", "Bearer "+offered.token("team"))
			if response.StatusCode != http.StatusOK || !strings.Contains(body, `"hidden"`) {
				t.Errorf("extended card = %d %s", response.StatusCode, body)
			}
			if test.method == "GET" && (response.Header.Get("Cache-Control") != "private, no-store" || response.Header.Get("Vary") != "Authorization") {
				t.Errorf("headers are %v", response.Header)
			}
			if response, body := ask(offered); response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("an anonymous caller gets %d %v %s", response.StatusCode, response.Header, body)
			}
			if response, body := ask(none, "Authorization", "Bearer "+none.token("team")); name == "0.3 REST" {
				if response.StatusCode != http.StatusOK || !strings.Contains(body, `"protocolVersion":"0.3.0"`) || strings.Contains(body, "supportedInterfaces") {
					t.Errorf("without an extended card the answer is %d %s", response.StatusCode, body)
				}
			} else if !strings.Contains(response.Status+" "+body, test.none) {
				t.Errorf("without an extended card the answer is %d %s", response.StatusCode, body)
			}
		})
	}
}

// An agent that admits anonymous callers, and serves more to callers with a credential,
// lists the security schemes of these callers.
func TestWire18_SchemesOfTheExtendedCard(t *testing.T) {
	p := newPod(t, respondHi, withHiddenSkill)
	for version, scheme := range map[string]string{"": `"type":"http"`, "1.0": `"httpAuthSecurityScheme"`} {
		_, text := p.do("GET", p.agent()+".well-known/agent-card.json", "", "A2A-Version", version)
		if !strings.Contains(text, `"kubernetes":{`) || !strings.Contains(text, scheme) {
			t.Errorf("the card for %q has no scheme: %s", version, text)
		}
		for _, name := range []string{`"security"`, `"securityRequirements"`, `"security_requirements"`, `"authentication"`} {
			if strings.Contains(text, name) {
				t.Errorf("the card for %q requires a credential: %s", version, text)
			}
		}
	}
	if response, body := p.do("POST", p.agent(), hello); response.StatusCode != http.StatusOK || !strings.Contains(body, "completed") {
		t.Errorf("without a credential: %d %s", response.StatusCode, body)
	}
}

// TestWire18_ChallengesOfTheExtendedCard checks that a refusal names exactly the accepted
// types of credentials.
func TestWire18_ChallengesOfTheExtendedCard(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "alice"), []byte(strings.Repeat("k", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPodWith(t, respondHi, func(c *sidecarconfig.Config) {
		withHiddenSkill(c)
		c.Access.Authentication = []sidecarconfig.Authentication{
			{Type: sidecarconfig.AuthenticationAPIKey, APIKey: &sidecarconfig.APIKeyAuthentication{Header: "X-API-Key"}},
			{Type: sidecarconfig.AuthenticationAnonymous},
		}
	}, func(o *settings.Options) { o.APIKeys = dir })
	for name, request := range map[string][]string{
		"0.2":          {"GET", wellknown.ExtendedPath, ""},
		"0.3 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`},
		"1.0 JSON-RPC": {"POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`},
		"0.3 REST":     {"GET", "/v1/card", ""},
		"1.0 REST":     {"GET", "/extendedAgentCard", ""},
	} {
		response, body := p.do(request[0], strings.TrimSuffix(p.agent(), "/")+request[1], request[2])
		challenges := response.Header.Values("WWW-Authenticate")
		if response.StatusCode != http.StatusUnauthorized || len(challenges) != 1 || !strings.HasPrefix(challenges[0], "ApiKey ") || !strings.Contains(body, "Authentication is required") {
			t.Errorf("%s: %d %q %s", name, response.StatusCode, challenges, body)
		}
	}
}
