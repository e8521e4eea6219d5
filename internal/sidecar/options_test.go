// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecarconfig"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	o := &Options{}
	flags := pflag.NewFlagSet("sidecar", pflag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAddresses(t *testing.T) {
	standalone := []string{"--backend-url", "http://127.0.0.1:9000", "--card", "card.yaml", "--anonymous"}
	tests := map[string]struct {
		args []string
		want [3]string
	}{
		"standalone":          {standalone, [3]string{"127.0.0.1:8080", "", ""}},
		"standalone, health":  {append(standalone, "--listen", ":1", "--health-listen", ":2"), [3]string{":1", ":2", ""}},
		"profiling":           {append(standalone, "--profiling", "--health-listen", ":2"), [3]string{"127.0.0.1:8080", ":2", ""}},
		"profiling in a pod":  {[]string{"--config", "f", "--profiling"}, [3]string{":8641", ":8642", "127.0.0.1:8643"}},
		"in a pod":            {[]string{"--config", "f"}, [3]string{":8641", ":8642", "127.0.0.1:8643"}},
		"in a pod, all given": {[]string{"--config", "f", "--listen", ":1", "--health-listen", ":2", "--gateway-listen", "localhost:3"}, [3]string{":1", ":2", "localhost:3"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := parse(t, test.args...)
			if err := o.Validate(); err != nil {
				t.Fatalf("Validate() error = %v", err)
			}
			addresses := o.addresses()
			if diff := cmp.Diff(test.want, [3]string{addresses.Agent, addresses.Health, addresses.Gateway}); diff != "" {
				t.Errorf("addresses() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateNamesTheFlag(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"nothing":                               {nil, []string{"--backend-url is required", "--card is required", "--jwt-issuer, --api-keys, --mtls-ca-bundle or --anonymous is required"}},
		"protocol":                              {[]string{"--config", "f", "--backend-protocol", "events"}, []string{`--backend-protocol is "events", must be one of ["Events" "A2A" "ChatCompletions"]`}},
		"interruption":                          {[]string{"--config", "f", "--on-interruption", "retry"}, []string{`--on-interruption is "retry", must be one of ["Fail" "Retry"]`}},
		"flags of A2A without the protocol A2A": {[]string{"--backend-url", "http://x", "--card", "c", "--anonymous", "--backend-a2a-query", "a=b"}, []string{"--backend-a2a-version, --backend-a2a-card-path and --backend-a2a-query need --backend-protocol A2A"}},
		"flags of A2A with invalid values": {[]string{"--config", "f", "--backend-a2a-version", "1", "--backend-a2a-card-path", "card", "--backend-a2a-query", "?a"}, []string{
			`--backend-a2a-version is "1", must be one of ["0.1" "0.2" "0.3" "1.0"]`,
			`--backend-a2a-card-path is "card", must be the path of a URL`,
			`--backend-a2a-query is "?a", must be the query of a URL`,
		}},
		"flags of chat without the protocol ChatCompletions": {[]string{"--backend-url", "http://x", "--card", "c", "--anonymous", "--chat-model", "m"}, []string{"--chat-header need --backend-protocol ChatCompletions"}},
		"no audience":                       {[]string{"--config", "f", "--jwt-issuer", "https://a"}, []string{"--jwt-issuer and --jwt-audience need each other"}},
		"no issuer":                         {[]string{"--config", "f", "--jwt-audience", "a"}, []string{"--jwt-issuer and --jwt-audience need each other"}},
		"listen":                            {[]string{"--config", "f", "--listen", "8080"}, []string{`--listen is "8080"`}},
		"binding":                           {[]string{"--config", "f", "--binding", "HTTP+JSON"}, []string{`--binding is "HTTP+JSON", must be JSONRPC, HTTPJSON or GRPC`}},
		"binding twice":                     {[]string{"--config", "f", "--binding", "GRPC", "--binding", "GRPC"}, []string{"--binding names GRPC twice: name each binding once"}},
		"base URL without a scheme":         {[]string{"--config", "f", "--base-url", "agent.example.com"}, []string{`--base-url is "agent.example.com", must be an http or https URL without a user, a query and a fragment`}},
		"base URL with a query":             {[]string{"--config", "f", "--base-url", "https://a.example/?x"}, []string{`--base-url is "https://a.example/?x"`}},
		"card profile":                      {[]string{"--config", "f", "--card-profile", "v1"}, []string{`--card-profile is "v1", must be Union or V1`}},
		"error profile":                     {[]string{"--config", "f", "--error-profile", "1"}, []string{`--error-profile is "1", must be 1.0.1 or 1.0.0`}},
		"deduplication":                     {[]string{"--config", "f", "--message-deduplication", "11m"}, []string{`--message-deduplication is "11m", must be a duration from 0s to 10m`}},
		"context replies":                   {[]string{"--config", "f", "--context-replies", "x"}, []string{`--context-replies is "x", must be NewTask or ContinuePaused`}},
		"profiling":                         {[]string{"--backend-url", "http://x", "--card", "c", "--anonymous", "--profiling"}, []string{"--profiling needs --health-listen"}},
		"gateway at all addresses":          {[]string{"--config", "f", "--gateway-listen", ":8643"}, []string{"--gateway-listen", "loopback"}},
		"gateway at the address of the pod": {[]string{"--config", "f", "--gateway-listen", "10.0.0.1:8643"}, []string{"--gateway-listen", "loopback"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, test.args...).Validate()
			if err == nil {
				t.Fatal("Validate() = nil")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate() error = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// TestProtocolFlags checks that flags take precedence over the configuration.
func TestProtocolFlags(t *testing.T) {
	o := parse(t, "--card", "card.yaml", "--card-profile", "V1", "--error-profile", "1.0.0", "--version-check", "Strict", "--finished-tasks", "Restart",
		"--message-deduplication", "5m", "--context-replies", "ContinuePaused",
		"--card-signing-key", "a,b.pem", "--card-signing-key", "c.pem")
	if diff := cmp.Diff([]string{"a,b.pem", "c.pem"}, o.CardSigningKeys); diff != "" {
		t.Errorf("CardSigningKeys (-want +got):\n%s", diff)
	}
	o.CardFile = ""
	c := &sidecarconfig.Config{}
	if err := o.override(c); err != nil {
		t.Fatal(err)
	}
	window := sidecarconfig.Duration(5 * time.Minute)
	want := sidecarconfig.ProtocolOptions{CardProfile: card.ProfileV1, ErrorProfile: "1.0.0", StrictVersion: true, RestartTasks: true, MessageDeduplication: &window, ContextReplies: sidecarconfig.ContextRepliesContinuePaused}
	if diff := cmp.Diff(want, c.ProtocolOptions); diff != "" {
		t.Errorf("ProtocolOptions (-want +got):\n%s", diff)
	}
}

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
	page, err := os.ReadFile("../../docs/reference/standalone.md")
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

func TestBase(t *testing.T) {
	tests := map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"0.0.0.0:80":     "http://127.0.0.1:80",
		"[::]:8641":      "http://127.0.0.1:8641",
		"[::1]:8641":     "http://[::1]:8641",
	}
	for address, want := range tests {
		tcp, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Options{}).ownBase(tcp); got != want {
			t.Errorf("ownBase(%s) = %s, want %s", address, got, want)
		}
	}
}

func TestBackendAddress(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:9000": "127.0.0.1:9000", "http://127.0.0.1:9000/a/b": "127.0.0.1:9000",
		"http://agent": "agent:80", "http://[::1]:1/x": "[::1]:1", "http://[::1]/": "[::1]:80",
	} {
		if got := dialAddress(url); got != want {
			t.Errorf("dialAddress(%s) = %s, want %s", url, got, want)
		}
	}
}
