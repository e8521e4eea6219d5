// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/egress"
)

const wholeDiscovery = `{"issuer":"https://id.example/realm","authorization_endpoint":"https://id.example/auth","token_endpoint":"https://tokens.example/t",
	"device_authorization_endpoint":"https://id.example/device","grant_types_supported":["authorization_code","client_credentials","urn:ietf:params:oauth:grant-type:device_code"]}`

func discovering(a *a2av1alpha1.Agent) {
	a.Spec.Remote = nil
	a.Spec.Access.Authentication = []a2av1alpha1.Authentication{{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{
		Issuer: "https://id.example/realm", Audiences: []string{"echo"},
		OAuth2: &a2av1alpha1.OAuth2SignIn{Flows: []a2av1alpha1.OAuth2Flow{a2av1alpha1.OAuth2Discover}},
	}}}
}

func TestFlowsOfDiscoveryDocuments(t *testing.T) {
	const token = "https://id.example/t"
	code := card.OAuthFlow{Type: card.FlowAuthorizationCode, AuthorizationURL: "https://id.example/auth", TokenURL: token, PKCERequired: true}
	client := card.OAuthFlow{Type: card.FlowClientCredentials, TokenURL: token}
	device := card.OAuthFlow{Type: card.FlowDeviceCode, DeviceAuthorizationURL: "https://id.example/device", TokenURL: token}
	for name, test := range map[string]struct {
		members string
		want    []card.OAuthFlow
	}{
		"every flow": {`"authorization_endpoint":"https://id.example/auth","device_authorization_endpoint":"https://id.example/device",
			"grant_types_supported":["implicit","client_credentials","authorization_code","urn:ietf:params:oauth:grant-type:device_code"]`, []card.OAuthFlow{code, client, device}},
		"programs only":         {`"authorization_endpoint":"https://id.example/auth","grant_types_supported":["client_credentials"]`, []card.OAuthFlow{client}},
		"no list of grants":     {`"authorization_endpoint":"https://id.example/auth"`, []card.OAuthFlow{code}},
		"no list, with devices": {`"authorization_endpoint":"https://id.example/auth","device_authorization_endpoint":"https://id.example/device"`, []card.OAuthFlow{code, device}},
	} {
		t.Run(name, func(t *testing.T) {
			guard := roundTripper(status(200, fmt.Sprintf(`{"issuer":"https://id.example","token_endpoint":%q,%s}`, token, test.members)))
			got, err := readDiscovery(t.Context(), guard, "https://id.example")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Flows); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPlacesOfDiscoveryDocuments checks that a document of RFC 8414 is found where OpenID Connect has none, and that a redirect is not
// followed.
func TestPlacesOfDiscoveryDocuments(t *testing.T) {
	var asked []string
	guard := roundTripper(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		if len(asked) == 1 {
			answer, err := status(302, "")(r)
			answer.Header.Set("Location", "https://other.example/")
			return answer, err
		}
		return status(200, wholeDiscovery)(r)
	})
	got, err := readDiscovery(t.Context(), guard, "https://id.example/realm")
	if err != nil || len(got.Flows) != 3 {
		t.Errorf("readDiscovery() = %+v, %v", got, err)
	}
	want := []string{"https://id.example:443/realm/.well-known/openid-configuration", "https://id.example:443/.well-known/oauth-authorization-server/realm"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

func TestUnusableDiscoveryDocuments(t *testing.T) {
	document := func(members string) func(*http.Request) (*http.Response, error) {
		return status(200, `{"issuer":"https://id.example/realm","grant_types_supported":["client_credentials","authorization_code"],`+members+`}`)
	}
	for name, test := range map[string]struct {
		answer func(*http.Request) (*http.Response, error)
		want   string
	}{
		"HTML":              {status(200, "<html>sign in</html>"), "is not usable: it is not a JSON object of the expected form; correct jwt.issuer or the issuer, or list the flows"},
		"a list":            {status(200, "[]"), "it is not a JSON object of the expected form"},
		"a wrong type":      {document(`"token_endpoint":7`), "it is not a JSON object of the expected form"},
		"another issuer":    {status(200, strings.ReplaceAll(wholeDiscovery, "id.example", "evil.example")), `it is the document of the issuer "https://evil.example/realm"`},
		"no issuer":         {status(200, `{"token_endpoint":"https://id.example/t"}`), `it is the document of the issuer ""`},
		"http":              {document(`"token_endpoint":"http://id.example/t"`), "its token_endpoint must be an https URL"},
		"http for people":   {document(`"token_endpoint":"https://id.example/t","authorization_endpoint":"http://id.example/a"`), "its authorization_endpoint must be an https URL"},
		"a script":          {document(`"token_endpoint":"https://id.example/t","authorization_endpoint":"javascript:alert(1)"`), "its authorization_endpoint must be an https URL"},
		"a user":            {document(`"token_endpoint":"https://id.example@evil.example/t"`), "its token_endpoint must be an https URL without a user"},
		"a line break":      {document(`"token_endpoint":"https://id.example/\n"`), "its token_endpoint must be"},
		"a long URL":        {document(`"token_endpoint":"https://id.example/` + strings.Repeat("a", maxEndpoint) + `"`), "its token_endpoint must be"},
		"no flow":           {document(`"jwks_uri":"https://id.example/keys"`), "it names no token endpoint with"},
		"other grants only": {status(200, `{"issuer":"https://id.example/realm","token_endpoint":"https://id.example/t","grant_types_supported":["password"]}`), "it names no token endpoint with"},
		"64 MB":             {endless, "is not usable: it has more than 64 KiB"},
		"missing":           {status(404, ""), "serves no discovery document: it answers with status 404"},
		"forbidden":         {func(*http.Request) (*http.Response, error) { return nil, egress.ErrDenied }, "is not a public https address; ask the administrator"},
		"refused":           {func(*http.Request) (*http.Response, error) { return nil, errors.New("secret of the network") }, "cannot be reached: the connection failed; correct jwt.issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readDiscovery(t.Context(), roundTripper(test.answer), "https://id.example/realm")
			if err == nil || got.Flows != nil || got.Failure == nil {
				t.Fatalf("readDiscovery() = %+v, %v, want a failure", got, err)
			}
			if f := got.Failure; f.Reason != a2av1alpha1.ReasonSignInUnknown || !strings.Contains(f.Message, test.want) ||
				!strings.HasPrefix(f.Message, "spec.access.authentication[].jwt.oauth2.flows is Discover, but ") {
				t.Errorf("failure = %+v, want one with %q", f, test.want)
			}
		})
	}
}

// endless answers with 64 MB of spaces.
func endless(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(io.LimitReader(repeated{}, 64<<20))}, nil
}

type repeated struct{}

// Read implements io.Reader.
func (repeated) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

// TestEndpointsWithoutTLS checks that a card may name an endpoint without TLS only at the host of an issuer without TLS.
func TestEndpointsWithoutTLS(t *testing.T) {
	for host, want := range map[string]bool{"dex.auth.svc:5556": true, "dex.auth.svc": true, "evil.example": false} {
		text := fmt.Sprintf(`{"issuer":"http://dex.auth.svc:5556","token_endpoint":"http://%s/t","grant_types_supported":["client_credentials"]}`, host)
		got, err := readDiscovery(t.Context(), roundTripper(status(200, text)), "http://dex.auth.svc:5556")
		if (err == nil) != want || (got.Failure == nil) != want {
			t.Errorf("%s: readDiscovery() = %+v, %v", host, got, err)
		}
	}
}

// TestLastFlowsStay checks that the flows stay while the issuer hangs, and change when it answers again with others.
func TestLastFlowsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := remoteAgent(discovering)
		e := newFakeRemote(t, a)
		e.setAnswer(status(200, wholeDiscovery))
		s := e.source()
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = s.Start(ctx) })
		all.Go(func() {
			for {
				select {
				case <-s.Changes():
				case <-ctx.Done():
					return
				}
			}
		})
		if s.LastRead(a) != nil {
			t.Error("LastRead() has a result before the first read")
		}
		synctest.Wait()
		first := s.LastRead(a)
		if first == nil || first.Failure != nil || len(first.Flows) != 3 {
			t.Fatalf("LastRead() = %+v", first)
		}
		e.setAnswer(func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded })
		time.Sleep(2 * discoveryInterval)
		synctest.Wait()
		away := s.LastRead(a)
		if away.Failure == nil || !strings.Contains(away.Failure.Message, "there was no answer within 10s") || len(away.Flows) != 3 {
			t.Errorf("LastRead() = %+v while the issuer is away", away)
		}
		e.setAnswer(status(200, strings.Replace(wholeDiscovery, "tokens.example", "id.example", 1)))
		time.Sleep(2 * discoveryInterval)
		synctest.Wait()
		if again := s.LastRead(a); again.Failure != nil || again.Flows[0].TokenURL != "https://id.example/t" {
			t.Errorf("LastRead() = %+v after the issuer is back", again)
		}
		cancel()
		all.Wait()
	})
}
