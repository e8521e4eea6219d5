// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func example() *card.Card {
	return &card.Card{
		Name: "Example", Description: "Example <agent> & more", Version: "1.4.0",
		Provider:         &card.Provider{Organization: "Example", URL: "https://example.com"},
		IconURL:          "https://example.com/icon.png",
		DocumentationURL: "https://example.com/docs",
		Interfaces: []card.Interface{
			{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "0.3"},
			{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "1.0"},
		},
		Capabilities: card.Capabilities{Streaming: true, Extensions: []card.Extension{
			{URI: "https://example.com/ext", Description: "x", Params: card.RawObject(`{"a":1}`)},
		}},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []card.Skill{
			{ID: "chat", Name: "Chat", Description: "Talks", Tags: []string{"chat"}, Examples: []string{"Hi"}},
			{ID: "bare", Name: "Bare", Description: "No tags"},
		},
		SecuritySchemes: []card.SecurityScheme{
			{Name: "bearer", Type: card.SchemeHTTP, Scheme: "bearer", BearerFormat: "JWT", Description: "A ServiceAccount token"},
		},
	}
}

func render(t *testing.T, c *card.Card, f card.Form, signatures ...card.Signature) []byte {
	t.Helper()
	text, err := card.Render(c, f, signatures...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestUnion(t *testing.T) {
	const want = `{"name":"Example","description":"Example <agent> & more","version":"1.4.0","protocolVersion":"0.3.0",` +
		`"url":"https://a.example/","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"https://a.example/","transport":"JSONRPC"}],` +
		`"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},` +
		`{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],` +
		`"provider":{"organization":"Example","url":"https://example.com"},"iconUrl":"https://example.com/icon.png","documentationUrl":"https://example.com/docs",` +
		`"capabilities":{"streaming":true,"extensions":[{"uri":"https://example.com/ext","description":"x","params":{"a":1}}]},` +
		`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain","application/json"],"authentication":{"schemes":["Bearer"]},` +
		`"securitySchemes":{"bearer":{"type":"http","description":"A ServiceAccount token","scheme":"bearer","bearerFormat":"JWT",` +
		`"httpAuthSecurityScheme":{"description":"A ServiceAccount token","scheme":"bearer","bearerFormat":"JWT"}}},"security":[{"bearer":[]}],"security_requirements":[{"schemes":{"bearer":{"list":[]}}}],` +
		`"skills":[{"id":"chat","name":"Chat","description":"Talks","tags":["chat"],"examples":["Hi"]},{"id":"bare","name":"Bare","description":"No tags","tags":[]}]}`
	if diff := cmp.Diff(want, string(render(t, example(), card.FormUnion))); diff != "" {
		t.Errorf("Union() (-want +got):\n%s", diff)
	}
}

// TestFormsHaveExactlyTheirMembers compares whole forms, because an additional member is
// an error as well.
func TestFormsHaveExactlyTheirMembers(t *testing.T) {
	const head = `{"name":"Example","description":"Example <agent> & more","version":"1.4.0",`
	const about = `"provider":{"organization":"Example","url":"https://example.com"},"iconUrl":"https://example.com/icon.png","documentationUrl":"https://example.com/docs",` +
		`"capabilities":{"streaming":true,"extensions":[{"uri":"https://example.com/ext","description":"x","params":{"a":1}}]},` +
		`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain","application/json"],`
	const legacy = head + `"protocolVersion":"0.3.0","url":"https://a.example/","preferredTransport":"JSONRPC",` +
		`"additionalInterfaces":[{"url":"https://a.example/","transport":"JSONRPC"}],` + about
	const wrapper = `"httpAuthSecurityScheme":{"description":"A ServiceAccount token","scheme":"bearer","bearerFormat":"JWT"}`
	const skills = `"skills":[{"id":"chat","name":"Chat","description":"Talks","tags":["chat"],"examples":["Hi"]},{"id":"bare","name":"Bare","description":"No tags","tags":[]}]}`
	tests := map[card.Form]string{
		card.FormV03: legacy + `"securitySchemes":{"bearer":{"type":"http","description":"A ServiceAccount token","scheme":"bearer","bearerFormat":"JWT",` +
			wrapper + `}},"security":[{"bearer":[]}],` + skills,
		card.FormV03Proto: legacy + `"securitySchemes":{"bearer":{` + wrapper + `}},"security":[{"schemes":{"bearer":{"list":[]}}}],` + skills,
		card.FormV10: head + `"supportedInterfaces":[{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},` +
			`{"url":"https://a.example/","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],` + about +
			`"securitySchemes":{"bearer":{` + wrapper + `}},"securityRequirements":[{"schemes":{"bearer":{"list":[]}}}],` + skills,
	}
	for form, want := range tests {
		if diff := cmp.Diff(want, string(render(t, example(), form))); diff != "" {
			t.Errorf("Render(%d) (-want +got):\n%s", form, diff)
		}
	}
}

// TestPublicCardHasNoExtendedSkill checks that the public card contains no text of an
// extended skill, and that the extended card contains the skill.
func TestPublicCardHasNoExtendedSkill(t *testing.T) {
	c := example()
	c.Capabilities.ExtendedCard = true
	c.Skills = append(c.Skills, card.Skill{
		ID: "hidden", Name: "Hidden", Description: "d", Tags: []string{"t"}, Extended: true,
		InputSchema: card.RawObject(`{"title":"hidden"}`),
	})
	for _, form := range []card.Form{card.FormUnion, card.FormV03, card.FormV03Proto, card.FormV10} {
		text := string(render(t, c, form))
		if strings.Contains(strings.ToLower(text), "hidden") {
			t.Errorf("Render(%d) shows the extended skill: %s", form, text)
		}
		text = string(render(t, c.Extended(), form))
		if !strings.Contains(text, `"id":"hidden"`) || !strings.Contains(text, `"id":"chat"`) {
			t.Errorf("Render(%d) of the extended card lacks a skill: %s", form, text)
		}
		if !strings.Contains(text, `xtendedAgentCard":true`) && !strings.Contains(text, `"supportsAuthenticatedExtendedCard":true`) {
			t.Errorf("Render(%d) does not say that there is an extended card: %s", form, text)
		}
		if strings.Contains(text, `"extended":`) {
			t.Errorf("Render(%d) shows a member of ours: %s", form, text)
		}
	}
	if len(c.Skills) != 3 || !c.Skills[2].Extended || !c.HasExtended() || c.Extended().HasExtended() {
		t.Errorf("Extended() changed the card: %+v", c.Skills)
	}
}

// TestSchemas checks that a card contains the schemas of exactly the skills that it
// lists.
func TestSchemas(t *testing.T) {
	c := example()
	declared := len(c.Capabilities.Extensions)
	c.Skills[0].InputSchema = card.RawObject(`{"type":"object"}`)
	c.Skills[1].OutputSchema = card.RawObject(`{"type":"string"}`)
	c.Skills[1].Extended = true
	for _, form := range []card.Form{card.FormUnion, card.FormV03, card.FormV03Proto, card.FormV10} {
		for text, want := range map[string]string{
			string(render(t, c, form)): `{"skills":{"` + c.Skills[0].ID + `":{"inputSchema":{"type":"object"}}}}`,
			string(render(t, c.Extended(), form)): `{"skills":{"` + c.Skills[1].ID + `":{"outputSchema":{"type":"string"}},"` +
				c.Skills[0].ID + `":{"inputSchema":{"type":"object"}}}}`,
		} {
			if !strings.Contains(text, card.SchemasExtension) || !strings.Contains(text, `"params":`+want) {
				t.Errorf("Render(%d) lacks %s: %s", form, want, text)
			}
		}
	}
	if len(c.Capabilities.Extensions) != declared {
		t.Errorf("Render() changed the card: %+v", c.Capabilities)
	}
}

func TestDigest(t *testing.T) {
	first, err := card.Digest(example())
	if err != nil || len(first) != 16 {
		t.Fatalf("Digest() = %q, %v", first, err)
	}
	again, _ := card.Digest(example())
	if again != first {
		t.Errorf("Digest() of an equal card = %q, want %q", again, first)
	}
	changed := example()
	changed.Skills[0].Tags = []string{"talk"}
	if other, _ := card.Digest(changed); other == first {
		t.Error("Digest() of another card is the same")
	}
	hidden := card.Skill{ID: "hidden", Extended: true}
	changed = example()
	changed.Skills = append(changed.Skills, hidden)
	second, _ := card.Digest(changed)
	changed.Skills[2].Description = "changed"
	if third, _ := card.Digest(changed); second == first || third == second {
		t.Error("Digest() does not follow extended skills")
	}
}

// TestSignInOfEveryVersion compares the members with which a client of each version signs in: the schemes, the flows, and the scopes
// of the agent and of a skill.
func TestSignInOfEveryVersion(t *testing.T) {
	scopes := map[string]string{"call": "Call it", "pay": "Pay"}
	flow := func(f card.OAuthFlow) *card.OAuthFlow {
		f.TokenURL = "https://id.example/t"
		f.Scopes = scopes
		return &f
	}
	c := &card.Card{
		Name: "N", Description: "D", Version: "1", Interfaces: []card.Interface{{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "1.0"}},
		SecuritySchemes: []card.SecurityScheme{
			{Name: "jwt", Type: card.SchemeOpenIDConnect, OpenIDConnectURL: "https://id.example/.well-known/openid-configuration", Scopes: []string{"call"}},
			{Name: "code", Type: card.SchemeOAuth2, Scopes: []string{"call"}, Flow: flow(card.OAuthFlow{Type: card.FlowAuthorizationCode, AuthorizationURL: "https://id.example/a", PKCERequired: true})},
			{Name: "client", Type: card.SchemeOAuth2, Scopes: []string{"call"}, Flow: flow(card.OAuthFlow{Type: card.FlowClientCredentials})},
			{Name: "device", Type: card.SchemeOAuth2, Scopes: []string{"call"}, Flow: flow(card.OAuthFlow{Type: card.FlowDeviceCode, DeviceAuthorizationURL: "https://id.example/d"})},
		},
		Skills: []card.Skill{{ID: "pay", Name: "Pay", Description: "d", Tags: []string{"t"}, Security: []card.Requirement{{"client": {"call", "pay"}}}}},
	}
	const (
		list = `"scopes":{"call":"Call it","pay":"Pay"}`
		oidc = `"openIdConnectUrl":"https://id.example/.well-known/openid-configuration"`
		code = `{"authorizationCode":{"authorizationUrl":"https://id.example/a","tokenUrl":"https://id.example/t",` + list
		// client and device are whole flows. Only 1.0 has the flow device, and says that the flow code needs PKCE.
		client = `{"clientCredentials":{"tokenUrl":"https://id.example/t",` + list + `}}`
		device = `{"deviceCode":{"deviceAuthorizationUrl":"https://id.example/d","tokenUrl":"https://id.example/t",` + list + `}}`

		oldNeeds   = `[{"jwt":["call"]},{"code":["call"]},{"client":["call"]},{"device":["call"]}]`
		oldSkill   = `[{"client":["call","pay"]}]`
		protoNeeds = `[{"schemes":{"jwt":{"list":["call"]}}},{"schemes":{"code":{"list":["call"]}}},{"schemes":{"client":{"list":["call"]}}},{"schemes":{"device":{"list":["call"]}}}]`
		protoSkill = `[{"schemes":{"client":{"list":["call","pay"]}}}]`
	)
	wrapped := func(code, device string) string {
		return `"client":{"oauth2SecurityScheme":{"flows":` + client + `}},"code":{"oauth2SecurityScheme":{"flows":` + code + `}},` +
			`"device":{"oauth2SecurityScheme":{"flows":` + device + `}},"jwt":{"openIdConnectSecurityScheme":{` + oidc + `}}`
	}
	both := func(code, device string) string {
		return `"client":{"type":"oauth2","flows":` + client + `,"oauth2SecurityScheme":{"flows":` + client + `}},` +
			`"code":{"type":"oauth2","flows":` + code + `,"oauth2SecurityScheme":{"flows":` + code + `}},` +
			`"device":{"type":"oauth2","flows":` + device + `,"oauth2SecurityScheme":{"flows":` + device + `}},` +
			`"jwt":{"type":"openIdConnect",` + oidc + `,"openIdConnectSecurityScheme":{` + oidc + `}}`
	}
	tests := map[string]struct {
		form card.Form
		want []string
	}{
		"all versions, of which 0.1 reads authentication": {card.FormUnion, []string{
			`"authentication":{"schemes":["Bearer"]}`, `"securitySchemes":{` + both(code+`,"pkceRequired":true}}`, device) + `}`,
			`"security":` + oldNeeds + `,"security_requirements":` + protoNeeds, `"security":` + oldSkill + `,"security_requirements":` + protoSkill,
		}},
		"0.2 and 0.3": {card.FormV03, []string{
			`"securitySchemes":{` + both(code+`}}`, `{}`) + `}`, `"security":` + oldNeeds, `"security":` + oldSkill,
		}},
		"0.3, of gRPC and REST": {card.FormV03Proto, []string{
			`"securitySchemes":{` + wrapped(code+`}}`, `{}`) + `}`, `"security":` + protoNeeds, `"security":` + protoSkill,
		}},
		"1.0": {card.FormV10, []string{
			`"securitySchemes":{` + wrapped(code+`,"pkceRequired":true}}`, device) + `}`, `"securityRequirements":` + protoNeeds, `"securityRequirements":` + protoSkill,
		}},
	}
	for name, test := range tests {
		text := string(render(t, c, test.form))
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the card lacks %s\n%s", name, want, text)
			}
		}
	}
}
