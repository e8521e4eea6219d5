// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
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
			addresses := o.Addresses()
			if diff := cmp.Diff(test.want, [3]string{addresses.Agent, addresses.Health, addresses.Gateway}); diff != "" {
				t.Errorf("Addresses() (-want +got):\n%s", diff)
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
		"flags of A2A without the protocol A2A": {[]string{"--backend-url", "http://x", "--card", "c", "--anonymous", "--backend-a2a-query", "a=b"}, []string{"--backend-a2a-version, --backend-a2a-card-path, --backend-a2a-query and --backend-a2a-session-api need --backend-protocol A2A"}},
		"flags of A2A with invalid values": {[]string{"--config", "f", "--backend-a2a-version", "1", "--backend-a2a-card-path", "card", "--backend-a2a-query", "?a"}, []string{
			`--backend-a2a-version is "1", must be one of ["0.1" "0.2" "0.3" "1.0"]`,
			`--backend-a2a-card-path is "card", must be the path of a URL`,
			`--backend-a2a-query is "?a", must be the query of a URL`,
		}},
		"flags of chat without the protocol ChatCompletions": {[]string{"--backend-url", "http://x", "--card", "c", "--anonymous", "--model-name", "m"}, []string{"--mcp-server need --backend-protocol ChatCompletions"}},
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
		"host of a certificate":             {[]string{"--config", "f", "--client-certificate", "d", "--client-certificate-host", "*"}, []string{`--client-certificate-host names "*", must be a host such as`}},
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

// TestErrorsHaveOneOrder checks that the same mistakes always result in the same text.
func TestErrorsHaveOneOrder(t *testing.T) {
	o := Options{
		Listen: "x", HealthListen: "x", GatewayListen: "x",
		CardProfile: "x", ErrorProfile: "x", VersionCheck: "x", FinishedTasks: "x", ContextReplies: "x",
		Limits: []string{"requests.perSecond=-1", "totalRequests.perSecond=-1", "failedAuthentications.perSecond=-1", "tokens.perHour=-1", "tokens.perCallerPerHour=-1"},
	}
	want := o.Validate().Error()
	for range 20 {
		if got := o.Validate().Error(); got != want {
			t.Fatalf("Validate() = %q\nwas %q", got, want)
		}
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
