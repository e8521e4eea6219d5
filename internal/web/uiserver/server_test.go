// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// someRegistry is a fake registry that shows an agent to people in the group search-team.
type someRegistry struct{}

func (someRegistry) ServeCaller(w http.ResponseWriter, r *http.Request, c access.Caller) {
	body := `{"items":[],"total":0}`
	switch {
	case strings.Count(r.URL.Path, "/") > 2:
		body = `{"namespace":"team","name":"echo","displayName":"Secret agent"}`
	case slices.Contains(c.Groups, "oidc:search-team"):
		body = `{"items":[{"namespace":"team","name":"echo","displayName":"Secret agent"}],"total":1}`
	}
	if strings.Count(r.URL.Path, "/") > 2 && !slices.Contains(c.Groups, "oidc:search-team") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.URL.Query().Has("watch") {
		_, _ = io.WriteString(w, "id:\nevent: reset\ndata: {}\n\nid: 1\nevent: synced\ndata: {}\n\n")
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, body)
}

func (someRegistry) SeesNamespace(_ context.Context, c access.Caller, _ string) (bool, error) {
	return slices.Contains(c.Groups, "oidc:search-team"), nil
}

// site is a running server, and the issuer whose tokens it accepts.
type site struct {
	*httptest.Server
	issuer string
	key    *ecdsa.PrivateKey
}

func startSite(t *testing.T) *site {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{key: key}
	issuer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.issuer, s.issuer+"/keys")
	}))
	t.Cleanup(issuer.Close)
	s.issuer = issuer.URL
	var handler http.Handler
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	server := New(Options{
		Memory: 64 << 20, URL: address, SignOut: "oauth2/sign_out", Registry: someRegistry{}, Agents: fake.NewClientBuilder().Build(),
		Clock: clock.RealClock{}, Log: logr.Discard(),
		OIDC: access.OIDCOptions{
			Issuer: s.issuer, Audience: "ui", UsernameClaim: "sub", UsernamePrefix: "oidc:", GroupsClaim: "groups", GroupsPrefix: "oidc:",
			Transport: issuer.Client().Transport,
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	pages := server.pages(ctx)
	handler = server.handler(pages)
	fetching := make(chan struct{})
	go func() {
		server.issuer.Run(ctx)
		close(fetching)
	}()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		cancel()
		<-fetching
		pages.Wait()
	})
	for { // wait until the keys of the issuer are known
		response, _ := s.get(t, "/", s.token(t, nil))
		if response.StatusCode != http.StatusServiceUnavailable {
			return s
		}
		time.Sleep(time.Millisecond)
	}
}

// token returns a token of jane. claims replace or add claims; a claim that is nil is absent.
func (s *site) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": s.issuer, "aud": "ui", "sub": "jane", "groups": []string{"search-team"}, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *site) do(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.Host = r.Header.Get("Host")
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func (s *site) get(t *testing.T, path, token string) (*http.Response, string) {
	t.Helper()
	return s.do(t, http.MethodGet, path, "Authorization", "Bearer "+token)
}

func TestAPersonSeesWhatTheRegistryShows(t *testing.T) {
	s := startSite(t)
	jane := s.token(t, nil)
	response, body := s.get(t, "/", jane)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "Secret agent") || !strings.Contains(body, "oidc:jane") || !strings.Contains(body, `href="/oauth2/sign_out"`) {
		t.Errorf("the list is %d %s", response.StatusCode, body)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "Strict-Transport-Security": "max-age=31536000", "Cache-Control": "no-store"} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if response, body := s.get(t, "/agents/team/echo", jane); response.StatusCode != http.StatusOK || !strings.Contains(body, "Secret agent") {
		t.Errorf("the page of an agent is %d %s", response.StatusCode, body)
	}
	if response, _ := s.do(t, http.MethodPost, "/agents/team/echo/send", "Authorization", "Bearer "+jane); response.StatusCode == http.StatusOK {
		t.Error("the manager calls an agent")
	}

	john := s.token(t, map[string]any{"sub": "john", "groups": []string{}})
	if _, body := s.get(t, "/", john); strings.Contains(body, "Secret agent") || !strings.Contains(body, "0 agents") {
		t.Errorf("the list of a person without rights is %s", body)
	}
	if response, body := s.get(t, "/agents/team/echo", john); response.StatusCode != http.StatusNotFound || strings.Contains(body, "Secret agent") {
		t.Errorf("the page of an agent for a person without rights is %d %s", response.StatusCode, body)
	}
}

func TestOnlyAValidTokenNamesAPerson(t *testing.T) {
	s := startSite(t)
	for name, claims := range map[string]map[string]any{
		"other audience":   {"aud": "registry"},
		"other issuer":     {"iss": "https://other.example"},
		"expired":          {"exp": time.Now().Add(-time.Hour).Unix()},
		"expired just now": {"exp": time.Now().Add(-time.Second).Unix()},
		"no expiry":        {"exp": nil},
		"no name":          {"sub": ""},
		"reserved name":    {"sub": nil},
	} {
		response, body := s.get(t, "/", s.token(t, claims))
		if response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(body, "not valid for this page") {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
	}
	forged := s.token(t, nil)
	forged = forged[:len(forged)-4] + "AAAA"
	jane := s.token(t, nil)
	for name, header := range map[string][]string{
		"forged":         {"Authorization", "Bearer " + forged},
		"no token":       {"Authorization", "Bearer x"},
		"no header":      {},
		"password":       {"Authorization", "Basic amFuZTpqYW5l"},
		"other headers":  {"X-Forwarded-User", "jane", "X-Forwarded-Groups", "search-team", "X-Forwarded-Access-Token", jane, "X-Auth-Request-User", "jane"},
		"token in query": {"Cookie", "token=" + jane},
	} {
		if response, body := s.do(t, http.MethodGet, "/?access_token="+jane, header...); response.StatusCode != http.StatusUnauthorized || strings.Contains(body, "Secret agent") {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
	}
	if _, body := s.do(t, http.MethodGet, "/"); !strings.Contains(body, "has no token of yours") {
		t.Errorf("without a token, the page is %s", body)
	}
	for _, path := range []string{"/changes", "/agents/team/echo/card"} {
		if response, body := s.do(t, http.MethodGet, path, "Fragment", "1"); response.StatusCode != http.StatusUnauthorized || strings.Contains(body, "<") {
			t.Errorf("a script gets %d %s at %s", response.StatusCode, body, path)
		}
	}
}

func TestTheChangesEndWithTheToken(t *testing.T) {
	s := startSite(t)
	expires := time.Now().Add(2 * time.Second).Truncate(time.Second)
	response, body := s.get(t, "/changes", s.token(t, map[string]any{"exp": expires.Unix()}))
	if response.StatusCode != http.StatusOK || body == "" || time.Now().Before(expires) {
		t.Errorf("the changes of a token that expires at %s end at %s: %d %q", expires, time.Now(), response.StatusCode, body)
	}
}

func TestOtherHostsAndSitesAreRefused(t *testing.T) {
	s := startSite(t)
	jane := "Bearer " + s.token(t, nil)
	if response, _ := s.do(t, http.MethodGet, "/", "Authorization", jane, "Host", "evil.example"); response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host has the status %d", response.StatusCode)
	}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		if response, _ := s.do(t, http.MethodPost, "/agents/team/echo/send", slices.Concat(header, []string{"Authorization", jane})...); response.StatusCode != http.StatusForbidden {
			t.Errorf("a form of another site (%v) has the status %d", header, response.StatusCode)
		}
	}
}

func TestWrongTokensStopNobodyWhoseTokenIsKnown(t *testing.T) {
	s := startSite(t)
	jane := s.token(t, nil)
	s.get(t, "/", jane)
	wrong := s.token(t, map[string]any{"aud": "other"})
	began := time.Now()
	for sent := 1; ; sent++ {
		response, _ := s.get(t, "/", wrong)
		if response.StatusCode == http.StatusTooManyRequests {
			if response.Header.Get("Retry-After") == "" {
				t.Error("the refusal does not say when to try again")
			}
			break
		}
		// Beyond the 50 wrong tokens, an address has 250 verifications in a second. A slow machine may send fewer.
		if most := 2_000 + 250*int(time.Since(began).Seconds()); sent > most {
			t.Fatalf("%d wrong tokens of one address have no limit", sent)
		}
		if time.Since(began) > time.Minute {
			t.Skip("this machine sends fewer wrong tokens than the limit allows")
		}
	}
	if response, body := s.get(t, "/", jane); response.StatusCode != http.StatusOK {
		t.Errorf("a person at the address has the status %d %s", response.StatusCode, body)
	}
}
