// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func TestParseCard(t *testing.T) {
	got, err := parseCard([]byte(`
displayName: Echo
description: >
  Says it
  again
version: 1.10
provider: {organization: Example, url: https://example.com}
extensions:
  - uri: urn:x
    required: true
    params: {a: [1, {b: null}]}
defaultInputModes: [text/plain]
skills:
  - id: echo
    name: Echo
    description: Says it again
    tags: [demo, "1"]
    security: [{oauth: [read]}]
    visibility: Extended
securitySchemes:
  - name: oauth
    type: oauth2
    flow: {type: clientCredentials, tokenUrl: https://id.example/token, scopes: {read: Read all}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &card.Card{
		Name: "Echo", Description: "Says it again\n", Version: "1.10",
		Provider: &card.Provider{Organization: "Example", URL: "https://example.com"},
		Capabilities: card.Capabilities{Extensions: []card.Extension{
			{URI: "urn:x", Required: true, Params: card.RawObject(`{"a":[1,{"b":null}]}`)},
		}},
		DefaultInputModes: []string{"text/plain"},
		Skills: []card.Skill{{
			ID: "echo", Name: "Echo", Description: "Says it again", Tags: []string{"demo", "1"},
			Security: []card.Requirement{{"oauth": {"read"}}}, Extended: true,
		}},
		SecuritySchemes: []card.SecurityScheme{{
			Name: "oauth", Type: card.SchemeOAuth2, Flow: &card.OAuthFlow{
				Type: card.FlowClientCredentials, TokenURL: "https://id.example/token", Scopes: map[string]string{"read": "Read all"},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parseCard() (-want +got):\n%s", diff)
	}
	if got, err := parseCard([]byte(`{"displayName":"JSON","version":"1"}`)); err != nil || got.Name != "JSON" {
		t.Errorf("parseCard() of JSON = %+v, %v", got, err)
	}
}

// TestStandalonePage checks that docs/reference/standalone.md lists the fields of the card file.
func TestStandalonePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/standalone.md")
	if err != nil {
		t.Fatal(err)
	}
	for field := range jsonFields(reflect.TypeFor[cardFile]()) {
		if !strings.Contains(string(page), "\n| `"+field+"` |") {
			t.Errorf("docs/reference/standalone.md does not list the field %s", field)
		}
	}
}

func TestParseCardNamesTheLine(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"unknown key":       {"displayName: x\ncolour: red", `line 2: unknown key "colour" in card; known are defaultInputModes, defaultOutputModes, description, displayName`},
		"unknown key below": {"displayName: x\nskills:\n  - id: a\n    title: b", `line 4: unknown key "title" in skills[0]; known are description, examples, id, inputModes`},
		"case":              {"DisplayName: x", `line 1: unknown key "DisplayName"`},
		"list":              {"displayName: x\nskills: none", "line 2: skills must be a list"},
		"mapping":           {"displayName: x\nprovider: [a]", "line 2: provider must be a mapping"},
		"scalar":            {"displayName: {a: b}", "line 1: displayName must be a single value"},
		"bool":              {"displayName: x\nextensions: [{uri: u, required: maybe}]", "line 2: required must be true or false"},
		"params":            {"displayName: x\nextensions: [{uri: u, params: 3}]", "line 2: params must be a mapping"},
		"no YAML":           {"displayName: [", "line 1"},
		"empty":             {"", "file is empty"},
		"no name":           {"version: 1", "displayName is required"},
		"skill":             {"displayName: x\nskills: [{name: a}]", "skills[0]: id and name are required"},
		"map":               {"displayName: x\nskills:\n  - security: [none]", "line 3: security[0] must be a mapping"},
		"key twice":         {"displayName: x\nskills:\n  - security:\n    - a: []\n      a: []", `line 5: key "a" is in security[0] twice`},
		"scheme":            {"displayName: x\nsecuritySchemes: [{name: a, type: bearer}]", `securitySchemes[0]: type is "bearer", must be`},
		"flow":              {"displayName: x\nsecuritySchemes: [{name: a, type: oauth2}]", "securitySchemes[0]: flow is required"},
		"flow type":         {"displayName: x\nsecuritySchemes: [{name: a, type: oauth2, flow: {type: code}}]", `securitySchemes[0]: flow.type is "code", must be`},
		"API key":           {"displayName: x\nsecuritySchemes: [{name: a, type: apiKey, in: body}]", `securitySchemes[0]: in is "body", must be header, query or cookie`},
		"requirement":       {"displayName: x\nskills: [{id: a, name: b, security: [{c: []}]}]", `skills[0]: security names "c": add it to securitySchemes`},
		"visibility":        {"displayName: x\nskills: [{id: a, name: b, visibility: Hidden}]", `skills[0]: visibility is "Hidden", must be Public or Extended`},
		"bindings":          {"displayName: x\nprotocol: {bindings: [HTTP+JSON, GRPC, GRPC]}", `protocol.bindings[2] repeats GRPC`},
		"twice":             {"displayName: x\ndisplayName: y", `"displayName"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := parseCard([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("parseCard() error = %v, want %q", err, test.want)
			}
		})
	}
}
