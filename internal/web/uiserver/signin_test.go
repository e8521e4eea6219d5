// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package uiserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// issuer is a fake OpenID Connect issuer. Its token endpoint accepts each code once, with the
// verifier that matches the code's challenge.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu    sync.Mutex
	codes map[string]grant
	// exchanges counts the requests to the token endpoint.
	exchanges int
}

// grant is an authorization: the challenge of the client, and the claims of the ID token.
type grant struct {
	challenge string
	claims    map[string]any
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key, codes: map[string]grant{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"authorization_endpoint":%q,"token_endpoint":%q}`, i.URL, i.URL+"/keys", i.URL+"/authorize", i.URL+"/token")
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	})
	mux.HandleFunc("POST /token", i.token)
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.exchanges++
	code := r.PostFormValue("code")
	given, found := i.codes[code]
	delete(i.codes, code)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	w.Header().Set("Content-Type", "application/json")
	if !found || given.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || id != "ui" || secret != "hidden" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	signer, _ := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "k"}}, nil)
	text, _ := jwt.Signed(signer).Claims(given.claims).Serialize()
	_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "a", "token_type": "Bearer", "id_token": text}) //nolint:errchkjson // strings have a JSON form
}

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

// site is a running server, and the browser of a person.
type site struct {
	*httptest.Server
	issuer  *issuer
	server  *Server
	clock   *clocktesting.FakePassiveClock
	browser *http.Client
}

func startSite(t *testing.T) *site {
	t.Helper()
	s := &site{issuer: startIssuer(t), clock: clocktesting.NewFakePassiveClock(time.Now())}
	directory := t.TempDir()
	for name, text := range map[string]string{cookieKeyFile: strings.Repeat("k", minCookieKey), clientSecretFile: "hidden\n"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var handler http.Handler
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.server = New(Options{
		Memory: 64 << 20,
		URL:    address, SecretDir: directory, Scopes: []string{"openid"}, Registry: someRegistry{}, Agents: fake.NewClientBuilder().Build(), Clock: s.clock, Log: logr.Discard(),
		OIDC: access.OIDCOptions{
			Issuer: s.issuer.URL, Audience: "ui", UsernameClaim: "sub", UsernamePrefix: "oidc:", GroupsClaim: "groups", GroupsPrefix: "oidc:",
			Transport: s.issuer.Client().Transport,
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	pages := s.server.pages(ctx)
	handler = s.server.handler(pages)
	fetching := make(chan struct{})
	go func() { s.server.people.Run(ctx); close(fetching) }()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); cancel(); <-fetching; pages.Wait() })
	for { // wait until the keys of the issuer are known
		if _, err := s.server.people.Person("x"); !errors.Is(err, access.ErrNoIssuerKeys) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.newBrowser(t)
	return s
}

// newBrowser replaces the browser with one that has no cookies and follows no redirects.
func (s *site) newBrowser(t *testing.T) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Transport: s.Client().Transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// do sends a request with the browser.
func (s *site) do(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.browser.Do(r)
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

// begin begins a sign-in and returns the parameters that the browser sends to the issuer.
func (s *site) begin(t *testing.T, to string) url.Values {
	t.Helper()
	response, body := s.do(t, http.MethodGet, "/sign-in?to="+url.QueryEscape(to))
	target, err := url.Parse(response.Header.Get("Location"))
	if err != nil || response.StatusCode != http.StatusSeeOther || !strings.HasPrefix(target.String(), s.issuer.URL+"/authorize?") {
		t.Fatalf("the sign-in leads to %d %s %s", response.StatusCode, target, body)
	}
	return target.Query()
}

// authorize returns a code for the parameters of a sign-in. claims override the claims of jane.
func (s *site) authorize(parameters url.Values, claims map[string]any) string {
	now := s.clock.Now()
	all := map[string]any{
		"iss": s.issuer.URL, "aud": "ui", "sub": "jane", "groups": []string{"search-team"}, "nonce": parameters.Get("nonce"),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(all, claims)
	s.issuer.mu.Lock()
	defer s.issuer.mu.Unlock()
	code := rand.Text()
	s.issuer.codes[code] = grant{parameters.Get("code_challenge"), all}
	return code
}

// finish sends the request with which the browser returns from the issuer.
func (s *site) finish(t *testing.T, parameters url.Values, code string) (*http.Response, string) {
	t.Helper()
	return s.do(t, http.MethodGet, "/callback?"+url.Values{"code": {code}, "state": {parameters.Get("state")}}.Encode())
}

// signIn performs a whole sign-in of a person.
func (s *site) signIn(t *testing.T, claims map[string]any) {
	t.Helper()
	parameters := s.begin(t, "/?q=x")
	if response, body := s.finish(t, parameters, s.authorize(parameters, claims)); response.StatusCode != http.StatusSeeOther || response.Header.Get("Location") != "/?q=x" {
		t.Fatalf("the end of the sign-in is %d %s", response.StatusCode, body)
	}
}

func TestAPersonSignsInAndSeesWhatTheRegistryShows(t *testing.T) {
	s := startSite(t)
	response, _ := s.do(t, http.MethodGet, "/agents/team/echo")
	if to := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || to != "/sign-in?to=%2Fagents%2Fteam%2Fecho" {
		t.Fatalf("without a session, a page leads to %d %s", response.StatusCode, to)
	}
	parameters := s.begin(t, "/")
	for name, want := range map[string]string{"client_id": "ui", "response_type": "code", "code_challenge_method": "S256", "redirect_uri": s.URL + "/callback", "scope": "openid"} {
		if parameters.Get(name) != want {
			t.Errorf("the issuer gets %s=%q, want %q", name, parameters.Get(name), want)
		}
	}
	response, body := s.finish(t, parameters, s.authorize(parameters, nil))
	if response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the sign-in ends with %d %s", response.StatusCode, body)
	}
	for _, cookie := range response.Cookies() {
		if !strings.HasPrefix(cookie.Name, "__Host-") || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("the cookie is %+v", cookie)
		}
		if strings.Contains(cookie.Value, "jane") {
			t.Errorf("the cookie tells the name: %s", cookie.Value)
		}
	}
	if _, body := s.do(t, http.MethodGet, "/"); !strings.Contains(body, "Secret agent") || !strings.Contains(body, "oidc:jane") || strings.Contains(body, `id="send"`) {
		t.Errorf("the list is %s", body)
	}
	if _, body := s.do(t, http.MethodGet, "/agents/team/echo"); !strings.Contains(body, "Secret agent") || strings.Contains(body, "Try it") {
		t.Errorf("the page of an agent is %s", body)
	}
	if response, _ := s.do(t, http.MethodPost, "/agents/team/echo/send"); response.StatusCode == http.StatusOK {
		t.Error("the manager calls an agent")
	}
}

func TestAPersonWithoutRightsSeesNoAgent(t *testing.T) {
	s := startSite(t)
	s.signIn(t, map[string]any{"sub": "john", "groups": []string{}})
	if _, body := s.do(t, http.MethodGet, "/"); strings.Contains(body, "Secret agent") || !strings.Contains(body, "0 agents") {
		t.Errorf("the list is %s", body)
	}
	if response, body := s.do(t, http.MethodGet, "/agents/team/echo"); response.StatusCode != http.StatusNotFound || strings.Contains(body, "Secret agent") {
		t.Errorf("the page of an agent is %d %s", response.StatusCode, body)
	}
}

func TestASignInEndsOnceInTheBrowserThatBeganIt(t *testing.T) {
	s := startSite(t)
	parameters := s.begin(t, "/")
	address, _ := url.Parse(s.URL)
	code := s.authorize(parameters, nil)
	owner := s.browser
	s.newBrowser(t)
	if response, _ := s.finish(t, parameters, code); response.StatusCode != http.StatusBadRequest {
		t.Errorf("in another browser, the sign-in ends with %d", response.StatusCode)
	}
	s.browser = owner
	if response, _ := s.do(t, http.MethodGet, "/callback?state=other&code="+code); response.StatusCode != http.StatusBadRequest {
		t.Errorf("another state ends with %d", response.StatusCode)
	}
	parameters = s.begin(t, "/")
	begun := s.browser.Jar.Cookies(address)
	code = s.authorize(parameters, nil)
	if response, body := s.finish(t, parameters, code); response.StatusCode != http.StatusSeeOther {
		t.Fatalf("the sign-in ends with %d %s", response.StatusCode, body)
	}
	if response, _ := s.finish(t, parameters, code); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a repeated response of the issuer ends with %d", response.StatusCode)
	}
	s.newBrowser(t)
	s.browser.Jar.SetCookies(address, begun) // the client kept the cookie of the ended sign-in
	if response, _ := s.finish(t, parameters, code); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a repeated response with the cookie ends with %d", response.StatusCode)
	}
	s.issuer.mu.Lock()
	exchanges := s.issuer.exchanges
	s.issuer.mu.Unlock()
	for range 3 {
		s.newBrowser(t)
		s.browser.Jar.SetCookies(address, begun)
		if response, _ := s.finish(t, parameters, s.authorize(parameters, nil)); response.StatusCode != http.StatusBadRequest {
			t.Errorf("another code with the cookie of an ended sign-in ends with %d", response.StatusCode)
		}
	}
	s.issuer.mu.Lock()
	if s.issuer.exchanges != exchanges {
		t.Errorf("the cookie of an ended sign-in causes %d requests to the issuer", s.issuer.exchanges-exchanges)
	}
	s.issuer.mu.Unlock()
	parameters = s.begin(t, "/")
	s.clock.SetTime(s.clock.Now().Add(signInTimeout))
	if response, _ := s.finish(t, parameters, s.authorize(parameters, nil)); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a late sign-in ends with %d", response.StatusCode)
	}
}

func TestTokensOfOtherSignInsAndClientsAreRefused(t *testing.T) {
	s := startSite(t)
	for name, test := range map[string]struct {
		claims map[string]any
		want   int
	}{
		"other nonce":    {map[string]any{"nonce": "other"}, http.StatusBadRequest},
		"no nonce":       {map[string]any{"nonce": nil}, http.StatusBadRequest},
		"other audience": {map[string]any{"aud": "registry"}, http.StatusForbidden},
		"other party":    {map[string]any{"aud": []string{"ui", "b"}, "azp": "b"}, http.StatusForbidden},
		"other issuer":   {map[string]any{"iss": "https://other.example"}, http.StatusForbidden},
		"expired":        {map[string]any{"exp": s.clock.Now().Add(-time.Hour).Unix()}, http.StatusForbidden},
		"no expiry":      {map[string]any{"exp": nil}, http.StatusForbidden},
		"no name":        {map[string]any{"sub": ""}, http.StatusForbidden},
	} {
		s.newBrowser(t)
		parameters := s.begin(t, "/")
		response, body := s.finish(t, parameters, s.authorize(parameters, test.claims))
		if response.StatusCode != test.want {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
		if response, _ := s.do(t, http.MethodGet, "/"); (response.StatusCode == http.StatusOK) != (test.want == http.StatusSeeOther) {
			t.Errorf("%s: afterwards the list is %d", name, response.StatusCode)
		}
	}
	s.newBrowser(t)
	parameters := s.begin(t, "/")
	query := url.Values{"state": {parameters.Get("state")}, "code": {s.authorize(parameters, nil)}, "iss": {"https://other.example"}}
	if response, _ := s.do(t, http.MethodGet, "/callback?"+query.Encode()); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a response of another issuer ends with %d", response.StatusCode)
	}
	parameters = s.begin(t, "/")
	query = url.Values{"state": {parameters.Get("state")}, "error": {"<script>access_denied"}}
	if response, body := s.do(t, http.MethodGet, "/callback?"+query.Encode()); response.StatusCode != http.StatusForbidden || strings.Contains(body, "<script>a") {
		t.Errorf("a refusal ends with %d %s", response.StatusCode, body)
	}
}

func TestASessionEndsWithItsTokenAndWithTheSignOut(t *testing.T) {
	s := startSite(t)
	s.signIn(t, nil)
	if response, _ := s.do(t, http.MethodPost, "/sign-out", "Sec-Fetch-Site", "cross-site"); response.StatusCode != http.StatusForbidden {
		t.Errorf("another site signs out: %d", response.StatusCode)
	}
	if response, _ := s.do(t, http.MethodGet, "/sign-out"); response.StatusCode == http.StatusSeeOther && response.Header.Get("Location") == "/signed-out" {
		t.Error("a link signs out")
	}
	if response, _ := s.do(t, http.MethodPost, "/sign-out", "Sec-Fetch-Site", "same-origin"); response.Header.Get("Location") != "/signed-out" {
		t.Errorf("the sign-out ends with %d", response.StatusCode)
	}
	if response, body := s.do(t, http.MethodGet, "/signed-out"); response.StatusCode != http.StatusOK || !strings.Contains(body, "/sign-in?again") {
		t.Errorf("after the sign-out: %d %s", response.StatusCode, body)
	}
	if response, _ := s.do(t, http.MethodGet, "/"); response.StatusCode != http.StatusSeeOther {
		t.Errorf("afterwards the list is %d", response.StatusCode)
	}
	s.signIn(t, nil)
	s.clock.SetTime(s.clock.Now().Add(time.Hour))
	if response, _ := s.do(t, http.MethodGet, "/"); response.StatusCode != http.StatusSeeOther {
		t.Errorf("after the end of the token, the list is %d", response.StatusCode)
	}
	for _, path := range []string{"/changes", "/agents/team/echo/card"} {
		if response, _ := s.do(t, http.MethodGet, path, "Fragment", "1"); response.StatusCode != http.StatusUnauthorized {
			t.Errorf("a script gets %d at %s", response.StatusCode, path)
		}
	}
}

func TestCookiesOfOtherKeysAndPurposesAreNoSession(t *testing.T) {
	s := startSite(t)
	address, _ := url.Parse(s.URL)
	sealed := &sealer{t.TempDir()}
	if err := os.WriteFile(filepath.Join(sealed.directory, cookieKeyFile), []byte(strings.Repeat("x", minCookieKey)), 0o600); err != nil {
		t.Fatal(err)
	}
	person := &session{Username: "oidc:jane", Groups: []string{"oidc:search-team"}, Expires: s.clock.Now().Add(time.Hour)}
	foreign, _ := sealed.seal("session", person)
	other, _ := s.server.signIns.sealer.seal("sign-in", person)
	valid, _ := s.server.signIns.sealer.seal("session", person)
	for name, value := range map[string]string{
		"other key": "1." + foreign, "other purpose": "1." + other, "changed": "1." + valid[:len(valid)-8] + "AAAAAAAA", "incomplete": "2." + valid,
		"no count": valid, "huge count": "999999999999." + valid, "negative": "-1." + valid, "empty": "1.", "not base64": "1.%",
	} {
		s.newBrowser(t)
		s.browser.Jar.SetCookies(address, []*http.Cookie{{Name: sessionCookie, Value: value, Path: "/", Secure: true}})
		if response, _ := s.do(t, http.MethodGet, "/"); response.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d", name, response.StatusCode)
		}
	}
	s.newBrowser(t)
	s.browser.Jar.SetCookies(address, []*http.Cookie{{Name: sessionCookie, Value: "1." + valid, Path: "/", Secure: true}})
	if response, _ := s.do(t, http.MethodGet, "/"); response.StatusCode != http.StatusOK {
		t.Errorf("a valid cookie: %d", response.StatusCode)
	}
}

func TestManyGroupsUseSeveralCookiesUpToALimit(t *testing.T) {
	s := startSite(t)
	groups := func(n int) []string {
		all := []string{"search-team"}
		for i := range n {
			all = append(all, fmt.Sprintf("%036d", i))
		}
		return all
	}
	s.signIn(t, map[string]any{"groups": groups(200)})
	if _, body := s.do(t, http.MethodGet, "/"); !strings.Contains(body, "Secret agent") {
		t.Errorf("with 200 groups, the list is %s", body)
	}
	s.signIn(t, nil) // the session now has fewer cookies
	if _, body := s.do(t, http.MethodGet, "/"); !strings.Contains(body, "Secret agent") {
		t.Errorf("with one group again, the list is %s", body)
	}
	s.newBrowser(t)
	parameters := s.begin(t, "/")
	if response, body := s.finish(t, parameters, s.authorize(parameters, map[string]any{"groups": groups(290)})); response.StatusCode != http.StatusForbidden || !strings.Contains(body, "too many groups") {
		t.Errorf("with 290 groups: %d %s", response.StatusCode, body)
	}
}

func TestASignInLeadsBackToPathsOfThisServerOnly(t *testing.T) {
	for text, want := range map[string]string{
		"/agents/team/echo?x=1": "/agents/team/echo?x=1", "": "/", "//evil.example/": "/", "https://evil.example/": "/", `/\evil.example`: "/",
		"/a\nb": "/", "javascript:alert(1)": "/", "evil": "/", "/" + strings.Repeat("a", maxReturnPath): "/", "/%2F/evil.example": "/",
	} {
		if got := returnPath(text); got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}

func TestOtherHostsAndTooManySignInsAreRefused(t *testing.T) {
	s := startSite(t)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/", http.NoBody)
	r.Host = "evil.example"
	response, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host has the status %d", response.StatusCode)
	}
	s.emptySignInRate(t)
	if response, _ := s.do(t, http.MethodGet, "/sign-in"); response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" {
		t.Errorf("a further sign-in has the status %d", response.StatusCode)
	}
}

// emptySignInRate uses up the burst of signInRate, by sign-ins from the same address in another
// browser.
func (s *site) emptySignInRate(t *testing.T) {
	t.Helper()
	owner := s.browser
	s.newBrowser(t)
	for range signInRate.Burst {
		s.begin(t, "/")
	}
	s.browser = owner
}

func TestASignInEndsWhileItsAddressSendsTooManyRequests(t *testing.T) {
	s := startSite(t)
	parameters := s.begin(t, "/")
	owner := s.browser
	s.clock.SetTime(s.clock.Now().Add(time.Minute)) // the address may again begin as many sign-ins as the burst
	s.emptySignInRate(t)
	s.newBrowser(t)
	for range failureRate.Burst {
		if response, _ := s.do(t, http.MethodGet, "/callback?state=other"); response.StatusCode != http.StatusBadRequest {
			t.Fatalf("a callback without a sign-in has the status %d", response.StatusCode)
		}
	}
	for path, rate := range map[string]string{"/sign-in": "sign-ins", "/callback?state=other": "failures"} {
		if response, _ := s.do(t, http.MethodGet, path); response.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("beyond the rate of %s, %s has the status %d", rate, path, response.StatusCode)
		}
	}
	s.browser = owner
	if response, body := s.finish(t, parameters, s.authorize(parameters, nil)); response.StatusCode != http.StatusSeeOther {
		t.Errorf("the sign-in of another person ends with %d %s", response.StatusCode, body)
	}
}
