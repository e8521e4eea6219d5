// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// scoped returns a token with a further claim.
func (p *provider) scoped(claim string, value any) string {
	p.t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "p"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(map[string]any{
		"iss": p.URL, "sub": "alice", "aud": "echo", "exp": time.Now().Add(time.Hour).Unix(), claim: value,
	}).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return "Bearer " + token
}

// TestRequiredScopes checks that a call with a token without a scope gets 403 with a challenge that names the scopes
// (RFC 6750, section 3.1), and a call without a token 401 with the protected resource metadata (RFC 9728, section 5.1).
func TestRequiredScopes(t *testing.T) {
	issuer := newProvider(t)
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		authentication := issuer.authentication()
		authentication.JWT.RequiredScopes = []string{"call"}
		authentication.JWT.SkillScopes = map[string][]string{"greet": {"greet.write"}}
		authentication.JWT.Scopes = map[string]string{"call": "Call the agent", "greet.write": ""}
		authentication.JWT.Flows = []card.OAuthFlow{
			{Type: card.FlowAuthorizationCode, AuthorizationURL: "https://id.example/authorize", TokenURL: "https://id.example/token", PKCERequired: true},
			{Type: card.FlowClientCredentials, TokenURL: "https://id.example/token"},
			{Type: card.FlowDeviceCode, DeviceAuthorizationURL: "https://id.example/device", TokenURL: "https://id.example/token"},
		}
		c.Access.Authentication = append(c.Access.Authentication, authentication)
		c.Bases = []card.Base{card.NewBase("https://agents.example.com/echo/")}
		c.Card.Skills = []card.Skill{{ID: "greet", Name: "Greet", Description: "d", Tags: []string{"t"}}, {ID: "other", Name: "Other", Description: "d", Tags: []string{"t"}}}
		c.Card.SecuritySchemes = c.Access.Schemes()
		c.Declare()
	})
	p.eventually("the keys of the issuer", func() bool {
		response, _ := p.do("POST", p.agent(), hello, "Authorization", issuer.scoped("scope", "call"))
		return response.StatusCode == http.StatusOK
	})
	greet := strings.Replace(hello, `"role":"user"`, `"role":"user","metadata":{"a2a-operator.dev/skill":"greet"}`, 1)
	other := strings.Replace(hello, `"role":"user"`, `"role":"user","metadata":{"a2a-operator.dev/skill":"other"}`, 1)
	const agent, skill = `Bearer realm="a2a", error="insufficient_scope", scope="call"`, `Bearer realm="a2a", error="insufficient_scope", scope="call greet.write"`
	tests := map[string]struct {
		token, body string
		status      int
		challenge   string
	}{
		"the scope":                     {issuer.scoped("scope", "openid call"), hello, 200, ""},
		"the scope in scp":              {issuer.scoped("scp", []string{"call"}), hello, 200, ""},
		"the scope in scp as text":      {issuer.scoped("scp", "call x"), hello, 200, ""},
		"another skill":                 {issuer.scoped("scope", "call"), other, 200, ""},
		"both scopes":                   {issuer.scoped("scope", "greet.write call"), greet, 200, ""},
		"no claim":                      {issuer.scoped("x", "call"), hello, 403, agent},
		"another scope":                 {issuer.scoped("scope", "calls Call"), hello, 403, agent},
		"a scope claim of another kind": {issuer.scoped("scope", map[string]string{"call": "call"}), hello, 403, agent},
		"the scope of the skill only":   {issuer.scoped("scope", "greet.write"), greet, 403, agent},
		"a scope less for the skill":    {issuer.scoped("scope", "call"), greet, 403, skill},
		"a ServiceAccount":              {"Bearer " + p.token("team"), greet, 200, ""},
		"a token that is not valid": {
			"Bearer x.y.z", hello, 401,
			`Bearer realm="a2a", error="invalid_token", resource_metadata="https://agents.example.com/echo/.well-known/oauth-protected-resource"`,
		},
	}
	for name, test := range tests {
		response, text := p.do("POST", p.agent(), test.body, "Authorization", test.token)
		if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != test.status || got != test.challenge {
			t.Errorf("%s: %d, WWW-Authenticate %s, %s\nwant %d, %s", name, response.StatusCode, got, text, test.status, test.challenge)
		}
	}
	rest := `{"message":{"messageId":"new","role":"ROLE_USER","parts":[{"text":"Hello"}],"metadata":{"a2a-operator.dev/skill":"greet"}}}`
	if response, text := p.do("POST", p.agent()+"message:send", rest, "Authorization", issuer.scoped("scope", "call"), "A2A-Version", "1.0"); response.StatusCode != http.StatusForbidden ||
		response.Header.Get("WWW-Authenticate") != skill || !strings.Contains(text, "greet.write") {
		t.Errorf("REST: %d %s", response.StatusCode, text)
	}

	response, text := p.do("GET", p.agent()+".well-known/oauth-protected-resource", "")
	var metadata map[string]any
	if err := json.Unmarshal([]byte(text), &metadata); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("protected resource metadata: %d %s", response.StatusCode, text)
	}
	if diff := cmp.Diff(map[string]any{
		"resource": "https://agents.example.com/echo/", "authorization_servers": []any{issuer.URL},
		"scopes_supported": []any{"call", "greet.write"}, "bearer_methods_supported": []any{"header"},
	}, metadata); diff != "" {
		t.Errorf("protected resource metadata (-want +got):\n%s", diff)
	}
	for version, wants := range map[string][]string{
		"1.0": {
			`"authorizationCode":{"authorizationUrl":"https://id.example/authorize","tokenUrl":"https://id.example/token","scopes":{"call":"Call the agent","greet.write":""},"pkceRequired":true}`,
			`"deviceCode":{"deviceAuthorizationUrl":"https://id.example/device"`, `"clientCredentials":{"tokenUrl"`,
			`{"schemes":{"oauth2ClientCredentials":{"list":["call"]}}}`, `{"schemes":{"oauth2DeviceCode":{"list":["call","greet.write"]}}}`, `{"schemes":{"kubernetes":{"list":[]}}}`,
		},
		"0.3": {`"security":[{"kubernetes":[]},{"jwt":["call"]},{"oauth2AuthorizationCode":["call"]}`, `{"oauth2ClientCredentials":["call","greet.write"]}`},
	} {
		_, text := p.do("GET", p.agent()+".well-known/agent-card.json", "", "A2A-Version", version)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("card of %s lacks %s:\n%s", version, want, text)
			}
		}
	}
	if log := fmt.Sprint(p.log.String()); strings.Contains(log, "eyJ") {
		t.Error("the log has a token")
	}
}

func TestNoProtectedResourceWithoutFlows(t *testing.T) {
	issuer := newProvider(t)
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = append(c.Access.Authentication, issuer.authentication())
	})
	if response, _ := p.do("GET", p.agent()+".well-known/oauth-protected-resource", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("protected resource metadata: %d", response.StatusCode)
	}
	if response, _ := p.do("POST", p.agent(), hello); response.Header.Get("WWW-Authenticate") != `Bearer realm="a2a"` {
		t.Errorf("challenge %v", response.Header)
	}
}
