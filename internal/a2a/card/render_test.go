// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"encoding/json"
	"testing"

	v0 "github.com/a2aproject/a2a-go/a2a"
	v1 "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

func example() card.Card {
	return card.Card{
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

func render(t *testing.T, f func(card.Card) ([]byte, error), c card.Card) []byte {
	t.Helper()
	text, err := f(c)
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
		`"httpAuthSecurityScheme":{"description":"A ServiceAccount token","scheme":"bearer","bearerFormat":"JWT"}}},"security":[{"bearer":[]}],` +
		`"skills":[{"id":"chat","name":"Chat","description":"Talks","tags":["chat"],"examples":["Hi"]},{"id":"bare","name":"Bare","description":"No tags","tags":[]}]}`
	if diff := cmp.Diff(want, string(render(t, card.Union, example()))); diff != "" {
		t.Errorf("Union() (-want +got):\n%s", diff)
	}
}

func TestSchemas(t *testing.T) {
	cards := map[string]card.Card{
		"full":  example(),
		"empty": {Name: "n", Description: "d", Version: "0", Interfaces: example().Interfaces},
	}
	for name, c := range cards {
		t.Run(name, func(t *testing.T) {
			union := render(t, card.Union, c)
			for _, version := range []string{"v0.1.0", "v0.2.6", "v0.3.0"} {
				if err := spec.Validate(version, "AgentCard", union); err != nil {
					t.Error(err)
				}
			}
			if err := spec.Validate("v1.0.1", "AgentCard", render(t, card.V1, c)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOfficialClientsReadTheUnion(t *testing.T) {
	union := render(t, card.Union, example())

	var recent v1.AgentCard
	if err := json.Unmarshal(union, &recent); err != nil {
		t.Fatalf("a2a-go v2: %v", err)
	}
	if got := recent.SupportedInterfaces[0]; got.ProtocolVersion != v1.Version || got.URL != "https://a.example/" {
		t.Errorf("a2a-go v2 prefers %+v", got)
	}
	if _, ok := recent.SecuritySchemes["bearer"].(v1.HTTPAuthSecurityScheme); !ok {
		t.Errorf("a2a-go v2 reads schemes %+v", recent.SecuritySchemes)
	}

	var old v0.AgentCard
	if err := json.Unmarshal(union, &old); err != nil {
		t.Fatalf("a2a-go v0.3: %v", err)
	}
	if old.URL != "https://a.example/" || old.ProtocolVersion != "0.3.0" || !old.Capabilities.Streaming {
		t.Errorf("a2a-go v0.3 reads %+v", old)
	}
	if _, ok := old.SecuritySchemes["bearer"].(v0.HTTPAuthSecurityScheme); !ok {
		t.Errorf("a2a-go v0.3 reads schemes %+v", old.SecuritySchemes)
	}

	compat, err := a2av0.NewAgentCardParser()(union)
	if err != nil {
		t.Fatalf("a2a-go v2 with 0.3 compatibility: %v", err)
	}
	if len(compat.SupportedInterfaces) == 0 {
		t.Error("a2a-go v2 with 0.3 compatibility finds no interface")
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
}
