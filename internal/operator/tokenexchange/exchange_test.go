// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenexchange

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenkeys"
)

var testTime = time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)

// testRegistry authenticates callers by a table of tokens, and lists the agent team/echo.
type testRegistry struct {
	exchange *Exchange
	keys     *tokenkeys.Set
	clock    *clocktesting.FakePassiveClock
	err      error
}

func newTestRegistry(t *testing.T) *testRegistry {
	t.Helper()
	keys, err := tokenkeys.Generate(testTime)
	if err != nil {
		t.Fatal(err)
	}
	r := &testRegistry{keys: keys, clock: clocktesting.NewFakePassiveClock(testTime)}
	r.exchange = New(Options{
		Signer: func() Signer {
			if r.keys == nil {
				return nil
			}
			return r.keys
		},
		Authenticate: r.authenticate,
		Log:          logr.Discard(),
		Clock:        r.clock,
	})
	return r
}

func (r *testRegistry) authenticate(request *http.Request) (*Subject, error) {
	if r.err != nil {
		return nil, r.err
	}
	pod := "uid-2"
	if request.Header.Get("Authorization") == "Bearer of-replica" {
		pod = "uid-4"
	}
	username := map[string]string{
		"Bearer of-caller":  "system:serviceaccount:team:caller",
		"Bearer of-replica": "system:serviceaccount:team:caller",
		"Bearer of-jane":    "jane",
	}[request.Header.Get("Authorization")]
	if username == "" {
		return nil, InvalidToken("the API server does not accept the token")
	}
	return &Subject{
		Username: username, UID: "uid-1", PodName: "caller-1", PodUID: pod, NodeName: "node-1", NodeUID: "uid-3",
		Lists: func(_ context.Context, namespace, name string) (bool, error) {
			if name == "broken" {
				return false, errors.New("connection refused")
			}
			return namespace == "team" && name == "echo", nil
		},
	}, nil
}

// form returns the parameters of a valid request with changes, which are names and values in
// turn. The value "" removes a parameter.
func form(changes ...string) url.Values {
	values := url.Values{
		"grant_type": {grantType}, "subject_token": {"of-caller"}, "subject_token_type": {typeJWT},
		"audience": {"echo.team.a2a-operator.dev"},
	}
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			values.Del(changes[i])
		}
	}
	return values
}

func (r *testRegistry) post(body io.Reader) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/v1/token", body)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	recorder := httptest.NewRecorder()
	r.exchange.ServeHTTP(recorder, request)
	return recorder
}

func TestIssuedTokenNamesTheCallerAndOneAgent(t *testing.T) {
	registry := newTestRegistry(t)
	recorder := registry.post(strings.NewReader(form().Encode()))
	if recorder.Code != http.StatusOK || recorder.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("POST = %d %v %s", recorder.Code, recorder.Header(), recorder.Body)
	}
	var answer response
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	text := answer.AccessToken
	answer.AccessToken = ""
	if diff := cmp.Diff(response{IssuedTokenType: typeJWT, TokenType: "Bearer", ExpiresIn: 600}, answer); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(registry.keys.KeySet(), &set); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := token.Claims(set.Key(token.Headers[0].KeyID)[0], &got); err != nil {
		t.Fatalf("verify token: %v", err)
	}
	id, _ := got["jti"].(string)
	delete(got, "jti")
	want := map[string]any{
		"iss": "a2a-operator.dev/registry", "sub": "system:serviceaccount:team:caller",
		"aud": []any{"echo.team.a2a-operator.dev"},
		"iat": float64(testTime.Unix()), "exp": float64(testTime.Unix() + 600),
		"kubernetes.io": map[string]any{
			"namespace":      "team",
			"serviceaccount": map[string]any{"name": "caller", "uid": "uid-1"},
			"pod":            map[string]any{"name": "caller-1", "uid": "uid-2"},
			"node":           map[string]any{"name": "node-1", "uid": "uid-3"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if len(id) < 20 {
		t.Errorf("jti = %q, want a random id", id)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) {
	tests := map[string]struct {
		form   url.Values
		status int
		code   string
	}{
		"grant type":             {form("grant_type", "client_credentials"), 400, "unsupported_grant_type"},
		"no grant type":          {form("grant_type", ""), 400, "unsupported_grant_type"},
		"no token":               {form("subject_token", ""), 400, "invalid_request"},
		"token with a line":      {form("subject_token", "of-caller\r\nX: y"), 400, "invalid_request"},
		"unknown token":          {form("subject_token", "of-nobody"), 400, "invalid_request"},
		"token of a person":      {form("subject_token", "of-jane"), 400, "invalid_request"},
		"token type":             {form("subject_token_type", "urn:ietf:params:oauth:token-type:saml2"), 400, "invalid_request"},
		"no token type":          {form("subject_token_type", ""), 400, "invalid_request"},
		"requested type":         {form("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token"), 400, "invalid_request"},
		"actor without a client": {form("actor_token", "of-caller", "actor_token_type", typeJWT), 400, "invalid_request"},
		"actor without a type":   {form("actor_token", "of-caller", "client_id", "caller.team.a2a-operator.dev"), 400, "invalid_request"},
		"actor with a line":      {form("actor_token", "of\ncaller", "actor_token_type", typeJWT, "client_id", "caller.team.a2a-operator.dev"), 400, "invalid_request"},
		"client without actor":   {form("client_id", "caller.team.a2a-operator.dev"), 400, "invalid_request"},
		"asserted without actor": {form("subject_token_type", a2a.TypeAssertedSubject), 400, "invalid_request"},
		"scope":                  {form("scope", "all"), 400, "invalid_scope"},
		"resource":               {form("resource", "http://echo.team.svc"), 400, "invalid_target"},
		"no audience":            {form("audience", ""), 400, "invalid_target"},
		"two audiences":          {url.Values{"grant_type": {grantType}, "subject_token": {"of-caller"}, "subject_token_type": {typeJWT}, "audience": {"echo.team.a2a-operator.dev", "b.team.a2a-operator.dev"}}, 400, "invalid_target"},
		"two tokens":             {url.Values{"grant_type": {grantType}, "subject_token": {"of-caller", "of-jane"}, "subject_token_type": {typeJWT}, "audience": {"echo.team.a2a-operator.dev"}}, 400, "invalid_request"},
		"the general audience":   {form("audience", "a2a-operator.dev"), 400, "invalid_target"},
		"audience of a host":     {form("audience", "echo.team.svc.cluster.local"), 400, "invalid_target"},
		"audience with a path":   {form("audience", "../echo.team.a2a-operator.dev"), 400, "invalid_target"},
		"audience of the API":    {form("audience", "https://kubernetes.default.svc.cluster.local"), 400, "invalid_target"},
		"audience of no agent":   {form("audience", "other.team.a2a-operator.dev"), 400, "invalid_target"},
		"audience of 64 labels":  {form("audience", strings.Repeat("a.", 64)+"a2a-operator.dev"), 400, "invalid_target"},
		"registry that fails":    {form("audience", "broken.team.a2a-operator.dev"), 503, "temporarily_unavailable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			recorder := newTestRegistry(t).post(strings.NewReader(test.form.Encode()))
			var got RequestError
			if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if recorder.Code != test.status || got.Code != test.code || got.Description == "" {
				t.Errorf("POST = %d %s, want %d %s and a description", recorder.Code, recorder.Body, test.status, test.code)
			}
			if strings.Contains(recorder.Body.String(), "access_token\"") || strings.Contains(recorder.Body.String(), "refused\"") {
				t.Errorf("POST = %s", recorder.Body)
			}
		})
	}
}

// endless is a body of 64 MB. read is the number of bytes that were read from it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read >= 64<<20 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'a'
	}
	e.read += len(p)
	return len(p), nil
}

func TestLargeBodyIsNotRead(t *testing.T) {
	body := &endless{}
	recorder := newTestRegistry(t).post(body)
	if recorder.Code != http.StatusRequestEntityTooLarge || body.read > 128<<10 {
		t.Errorf("POST = %d after %d bytes, want 413 after at most 128 KiB", recorder.Code, body.read)
	}
}

func TestOtherContentTypesAreRefused(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "/v1/token", strings.NewReader(`{"grant_type":"x"}`))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	newTestRegistry(t).exchange.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("POST = %d, want 400", recorder.Code)
	}
}

func TestRegistryWithoutKeysAnswersUnavailable(t *testing.T) {
	registry := newTestRegistry(t)
	registry.keys = nil
	recorder := registry.post(strings.NewReader(form().Encode()))
	if recorder.Code != http.StatusServiceUnavailable || recorder.Header().Get("Retry-After") != "1" {
		t.Errorf("POST = %d %v, want 503 with Retry-After", recorder.Code, recorder.Header())
	}
}

func TestFailedReviewIsUnavailable(t *testing.T) {
	registry := newTestRegistry(t)
	registry.err = errors.New("the API server does not answer")
	recorder := registry.post(strings.NewReader(form().Encode()))
	if recorder.Code != http.StatusServiceUnavailable || strings.Contains(recorder.Body.String(), "API server") {
		t.Errorf("POST = %d %s, want 503 without the cause", recorder.Code, recorder.Body)
	}
}

func TestExchangesOfOnePodAreLimited(t *testing.T) {
	registry := newTestRegistry(t)
	issued := 0
	for range 2 * exchangeRate.Burst {
		recorder := registry.post(strings.NewReader(form().Encode()))
		if recorder.Code == http.StatusOK {
			issued++
			continue
		}
		if recorder.Code != http.StatusTooManyRequests || recorder.Header().Get("Retry-After") != "1" {
			t.Fatalf("POST = %d %v, want 429 with Retry-After", recorder.Code, recorder.Header())
		}
	}
	if issued != exchangeRate.Burst {
		t.Errorf("%d tokens issued, want %d", issued, exchangeRate.Burst)
	}
	if recorder := registry.post(strings.NewReader(form("subject_token", "of-replica").Encode())); recorder.Code != http.StatusOK {
		t.Errorf("POST of another pod of the ServiceAccount = %d, want 200", recorder.Code)
	}
	registry.clock.SetTime(testTime.Add(time.Second))
	if recorder := registry.post(strings.NewReader(form().Encode())); recorder.Code != http.StatusOK {
		t.Errorf("POST after a second = %d, want 200", recorder.Code)
	}
}
