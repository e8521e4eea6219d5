// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	olda2a "github.com/a2aproject/a2a-go/a2a"
	oldclient "github.com/a2aproject/a2a-go/a2aclient"
	oldcard "github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/freeport"
	"github.com/a2a-operator/a2a-operator/test/programs"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

const (
	// The program and the people of the issuer (test/issuer).
	programID, programSecret = "sid1", "verysecret"
	person, password         = "test-user2", "verysecure"
	personID                 = "id2"
	// The client with which people sign in.
	signInID, signInSecret = "console", "hidden"
	signInURL              = "http://127.0.0.1:1/callback"
	// The client without a browser, for which people sign in elsewhere.
	deviceID     = "device"
	deviceSecret = "devicesecret"
)

// startIssuer starts a real OpenID Connect issuer, whose access tokens are for an audience.
func startIssuer(t *testing.T, audience string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "issuer")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("..", "issuer"), "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the issuer is not built: %s", out)
	}
	address := freeport.Address(t)
	programs.Serve(t, exec.CommandContext(t.Context(), program, "--issuer", "http://"+address, "--audience", audience,
		"--client", signInID, "--secret", signInSecret, "--redirect", signInURL), address, time.Minute)
	return "http://" + address
}

// withSignIn admits the tokens of the issuer for an audience, with a scope, and describes the flows on the card.
func withSignIn(issuer, audience string) func(*sidecartest.Fixture, *sidecarconfig.Config) {
	return func(_ *sidecartest.Fixture, c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{{Type: sidecarconfig.AuthenticationJWT, JWT: &sidecarconfig.JWTAuthentication{
			Issuer: issuer, Audiences: []string{audience}, RequiredScopes: []string{"call"}, Scopes: map[string]string{"call": "Call the agent", "other": ""},
			Flows: []card.OAuthFlow{
				{Type: card.FlowAuthorizationCode, AuthorizationURL: issuer + "/auth", TokenURL: issuer + "/oauth/token", PKCERequired: true},
				{Type: card.FlowClientCredentials, TokenURL: issuer + "/oauth/token"},
				{Type: card.FlowDeviceCode, DeviceAuthorizationURL: issuer + "/device_authorization", TokenURL: issuer + "/oauth/token"},
			},
		}}}
		c.Card.SecuritySchemes = c.Access.Schemes()
	}
}

// challenges notes the status and the WWW-Authenticate of the last response.
type challenges struct {
	http.RoundTripper
	status    int
	challenge string
	// keysUnknown is true if the response says that the sidecar has no keys of the issuer yet.
	keysUnknown bool
}

// RoundTrip implements http.RoundTripper.
func (c *challenges) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	c.status = response.StatusCode
	c.challenge = response.Header.Get("WWW-Authenticate")
	c.keysUnknown = bytes.Contains(text, []byte("the keys of its issuer are not known"))
	return response, nil
}

// signedIn is an official client, which knows of the agent and of its issuer what the card says.
type signedIn struct {
	// tokenURL is that of all flows on the card, authorizationURL that of the authorization code, and deviceURL that of the device code.
	tokenURL, authorizationURL, deviceURL string
	// schemes are the names of the flows on the card.
	schemes map[a2a.OAuthFlowName]string
	answers *challenges
	// send sends a message with a token for a scheme, "" for none.
	send func(scheme, token string) error
}

// newSignedInV1 returns a2a-go v2 over an HTTP client of x/oauth2. Its own interceptor does not read the requirements of cards of 1.0, whose
// shape it does not know.
func newSignedInV1(t *testing.T, agent string) *signedIn {
	t.Helper()
	s := &signedIn{answers: &challenges{RoundTripper: sidecartest.Plain(t).Transport}, schemes: map[a2a.OAuthFlowName]string{}}
	plain := &http.Client{Transport: s.answers}
	described, err := agentcard.NewResolver(plain).Resolve(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	for name, scheme := range described.SecuritySchemes {
		signIn, _ := scheme.(a2a.OAuth2SecurityScheme)
		switch flow := signIn.Flows.(type) {
		case a2a.ClientCredentialsOAuthFlow:
			s.tokenURL = flow.TokenURL
			s.schemes[a2a.ClientCredentialsOAuthFlowName] = string(name)
		case a2a.DeviceCodeOAuthFlow:
			s.deviceURL = flow.DeviceAuthorizationURL
			s.schemes[a2a.DeviceCodeOAuthFlowName] = string(name)
		case a2a.AuthorizationCodeOAuthFlow:
			s.authorizationURL = flow.AuthorizationURL
			s.schemes[a2a.AuthorizationCodeOAuthFlowName] = string(name)
			if !flow.PKCERequired {
				t.Error("the card does not require PKCE")
			}
		}
	}
	s.send = func(_, token string) error {
		over := plain
		if token != "" {
			over = oauth2.NewClient(context.WithValue(t.Context(), oauth2.HTTPClient, plain), oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}))
		}
		client, err := a2aclient.NewFromCard(t.Context(), described, a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(over))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Destroy() }()
		_, err = client.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Hi"))})
		return err
	}
	return s
}

// newSignedInV03 returns a2a-go v0.3 with its own interceptor, which adds the token of the scheme that the card requires.
func newSignedInV03(t *testing.T, agent string) *signedIn {
	t.Helper()
	s := &signedIn{answers: &challenges{RoundTripper: sidecartest.Plain(t).Transport}, schemes: map[a2a.OAuthFlowName]string{}}
	plain := &http.Client{Transport: s.answers}
	described, err := oldcard.NewResolver(plain).Resolve(t.Context(), agent)
	if err != nil {
		t.Fatal(err)
	}
	for name, scheme := range described.SecuritySchemes {
		signIn, _ := scheme.(olda2a.OAuth2SecurityScheme)
		if flow := signIn.Flows.ClientCredentials; flow != nil {
			s.tokenURL = flow.TokenURL
			s.schemes[a2a.ClientCredentialsOAuthFlowName] = string(name)
		}
		if flow := signIn.Flows.AuthorizationCode; flow != nil {
			s.authorizationURL = flow.AuthorizationURL
			s.schemes[a2a.AuthorizationCodeOAuthFlowName] = string(name)
		}
	}
	credentials := oldclient.NewInMemoryCredentialsStore()
	client, err := oldclient.NewFromCard(t.Context(), described, oldclient.WithDefaultsDisabled(), oldclient.WithJSONRPCTransport(plain),
		oldclient.WithInterceptors(&oldclient.AuthInterceptor{Service: credentials}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Destroy() })
	s.send = func(scheme, token string) error {
		session := oldclient.SessionID(rand.Text())
		if token != "" {
			credentials.Set(session, olda2a.SecuritySchemeName(scheme), oldclient.AuthCredential(token))
		}
		_, err := client.SendMessage(oldclient.WithSessionID(t.Context(), session), &olda2a.MessageSendParams{
			Message: olda2a.NewMessage(olda2a.MessageRoleUser, olda2a.TextPart{Text: "Hi"}),
		})
		return err
	}
	return s
}

// call calls the agent with a token, "" for none. It returns the status and the challenge of the response.
func (s *signedIn) call(t *testing.T, flow a2a.OAuthFlowName, token string) (int, string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := s.send(s.schemes[flow], token)
		if s.answers.keysUnknown && time.Now().Before(deadline) {
			continue // the sidecar fetches the keys of the issuer after its start
		}
		if (err == nil) != (s.answers.status == http.StatusOK) {
			t.Errorf("status %d, error %v", s.answers.status, err)
		}
		return s.answers.status, s.answers.challenge
	}
}

// TestOfficialClientsSignIn reads the card with official clients, gets tokens of a real issuer by the flows on the card, and calls the
// agent: as a program by client credentials, and as a person by an authorization code with PKCE. Tokens of a wrong scope and for another
// agent are refused with the challenge that says so.
func TestOfficialClientsSignIn(t *testing.T) {
	issuer := startIssuer(t, "researcher")
	principals := make(chan string, 16)
	agent := func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		sidecartest.TextAgent(w, r)
	}
	researcher, echo := sidecartest.Start(t, agent, withSignIn(issuer, "researcher")).URL, sidecartest.Start(t, agent, withSignIn(issuer, "echo")).URL
	attempts := 0
	for name, open := range map[string]func(*testing.T, string) *signedIn{"a2a-go v2.4.0": newSignedInV1, "a2a-go v0.3.15": newSignedInV03} {
		t.Run(name, func(t *testing.T) {
			known, other := open(t, researcher), open(t, echo)
			// Cards before 1.0 have no form for the device code.
			if isNew := name == "a2a-go v2.4.0"; len(known.schemes) != map[bool]int{true: 3, false: 2}[isNew] || (known.deviceURL != "") != isNew || known.tokenURL == "" || known.authorizationURL == "" {
				t.Fatalf("the client finds the flows %v on the card", known.schemes)
			}
			ofProgram := func(scopes ...string) string {
				config := clientcredentials.Config{ClientID: programID, ClientSecret: programSecret, TokenURL: known.tokenURL, Scopes: scopes}
				token, err := config.Token(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return token.AccessToken
			}
			const program, code = a2a.ClientCredentialsOAuthFlowName, a2a.AuthorizationCodeOAuthFlowName
			// A client that requests no scope learns from the refusal which one it needs.
			_, challenge := known.call(t, program, ofProgram())
			needed := regexp.MustCompile(`^Bearer realm="a2a", error="insufficient_scope", scope="([^"]+)"$`).FindStringSubmatch(challenge)
			if needed == nil || known.answers.status != http.StatusForbidden {
				t.Fatalf("without a scope: status %d, challenge %s", known.answers.status, challenge)
			}
			ofPerson := signIn(t, known, needed[1])
			if known.deviceURL != "" {
				status, challenge := known.call(t, a2a.DeviceCodeOAuthFlowName, signInAtADevice(t, known, needed[1]))
				if status != http.StatusOK {
					t.Errorf("a person at a device: status %d, challenge %s", status, challenge)
				} else if got := <-principals; got != "jwt:"+issuer+"#"+person {
					t.Errorf("a person at a device: the agent learns of %q", got)
				}
			}
			attempts += 2 // the token without a scope, and the code with another verifier
			const invalid = `Bearer realm="a2a", error="invalid_token"`
			for _, test := range []struct {
				what      string
				at        *signedIn
				flow      a2a.OAuthFlowName
				token     string
				status    int
				challenge string
				principal string
			}{
				{"a program", known, program, ofProgram(needed[1]), http.StatusOK, "", "jwt:" + issuer + "#" + programID},
				{"a person", known, code, ofPerson, http.StatusOK, "", "jwt:" + issuer + "#" + personID},
				{"another scope", known, program, ofProgram("other"), http.StatusForbidden, challenge, ""},
				{"a program at another agent", other, program, ofProgram(needed[1]), http.StatusUnauthorized, invalid, ""},
				{"a person at another agent", other, code, ofPerson, http.StatusUnauthorized, invalid, ""},
				{"no token", known, program, "", http.StatusUnauthorized, `Bearer realm="a2a"`, ""},
			} {
				status, challenge := test.at.call(t, test.flow, test.token)
				challenge, metadata, _ := strings.Cut(challenge, `, resource_metadata=`)
				if status != test.status || challenge != test.challenge || (metadata != "") != (status == http.StatusUnauthorized) {
					t.Errorf("%s: status %d, challenge %s, metadata %s; want %d, %s", test.what, status, challenge, metadata, test.status, test.challenge)
				}
				if test.principal == "" {
					attempts++
					continue
				}
				select {
				case got := <-principals:
					if got != test.principal {
						t.Errorf("%s: the agent learns of %q, want %q", test.what, got, test.principal)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%s: the agent is not called", test.what)
				}
			}
			if n := len(principals); n != 0 {
				t.Errorf("the agents got %d calls that were refused", n)
			}
		})
	}
	securitypage.Attempts(t, "T-SIGNIN", attempts)
}

// signIn returns a token of a person, who signs in at the issuer by an authorization code with PKCE.
func signIn(t *testing.T, with *signedIn, scope string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: sidecartest.Plain(t).Transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), signInURL) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	config := oauth2.Config{
		ClientID: signInID, ClientSecret: signInSecret, RedirectURL: signInURL, Scopes: []string{"openid", scope},
		Endpoint: oauth2.Endpoint{AuthURL: with.authorizationURL, TokenURL: with.tokenURL},
	}
	begin := func() (code, verifier string) {
		verifier = oauth2.GenerateVerifier()
		state := rand.Text()
		form := get(t, browser, config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
		id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(form)
		if id == nil {
			t.Fatalf("the authorization endpoint leads to no form: %s", form)
		}
		authorization, err := url.Parse(with.authorizationURL)
		if err != nil {
			t.Fatal(err)
		}
		response, err := browser.PostForm("http://"+authorization.Host+"/login/username", url.Values{"id": {id[1]}, "username": {person}, "password": {password}})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		back, err := response.Location()
		if err != nil || back.Query().Get("state") != state {
			t.Fatalf("the sign-in does not lead back: %v, %v", back, err)
		}
		return back.Query().Get("code"), verifier
	}
	code, _ := begin()
	_, err = config.Exchange(t.Context(), code, oauth2.VerifierOption(oauth2.GenerateVerifier()))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); !ok || refused.ErrorCode != "invalid_grant" {
		t.Errorf("the issuer gives a token for another verifier: %v", err)
	}
	code, verifier := begin()
	token, err := config.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

// signInAtADevice returns a token of a person, who signs in by a device code: elsewhere than at the client.
func signInAtADevice(t *testing.T, with *signedIn, scope string) string {
	t.Helper()
	config := oauth2.Config{ClientID: deviceID, ClientSecret: deviceSecret, Scopes: []string{scope}, Endpoint: oauth2.Endpoint{
		DeviceAuthURL: with.deviceURL, TokenURL: with.tokenURL, AuthStyle: oauth2.AuthStyleInHeader,
	}}
	code, err := config.DeviceAuth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: sidecartest.Plain(t).Transport, Jar: jar}
	page := strings.TrimSuffix(code.VerificationURI, "/")
	response, err := browser.PostForm(page+"/login", url.Values{"user_code": {code.UserCode}, "username": {person}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if text := get(t, browser, page+"/confirm?action=allowed"); !strings.Contains(text, "Device authorization allowed") {
		t.Fatalf("the person cannot allow the device: %s", text)
	}
	code.Interval = 1
	token, err := config.DeviceAccessToken(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

func get(t *testing.T, client *http.Client, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
