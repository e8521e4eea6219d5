// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"encoding/json"
	"fmt"
	"testing"

	v0 "github.com/a2aproject/a2a-go/a2a"
	pb0 "github.com/a2aproject/a2a-go/a2apb"
	v1 "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	pb1 "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/test/spec"
)

// fullCard returns a card with each kind of security scheme, each flow, and all optional
// members.
func fullCard() *card.Card {
	c := example()
	c.Interfaces = []card.Interface{
		{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "1.0"},
		{URL: "https://a.example", Binding: card.HTTPJSON, ProtocolVersion: "1.0"},
		{URL: "a.example:443", Binding: card.GRPC, ProtocolVersion: "1.0"},
		{URL: "https://a.example/", Binding: card.JSONRPC, ProtocolVersion: "0.3"},
		{URL: "https://a.example", Binding: card.HTTPJSON, ProtocolVersion: "0.3"},
		{URL: "a.example:443", Binding: card.GRPC, ProtocolVersion: "0.3"},
	}
	c.Capabilities.PushNotifications = true
	c.Capabilities.ExtendedCard = true
	c.Capabilities.Extensions = append(c.Capabilities.Extensions, card.Extension{URI: "urn:required", Required: true})
	c.Skills[0].InputModes = []string{"text/plain"}
	c.Skills[0].OutputModes = []string{"text/plain"}
	c.Skills[0].Security = []card.Requirement{{"oauth-authorizationCode": {"read"}, "bearer": nil}}
	c.Skills[1].Tags = []string{"größer", "日本"}
	c.SecuritySchemes = append(c.SecuritySchemes,
		card.SecurityScheme{Name: "key", Type: card.SchemeAPIKey, In: "header", ParameterName: "X-API-Key"},
		card.SecurityScheme{Name: "oidc", Type: card.SchemeOpenIDConnect, OpenIDConnectURL: "https://id.example/.well-known/openid-configuration", Scopes: []string{"openid"}},
	)
	for _, flow := range []card.FlowType{card.FlowAuthorizationCode, card.FlowClientCredentials, card.FlowImplicit, card.FlowPassword, card.FlowDeviceCode} {
		f := &card.OAuthFlow{Type: flow, RefreshURL: "https://id.example/refresh", Scopes: map[string]string{"read": "Read all"}}
		switch flow {
		case card.FlowAuthorizationCode:
			f.AuthorizationURL, f.TokenURL, f.PKCERequired = "https://id.example/authorize", "https://id.example/token", true
		case card.FlowImplicit:
			f.AuthorizationURL = "https://id.example/authorize"
		case card.FlowDeviceCode:
			f.DeviceAuthorizationURL, f.TokenURL = "https://id.example/device", "https://id.example/token"
		default:
			f.TokenURL = "https://id.example/token"
		}
		c.SecuritySchemes = append(c.SecuritySchemes, card.SecurityScheme{
			Name: "oauth-" + string(flow), Type: card.SchemeOAuth2, Flow: f, MetadataURL: "https://id.example/.well-known/oauth-authorization-server", Scopes: []string{"read"},
		})
	}
	return c
}

// withMutualTLS adds a mutual TLS scheme, the only type that 0.2 does not have.
func withMutualTLS(c *card.Card) *card.Card {
	c.SecuritySchemes = append(c.SecuritySchemes, card.SecurityScheme{Name: "mtls", Type: card.SchemeMutualTLS, Description: "A certificate"})
	return c
}

func cards() map[string]*card.Card {
	return map[string]*card.Card{
		"example":  example(),
		"every":    fullCard(),
		"mtls":     withMutualTLS(fullCard()),
		"extended": fullCard().Extended(),
		"least":    {Name: "n", Description: "d", Version: "0", Interfaces: example().Interfaces},
	}
}

func TestWire18_CardSchemas(t *testing.T) {
	signature := card.Signature{Protected: "eyJhbGciOiJFUzI1NiJ9", Signature: "c2ln"}
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			readers := map[string]card.Form{
				"v0.1.0": card.FormUnion, "v0.2.6": card.FormUnion, "v0.3.0": card.FormUnion, "v1.0.1": card.FormV10,
			}
			if name == "mtls" {
				delete(readers, "v0.2.6")
			}
			for version, form := range readers {
				if err := spec.Validate(version, "AgentCard", render(t, c, form, signature)); err != nil {
					t.Error(err)
				}
			}
			if err := spec.Validate("v0.3.0", "AgentCard", render(t, c, card.FormV03, signature)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWire18_PureCards decodes the forms that are ProtoJSON with their protos. This
// decoding rejects unknown members.
func TestWire18_PureCards(t *testing.T) {
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			var d pb1.AgentCard
			if err := protojson.Unmarshal(render(t, c, card.FormV10, card.Signature{Protected: "p", Signature: "s"}), &d); err != nil {
				t.Errorf("lf.a2a.v1: %v", err)
			}
			if len(d.GetSecuritySchemes()) != len(c.SecuritySchemes) || len(d.GetSecurityRequirements()) != len(c.SecuritySchemes) || len(d.GetSignatures()) != 1 {
				t.Errorf("lf.a2a.v1 reads %v", &d)
			}
			for name, s := range d.GetSecuritySchemes() {
				if s.GetScheme() == nil {
					t.Errorf("lf.a2a.v1 reads nothing of scheme %s", name)
				}
			}
			// The AgentCard message of 0.3.0 has no field for the icon.
			plain := *c
			plain.IconURL = ""
			var old pb0.AgentCard
			if err := protojson.Unmarshal(render(t, &plain, card.FormV03Proto), &old); err != nil {
				t.Errorf("a2a.v1: %v", err)
			}
			if len(old.GetSecuritySchemes()) != len(c.SecuritySchemes) || len(old.GetSecurity()) != len(c.SecuritySchemes) {
				t.Errorf("a2a.v1 reads %v", &old)
			}
		})
	}
}

func TestWire18_OfficialClientsReadTheUnion(t *testing.T) {
	for name, c := range cards() {
		t.Run(name, func(t *testing.T) {
			union := render(t, c, card.FormUnion, card.Signature{Protected: "p", Signature: "s"})

			var recent v1.AgentCard
			if err := json.Unmarshal(union, &recent); err != nil {
				t.Fatalf("a2a-go v2: %v", err)
			}
			if got := recent.SupportedInterfaces[0]; got.ProtocolVersion != v1.Version || got.URL != "https://a.example/" {
				t.Errorf("a2a-go v2 prefers %+v", got)
			}
			for _, s := range c.SecuritySchemes {
				if got := fmt.Sprintf("%T", recent.SecuritySchemes[v1.SecuritySchemeName(s.Name)]); got != wantSchemes[s.Type] {
					t.Errorf("a2a-go v2 reads scheme %s as %s", s.Name, got)
				}
			}

			var old v0.AgentCard
			if err := json.Unmarshal(union, &old); err != nil {
				t.Fatalf("a2a-go v0.3: %v", err)
			}
			if old.URL != "https://a.example/" || old.ProtocolVersion != "0.3.0" || old.Capabilities.Streaming != c.Capabilities.Streaming {
				t.Errorf("a2a-go v0.3 reads %+v", old)
			}
			for _, s := range c.SecuritySchemes {
				if got := fmt.Sprintf("%T", old.SecuritySchemes[v0.SecuritySchemeName(s.Name)]); got != wantSchemes[s.Type] {
					t.Errorf("a2a-go v0.3 reads scheme %s as %s", s.Name, got)
				}
			}

			// The official Java client decodes FormUnion as ProtoJSON.
			var java pb1.AgentCard
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(union, &java); err != nil {
				t.Fatalf("lf.a2a.v1: %v", err)
			}
			if len(java.GetSecurityRequirements()) != len(c.SecuritySchemes) {
				t.Errorf("lf.a2a.v1 reads the requirements %v", java.GetSecurityRequirements())
			}
			for i, s := range java.GetSkills() {
				if len(s.GetSecurityRequirements()) != len(c.Skills[i].Security) {
					t.Errorf("lf.a2a.v1 reads the requirements %v of a skill", s.GetSecurityRequirements())
				}
			}

			compat, err := a2av0.NewAgentCardParser()(union)
			if err != nil {
				t.Fatalf("a2a-go v2 with 0.3 compatibility: %v", err)
			}
			if len(compat.SupportedInterfaces) != len(c.Interfaces) {
				t.Errorf("a2a-go v2 with 0.3 compatibility finds %d interfaces", len(compat.SupportedInterfaces))
			}
		})
	}
}

var wantSchemes = map[card.SchemeType]string{
	card.SchemeHTTP: "a2a.HTTPAuthSecurityScheme", card.SchemeAPIKey: "a2a.APIKeySecurityScheme",
	card.SchemeOAuth2: "a2a.OAuth2SecurityScheme", card.SchemeOpenIDConnect: "a2a.OpenIDConnectSecurityScheme",
	card.SchemeMutualTLS: "a2a.MutualTLSSecurityScheme",
}

func TestInterfaces(t *testing.T) {
	tests := map[string]struct {
		base     card.Base
		bindings []card.Binding
		want     []card.Interface
	}{
		// A card lists gRPC only if the Agent lists this binding, because the address of gRPC
		// is not a URL below the base.
		"default": {card.NewBase("http://a.svc/"), nil, []card.Interface{{URL: "http://a.svc/", Binding: card.JSONRPC}, {URL: "http://a.svc", Binding: card.HTTPJSON}}},
		"in order": {card.NewBase("https://a.example"), []card.Binding{card.GRPC, card.HTTPJSON, card.JSONRPC}, []card.Interface{
			{URL: "a.example:443", Binding: card.GRPC}, {URL: "https://a.example", Binding: card.HTTPJSON}, {URL: "https://a.example/", Binding: card.JSONRPC},
		}},
		"one": {card.NewBase("http://a:8080"), []card.Binding{card.GRPC}, []card.Interface{{URL: "a:8080", Binding: card.GRPC}}},
		"address": {card.NewBase("https://[::1]"), card.Bindings, []card.Interface{
			{URL: "https://[::1]/", Binding: card.JSONRPC}, {URL: "https://[::1]", Binding: card.HTTPJSON}, {URL: "[::1]:443", Binding: card.GRPC},
		}},
		// A route with a path cannot carry gRPC.
		"a path": {card.NewBase("https://a.example/team"), card.Bindings, []card.Interface{
			{URL: "https://a.example/team/", Binding: card.JSONRPC}, {URL: "https://a.example/team", Binding: card.HTTPJSON},
		}},
		"only gRPC, which a path cannot have": {card.NewBase("https://a.example/team"), []card.Binding{card.GRPC}, []card.Interface{
			{URL: "https://a.example/team/", Binding: card.JSONRPC}, {URL: "https://a.example/team", Binding: card.HTTPJSON},
		}},
		"gRPC at its own address": {card.Base{URL: "https://a.example/team/", GRPC: "grpc.example:443"}, []card.Binding{card.GRPC}, []card.Interface{{URL: "grpc.example:443", Binding: card.GRPC}}},
	}
	for name, test := range tests {
		var want []card.Interface
		for _, version := range []string{"1.0", "0.3"} {
			for _, i := range test.want {
				i.ProtocolVersion = version
				want = append(want, i)
			}
		}
		if diff := cmp.Diff(want, test.base.Interfaces(test.bindings)); diff != "" {
			t.Errorf("%s: Interfaces() (-want +got):\n%s", name, diff)
		}
	}
}

// TestHostsOfABase checks which values of the Host header belong to a base.
func TestHostsOfABase(t *testing.T) {
	for address, want := range map[string][]string{
		"https://A.example/team/": {"a.example:443", "a.example"},
		"http://a.svc/":           {"a.svc:80", "a.svc", "a.svc:80", "a.svc"},
		"http://[::1]:8080":       {"[::1]:8080", "[::1]:8080", "[::1]:8080"},
		"https://[::1]/x":         {"[::1]:443", "[::1]"},
		"nonsense":                nil,
	} {
		if diff := cmp.Diff(want, card.NewBase(address).Hosts()); diff != "" {
			t.Errorf("Hosts() of %s (-want +got):\n%s", address, diff)
		}
	}
}

// TestHostNamesWithoutPort checks which values of the Host header belong to a base if a
// proxy omits the port.
func TestHostNamesWithoutPort(t *testing.T) {
	for base, want := range map[card.Base][]string{
		card.NewBase("https://A.example:8443/team/"):          {"a.example"},
		card.NewBase("http://a.svc/"):                         {"a.svc"},
		card.NewBase("http://[::1]:8080"):                     {"[::1]"},
		{URL: "https://a.example/", GRPC: "grpc.example:443"}: {"a.example", "grpc.example"},
		{URL: "nonsense"}:                                     nil,
	} {
		if diff := cmp.Diff(want, base.HostNames()); diff != "" {
			t.Errorf("HostNames() of %s (-want +got):\n%s", base.URL, diff)
		}
	}
}

func TestCheckBindings(t *testing.T) {
	for want, bindings := range map[string][]card.Binding{
		"": card.Bindings,
		`bindings[1] repeats "GRPC": name each binding once`:                       {card.GRPC, card.GRPC},
		`bindings[0] is "HTTPJSON", must be one of ["JSONRPC" "HTTP+JSON" "GRPC"]`: {"HTTPJSON"},
	} {
		got := ""
		if err := (&card.Card{Bindings: bindings}).CheckBindings(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("CheckBindings(%q) = %q, want %q", bindings, got, want)
		}
	}
}

// TestOptionalSecurityListsSchemesAndRequiresNone checks the card of an agent that admits
// anonymous callers and serves more to authenticated callers.
func TestOptionalSecurityListsSchemesAndRequiresNone(t *testing.T) {
	c := example()
	c.SecurityOptional = true
	for form := range card.Forms {
		var got map[string]any
		if err := json.Unmarshal(render(t, c, card.Form(form)), &got); err != nil {
			t.Fatal(err)
		}
		if schemes, _ := got["securitySchemes"].(map[string]any); len(schemes) != len(c.SecuritySchemes) {
			t.Errorf("form %d has the schemes %v", form, schemes)
		}
		for _, name := range []string{"security", "securityRequirements", "security_requirements", "authentication"} {
			if got[name] != nil {
				t.Errorf("form %d asks for %s", form, name)
			}
		}
	}
}
