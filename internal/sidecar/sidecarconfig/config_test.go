// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

// full returns a configuration in which every member is set, so that the golden file
// shows the whole format.
func full() *Config {
	return &Config{
		Version:     Version,
		Agent:       Agent{Namespace: "demo", Name: "echo"},
		EgressProxy: &EgressProxy{URL: "http://proxy.example:3128", NoProxy: []string{"direct.example"}, ClusterDomain: "cluster.local"},
		Card: card.Card{
			Name: "Echo", Description: "Says <it> back.", Version: "1.0.0",
			Provider:     &card.Provider{Organization: "Example", URL: "https://example.com"},
			IconURL:      "https://example.com/i.png",
			Interfaces:   []card.Interface{{URL: "http://echo.demo.svc/", Binding: card.JSONRPC, ProtocolVersion: "1.0"}},
			Capabilities: card.Capabilities{Streaming: true, Extensions: []card.Extension{{URI: "https://example.com/e", Params: card.RawObject(`{"a":1}`)}}},
			Skills:       []card.Skill{{ID: "echo", Name: "Echo", Description: "Echoes.", Tags: []string{"text"}, Security: []card.Requirement{{"oauth": {"read"}}}, Extended: true}},
			SecuritySchemes: []card.SecurityScheme{{
				Name: "oauth", Type: card.SchemeOAuth2, Scopes: []string{"read"}, MetadataURL: "https://example.com/oauth",
				Flow: &card.OAuthFlow{Type: card.FlowClientCredentials, TokenURL: "https://example.com/token", Scopes: map[string]string{"read": "Read"}},
			}},
		},
		CardSigning:     CardSigning{JWKSURL: "https://example.com/jwks.json"},
		ProtocolOptions: ProtocolOptions{CardProfile: card.ProfileV1, ErrorProfile: ErrorProfile100, StrictVersion: true, RestartTasks: true},
		Backend: Backend{
			Protocol: ProtocolEvents, URL: "http://127.0.0.1:8080/",
			Timeouts: Timeouts{Connect: Duration(5 * time.Second), FirstEvent: Duration(2 * time.Minute), Idle: Duration(5 * time.Minute), Turn: Duration(time.Hour)},

			OnInterruption: InterruptionRetry,
		},
		Tasks: Tasks{Retention: Duration(time.Hour), MaxTasks: 10000, MaxBytes: 1 << 26},
		Access: Access{
			Delegation: DelegationRequire,
			Authentication: []Authentication{
				{Type: AuthenticationKubernetes, Kubernetes: &KubernetesAuthentication{
					Issuer: "https://issuer", Audiences: []string{"echo.demo.a2a-operator.dev"}, Keys: json.RawMessage(`{"keys":[]}`),
				}},
				{Type: AuthenticationJWT, JWT: &JWTAuthentication{
					Issuer: "https://login.example", Audiences: []string{"echo"}, JWKSURL: "https://login.example/keys",
					PrincipalClaim: "client_id", NamespaceClaim: "ns", OwnerClaim: "tenant_id",
					RequiredScopes: []string{"call"}, SkillScopes: map[string][]string{"greet": {"write"}}, Scopes: map[string]string{"call": "Call it"},
					Flows: []card.OAuthFlow{{Type: card.FlowClientCredentials, TokenURL: "https://login.example/token"}},
				}},
				{Type: AuthenticationAnonymous},
				{Type: AuthenticationAPIKey, APIKey: &APIKeyAuthentication{Query: "api_key"}},
				{Type: AuthenticationMTLS, MTLS: &MTLSAuthentication{Subject: true, Principals: []string{"CN=a"}}},
			},
			Namespaces: []string{"demo"},
			CORS:       &CORS{AllowedOrigins: []string{"https://app.example.com"}},
			Authorization: &Authorization{Rules: []Rule{{
				Name: "partners", Action: ActionAllow, Namespaces: []string{"partners"}, Principals: []string{"system:anonymous"},
				Methods: []string{"GetTask"}, Skills: []string{"echo"}, Expression: &Expression{Text: "true", Checked: []byte("checked")},
			}}},
		},
		Decisions: &Decisions{
			Approvers: []Expression{{Text: "true", Checked: []byte("checked")}},
			Page:      &DecisionPage{URL: "https://agents.example.com/approvals/demo/echo", Issuer: "https://login.example.com", Audience: "echo.demo.a2a-operator.dev", Keys: json.RawMessage(`{"keys":[]}`)},
		},
		Gateway: &Gateway{RegistryURL: "http://registry", AgentURL: "http://{name}.{namespace}.svc", TokenFile: "/token"},
		PushNotifications: &PushNotifications{
			AllowedTargets: []PushTarget{
				{Service: &PushService{Name: "hooks", Namespace: "demo"}}, {Namespace: "shared"}, {Host: "*.example.com"}, {CIDR: "203.0.113.0/24"},
			},
			ClusterDomain: "cluster.local",
		},
		Drain: Drain{GracePeriod: Duration(time.Minute)},
		Limits: Limits{
			Requests:      Rate{PerSecond: 50, Burst: 60},
			TotalRequests: Rate{PerSecond: 100, Burst: 120}, FailedAuthentications: Rate{PerSecond: 1, Burst: 10},
			Turns:   TurnLimits{Max: 16, MaxPerCaller: 4, MaxQueued: 32, QueueTimeout: Duration(20 * time.Second)},
			Streams: StreamLimits{Max: 64, MaxPerCaller: 8}, Tokens: TokenBudgets{PerHour: 2_000_000, PerCallerPerHour: 200_000}, MaxBodyBytes: 1 << 20,
		},
	}
}

// The golden file defines the format. A sidecar keeps its present configuration if the
// new one has an unknown member, because ignoring a member could ignore an access rule. A
// change of meaning needs a new Version.
func TestGolden(t *testing.T) {
	got, err := Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "full.json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("Encode() (-want +got):\n%s", diff)
	}
}

func TestRoundTrip(t *testing.T) {
	encoded, err := Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(decoded)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(encoded) {
		t.Errorf("Encode(Decode(x)) = %s\nwant %s", again, encoded)
	}
	if a, b := Digest(encoded), Digest(append(encoded, ' ')); a == b || len(a) != 16 {
		t.Errorf("Digest() = %q and %q, want 16 digits that follow the content", a, b)
	}
}

func TestDecodeRefuses(t *testing.T) {
	valid, err := Encode(full())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"no JSON":        {text: "{", want: "decode sidecar configuration"},
		"unknown member": {text: strings.Replace(string(valid), `"tasks"`, `"Tusks"`, 1), want: "Tusks"},
		"data behind":    {text: string(valid) + "{}", want: "after the end"},
		"a number of seconds": {
			text: strings.Replace(string(valid), `"gracePeriod": "1m0s"`, `"gracePeriod": 60`, 1),
			want: `must be a string such as "30s"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Decode() error = %v, want one that says %q", err, test.want)
			}
		})
	}
	if _, err := Decode(make([]byte, MaxSize+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Decode() error = %v, want ErrTooLarge", err)
	}
	large := full()
	large.Card.Description = strings.Repeat("x", MaxSize)
	if _, err := Encode(large); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Encode() error = %v, want ErrTooLarge", err)
	}
}

// A card that is far too large is refused again whenever one of its skills changes, so
// the refusal must be cheap.
func TestRefusalOfAMuchTooLargeCardIsCheap(t *testing.T) {
	schema := func(text string) card.RawObject { return card.RawObject(`{"description":"` + text + `"}`) }
	for name, skill := range map[string]card.Skill{
		"descriptions":   {Description: strings.Repeat("x", 64<<10)},
		"examples":       {Examples: slices.Repeat([]string{strings.Repeat("x", 1<<10)}, 64)},
		"input schemas":  {InputSchema: schema(strings.Repeat("x", 64<<10))},
		"output schemas": {OutputSchema: schema(strings.Repeat("x", 64<<10))},
	} {
		large := full()
		large.Card.Skills = slices.Repeat([]card.Skill{skill}, 160)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Encode(large)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: Encode() error = %v, want ErrTooLarge", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%s: Encode() of 10 MB allocates %d bytes", name, got)
		}
	}
	// White space in a schema does not count toward the size.
	spacious := full()
	spacious.Card.Skills[0].InputSchema = card.RawObject(`{` + strings.Repeat(" ", MaxSize) + `}`)
	if _, err := Encode(spacious); err != nil {
		t.Errorf("Encode() of a schema with much space in it: %v", err)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*Config){
		"version":                      func(c *Config) { c.Version = "v0" },
		"card.name":                    func(c *Config) { c.Card.Name = "" },
		"protocolOptions.cardProfile":  func(c *Config) { c.ProtocolOptions.CardProfile = "v1" },
		"protocolOptions.errorProfile": func(c *Config) { c.ProtocolOptions.ErrorProfile = "1.0" },
		"protocolOptions.messageDeduplication": func(c *Config) {
			window := Duration(11 * time.Minute)
			c.ProtocolOptions.MessageDeduplication = &window
		},
		"protocolOptions.contextReplies":  func(c *Config) { c.ProtocolOptions.ContextReplies = "Continue" },
		"cardSigning.jwksUrl":             func(c *Config) { c.CardSigning.JWKSURL = "http://example.com/keys" },
		"backend.protocol":                func(c *Config) { c.Backend.Protocol = "Telnet" },
		"backend.onInterruption":          func(c *Config) { c.Backend.OnInterruption = "retry" },
		"backend.a2a":                     func(c *Config) { c.Backend.A2A.Query = "k=v" },
		"backend.a2a.version":             func(c *Config) { c.Backend.Protocol, c.Backend.A2A.Version = ProtocolA2A, "1" },
		"backend.a2a.cardPath":            func(c *Config) { c.Backend.Protocol, c.Backend.A2A.CardPath = ProtocolA2A, "/card?x" },
		"backend.a2a.query":               func(c *Config) { c.Backend.Protocol, c.Backend.A2A.Query = ProtocolA2A, "a b" },
		"backend.url":                     func(c *Config) { c.Backend.URL = "ftp://agent" },
		"access.authentication[0]":        func(c *Config) { c.Access.Authentication[0].Kubernetes.Keys = nil },
		"access.authentication[1]":        func(c *Config) { c.Access.Authentication[1].JWT.Audiences = nil },
		"access.authentication[2]":        func(c *Config) { c.Access.Authentication[2].JWT = &JWTAuthentication{} },
		"access.authentication[3]":        func(c *Config) { c.Access.Authentication[3].APIKey.Header = "X-API-Key" },
		"access.authentication[3].apiKey": func(c *Config) { c.Access.Authentication[3].APIKey.Query = "pageToken" },
		"access.authentication[5]": func(c *Config) {
			c.Access.Authentication = append(c.Access.Authentication, c.Access.Authentication[3])
		},
		"access.authentication[4]":             func(c *Config) { c.Access.Authentication[4].MTLS.Principals = []string{""} },
		"access.cors.allowedOrigins[0]":        func(c *Config) { c.Access.CORS.AllowedOrigins[0] += "/" },
		"access.authentication[2].type":        func(c *Config) { c.Access.Authentication[2].Type = "Password" },
		"access.authentication[1].jwt.issuer":  func(c *Config) { c.Access.Authentication[1].JWT.Issuer = "http://login.example" },
		"access.authentication[1].jwt.jwksUrl": func(c *Config) { c.Access.Authentication[1].JWT.JWKSURL = "file:///keys" },
		"gateway":                              func(c *Config) { c.Gateway.RegistryURL = "" },
		"gateway.remoteAllow[1]":               func(c *Config) { c.Gateway.RemoteAllow = []string{"10.0.0.0/8", "10.0.0.1"} },
	} {
		t.Run(field, func(t *testing.T) {
			c := full()
			change(c)
			if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "sidecar configuration "+field+":") {
				t.Errorf("Validate() = %v, want it to begin with the field", err)
			}
		})
	}
	if err := full().Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
	speaks := full()
	speaks.Backend.Protocol = ProtocolA2A
	speaks.Backend.Model = Model{}
	speaks.Backend.A2A = A2A{Version: "0.3", CardPath: "/a%20b/card.json", Query: "assistant_id=1&x=%20?"}
	if err := speaks.Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
}

func TestPartsOfURLs(t *testing.T) {
	for text, want := range map[string][2]bool{
		"/a": {true, true}, "/": {true, true}, "/a%20b": {true, true}, "": {false, false}, "a": {false, true}, "/a?b": {false, true},
		"?a": {false, false}, "/a#b": {false, false}, "/a b": {false, false}, "/a\n": {false, false}, "/ä": {false, false}, "/%zz": {false, true},
		"//host/x": {true, true}, "@host/x": {false, true}, "/a?": {false, true},
	} {
		if path, query := PathOfURL(text), QueryOfURL(text); path != want[0] || query != want[1] {
			t.Errorf("PathOfURL(%q) = %t, QueryOfURL() = %t, want %t", text, path, query, want)
		}
	}
}

func TestDeclare(t *testing.T) {
	named := []Authentication{{Type: AuthenticationAnonymous}, {Type: AuthenticationKubernetes}}
	tests := map[string]struct {
		extended       bool
		authentication []Authentication
		want           bool
	}{
		"offered":                {true, named, true},
		"no such skill":          {false, named, false},
		"only anonymous callers": {true, named[:1], false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Config{Access: Access{Authentication: test.authentication}}
			c.Card.Skills = []card.Skill{{ID: "a"}, {ID: "b", Extended: test.extended}}
			c.Declare()
			if diff := cmp.Diff(card.Capabilities{Streaming: true, ExtendedCard: test.want}, c.Card.Capabilities); diff != "" {
				t.Errorf("Declare() (-want +got):\n%s", diff)
			}
			if c.PushNotifications = (&PushNotifications{}); !declared(c).PushNotifications {
				t.Error("push notifications are on, and not declared")
			}
			if c.PushNotifications = nil; declared(c).PushNotifications {
				t.Error("push notifications are off, and declared")
			}
		})
	}
}

func declared(c *Config) card.Capabilities {
	c.Declare()
	return c.Card.Capabilities
}

func TestDurationOr(t *testing.T) {
	if got := Duration(0).Or(time.Minute); got != time.Minute {
		t.Errorf("Or() of zero = %v", got)
	}
	if got := Duration(time.Second).Or(time.Minute); got != time.Second {
		t.Errorf("Or() = %v", got)
	}
}

// TestEffectiveLimits checks that missing limits are derived from the limits that are
// set.
func TestEffectiveLimits(t *testing.T) {
	want := Limits{
		Requests: Rate{PerSecond: 500, Burst: 1000}, TotalRequests: Rate{PerSecond: 2000, Burst: 4000},
		FailedAuthentications: Rate{PerSecond: 5, Burst: 50},
		Turns:                 TurnLimits{Max: 256, MaxPerCaller: 128, MaxQueued: 256, QueueTimeout: Duration(5 * time.Second)},
		Streams:               StreamLimits{Max: 2048, MaxPerCaller: 512}, MaxBodyBytes: 10 << 20,
	}
	if got := new(Limits).Effective(); got != want {
		t.Errorf("Effective() of none = %+v, want %+v", got, want)
	}
	some := Limits{Requests: Rate{PerSecond: 3}, Turns: TurnLimits{Max: 1}, Streams: StreamLimits{Max: 100}}
	if got := some.Effective(); got.Requests.Burst != 6 || got.Turns.MaxPerCaller != 1 || got.Streams.MaxPerCaller != 25 {
		t.Errorf("Effective() of some = %+v", got)
	}
	all := full().Limits
	if got := all.Effective(); got != all {
		t.Errorf("Effective() of all = %+v, want %+v", got, all)
	}
}
