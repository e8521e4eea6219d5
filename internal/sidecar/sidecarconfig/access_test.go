// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecarconfig

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
)

func TestTwoIssuersAreOneScheme(t *testing.T) {
	access := Access{Authentication: []Authentication{{Type: AuthenticationKubernetes}, {Type: AuthenticationKubernetes}}}
	if schemes := access.Schemes(); len(schemes) != 1 {
		t.Errorf("Schemes() = %v, want one", schemes)
	}
}

func TestSchemes(t *testing.T) {
	kubernetes := Authentication{Type: AuthenticationKubernetes}
	discovered := Authentication{Type: AuthenticationJWT, JWT: &JWTAuthentication{Issuer: "https://a.example/", Audiences: []string{"b"}}}
	named := Authentication{Type: AuthenticationJWT, JWT: &JWTAuthentication{Issuer: "https://a.example/", Audiences: []string{"b"}, JWKSURL: "https://a.example/k"}}
	ours := card.SecurityScheme{Name: "kubernetes", Type: card.SchemeHTTP, Description: "A Kubernetes ServiceAccount token.", Scheme: "bearer", BearerFormat: "JWT"}
	const about = "A token of https://a.example/ for the audience b."
	tests := map[string]struct {
		authentication []Authentication
		want           []card.SecurityScheme
	}{
		"nobody":     {nil, nil},
		"kubernetes": {[]Authentication{kubernetes}, []card.SecurityScheme{ours}},
		"discovered": {[]Authentication{discovered, kubernetes}, []card.SecurityScheme{
			{Name: "jwt", Type: card.SchemeOpenIDConnect, Description: about, OpenIDConnectURL: "https://a.example/.well-known/openid-configuration"}, ours,
		}},
		"named": {[]Authentication{named}, []card.SecurityScheme{{Name: "jwt", Type: card.SchemeHTTP, Description: about, Scheme: "bearer", BearerFormat: "JWT"}}},
		"API key": {[]Authentication{{Type: AuthenticationAPIKey, APIKey: &APIKeyAuthentication{Header: "X-API-Key"}}}, []card.SecurityScheme{
			{Name: "apiKey", Type: card.SchemeAPIKey, Description: "A key that the agent's owner gives out.", In: "header", ParameterName: "X-API-Key"},
		}},
		"API key in the query": {[]Authentication{{Type: AuthenticationAPIKey, APIKey: &APIKeyAuthentication{Query: "key"}}}, []card.SecurityScheme{
			{Name: "apiKey", Type: card.SchemeAPIKey, Description: "A key that the agent's owner gives out.", In: "query", ParameterName: "key"},
		}},
		"certificate": {[]Authentication{{Type: AuthenticationMTLS, MTLS: &MTLSAuthentication{TrustDomain: "example.org"}}}, []card.SecurityScheme{
			{Name: "mtls", Type: card.SchemeMutualTLS, Description: "A client certificate of an authority that the agent's owner trusts."},
		}},
		"anonymous": {[]Authentication{discovered, {Type: AuthenticationAnonymous}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := (&Access{Authentication: test.authentication}).Schemes()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Schemes() (-want +got):\n%s", diff)
			}
			c := card.Card{SecuritySchemes: got}
			if err := c.CheckSecurity(); err != nil {
				t.Errorf("CheckSecurity() = %v", err)
			}
		})
	}
}

func TestKeyName(t *testing.T) {
	want := regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]{0,60})?[Kk][Ee][Yy]$`)
	names := []string{
		"", "k", "ey", "key", "KEY", "Key", "X-API-Key", "x_key", "0key", "-key", "_key", "keys", "a key", "key\n", "\nkey", "a:key", "ä-key",
		"api-\u212Aey", "\u212Aey", "key\x00", "authorization", strings.Repeat("a", 61) + "key", strings.Repeat("a", 62) + "key",
	}
	for _, name := range names {
		if got := keyName(name); got != want.MatchString(name) {
			t.Errorf("keyName(%q) = %v", name, got)
		}
	}
}

func TestTrusted(t *testing.T) {
	for address, want := range map[string]bool{
		"https://login.example": true, "https://login.example:8443/a?b=c": true, "http://dex.auth.svc:5556/dex": true,
		"http://dex.auth.svc.cluster.local": true, "http://dex.auth.svc.corp.example:80": true, "http://localhost:8080": true, "http://127.0.0.1": true, "http://[::1]:1": true,
		"http://login.example": false, "http://dex.svc.example.com": false, "http://svc": false, "http://dex.auth.svcx": false, "http://.auth.svc": false, "http://169.254.169.254/": false, "http://10.0.0.1": false,
		"file:///etc/passwd": false, "https://": false, "https://:443": false, "https://a:b@c": false, "https://a/#b": false,
		"login.example": false, "": false, "://": false,
	} {
		if got := trusted(address); got != want {
			t.Errorf("trusted(%q) = %v", address, got)
		}
	}
}
