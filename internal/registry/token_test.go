// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// claimsSigner is a Signer that returns the claims without a signature.
type claimsSigner struct{}

func (claimsSigner) Sign(claims any) (string, error) {
	text, err := json.Marshal(claims)
	return string(text), err
}

// exchange returns the response to a request for a token for an agent.
func (w *world) exchange(t *testing.T, token, audience string) (status int, body string) {
	t.Helper()
	form := url.Values{
		"grant_type":    {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}, "audience": {audience},
	}
	request := httptest.NewRequest(http.MethodPost, "http://registry"+sidecarconfig.TokenPath, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

func TestTokensAreIssuedForListedAgents(t *testing.T) {
	w := newWorld(t, fleet(t))
	for _, test := range []struct {
		name, token, audience string
		status                int
		contains              string
	}{
		{"own namespace", "home", "echo.team-a.a2a-operator.dev", 200, `\"sub\":\"system:serviceaccount:team-a:bot\"`},
		{"its audience", "home", "echo.team-a.a2a-operator.dev", 200, `\"aud\":[\"echo.team-a.a2a-operator.dev\"]`},
		{"another namespace", "home", "echo.team-b.a2a-operator.dev", 400, "invalid_target"},
		{"no agent", "home", "nobody.team-a.a2a-operator.dev", 400, "invalid_target"},
		{"no ServiceAccount", "admin", "echo.team-a.a2a-operator.dev", 400, "invalid_request"},
		{"not a token", "forged", "echo.team-a.a2a-operator.dev", 400, "invalid_request"},
	} {
		if status, body := w.exchange(t, test.token, test.audience); status != test.status || !strings.Contains(body, test.contains) {
			t.Errorf("%s: %d %s, want %d with %s", test.name, status, body, test.status, test.contains)
		}
	}
}

func TestIssuedTokenNamesThePodAndTheNodeOfTheCaller(t *testing.T) {
	w := newWorld(t, fleet(t))
	w.tokens["pod"] = caller(t, "system:serviceaccount:team-a:bot", map[string]authenticationv1.ExtraValue{
		access.ExtraPodName: {"bot-1"}, access.ExtraPodUID: {"u1"}, access.ExtraNodeName: {"node-1"}, access.ExtraNodeUID: {"u2"},
	})
	want := `\"pod\":{\"name\":\"bot-1\",\"uid\":\"u1\"},\"node\":{\"name\":\"node-1\",\"uid\":\"u2\"}`
	if status, body := w.exchange(t, "pod", "echo.team-a.a2a-operator.dev"); status != http.StatusOK || !strings.Contains(body, want) {
		t.Errorf("%d %s, want 200 with %s", status, body, want)
	}
}

func TestExchangeRevealsNoHiddenAgents(t *testing.T) {
	w := newWorld(t, fleet(t))
	_, hidden := w.exchange(t, "home", "secret.team-d.a2a-operator.dev")
	_, missing := w.exchange(t, "home", "gone.team-d.a2a-operator.dev")
	if diff := cmp.Diff(missing, hidden); diff != "" {
		t.Errorf("response for a hidden agent (-missing +hidden):\n%s", diff)
	}
}

func TestExchangeWithoutTheAPIServerIsUnavailable(t *testing.T) {
	w := newWorld(t, fleet(t))
	w.broken = errors.New("connection refused")
	if status, body := w.exchange(t, "home", "echo.team-a.a2a-operator.dev"); status != http.StatusServiceUnavailable || strings.Contains(body, "refused") {
		t.Errorf("%d %s, want 503 without the cause", status, body)
	}
}

// The response to a method that a path does not support lists the supported methods in Allow, and
// has the form of errors of the path's API.
func TestOtherMethodsAreNotAllowed(t *testing.T) {
	w := newWorld(t, fleet(t))
	for _, test := range []struct{ path, method, allow, form string }{
		{sidecarconfig.TokenPath, http.MethodGet, "POST", `{"error":"invalid_request","error_description":"the method must be POST"}`},
		{sidecarconfig.TokenPath, http.MethodPut, "POST", `{"error":"invalid_request"`},
		{sidecarconfig.HealthPath, http.MethodGet, "PUT", `{"error":{"code":"MethodNotAllowed","message":"a health report is written; use PUT"}}`},
		{sidecarconfig.HealthPath, http.MethodPost, "PUT", `{"error":{"code":"MethodNotAllowed"`},
		{"/v1/agents", http.MethodPost, "GET, HEAD", `{"error":{"code":"MethodNotAllowed"`},
	} {
		recorder := httptest.NewRecorder()
		w.unvalidated.ServeHTTP(recorder, httptest.NewRequest(test.method, "http://registry"+test.path, nil))
		if got := recorder.Header().Get("Allow"); recorder.Code != http.StatusMethodNotAllowed || got != test.allow || !strings.HasPrefix(recorder.Body.String(), test.form) {
			t.Errorf("%s %s = %d, Allow %q, %s; want %q and %s", test.method, test.path, recorder.Code, got, recorder.Body, test.allow, test.form)
		}
	}
}
