// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

// exchanging are credentials whose calls for users have a token for which the user's token was exchanged.
func exchanging() a2av1alpha1.RemoteCredentials {
	c := *oauth.DeepCopy()
	c.OAuth2.Grant = a2av1alpha1.RemoteOAuth2TokenExchange
	return c
}

// TestTokensOfUsersAreExchanged checks the request, that each user and the client itself have a token of their own, that a token is renewed at
// half of its lifetime, and that none is used after the end of the user's token.
func TestTokensOfUsersAreExchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var forms []url.Values
		server := &tokenServer{}
		server.answer = func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			forms = append(forms, r.PostForm)
			issue(fmt.Sprintf("%s-%d", r.PostForm.Get("subject_token"), server.requests.Load()), `,"expires_in":600,"issued_token_type":"urn:ietf:params:oauth:token-type:access_token"`)(w, r)
		}
		e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
		credentials := NewCredentials(e, server, clock.RealClock{})
		a := remoteAgent(withCredentials(exchanging()))
		expect := func(what string, user remotecredential.User, want string) {
			t.Helper()
			got, expires, err := credentials.Of(t.Context(), a, user, "")
			if err != nil || got.Value != "Bearer "+want || user.Token != "" && expires.After(user.Expires) {
				t.Errorf("%s: %q until %s, %v, want %s", what, got.Value, expires, err, want)
			}
			synctest.Wait()
		}
		one := remotecredential.User{Token: "one", Expires: time.Now().Add(400 * time.Second)}
		two := remotecredential.User{Token: "two", Expires: time.Now().Add(time.Hour)}
		expect("a user", one, "one-1")
		want := url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "scope": {"read write"}, "audience": {"echo"},
			"subject_token": {"one"}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		}
		if diff := cmp.Diff([]url.Values{want}, forms); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		expect("another user", two, "two-2")
		expect("no user", remotecredential.User{}, "-3")
		expect("the first user again", one, "one-1")
		time.Sleep(201 * time.Second)
		expect("half of the time that the user's token has, in the background", one, "one-1")
		expect("after that", one, "one-4")
		time.Sleep(200 * time.Second)
		if got, _, err := credentials.Of(t.Context(), a, one, ""); err == nil {
			t.Errorf("%q is used after the end of the user's token", got.Value)
		}
	})
}

// TestExchangeThatFails checks that a server which misbehaves gets nothing through, and that the message names the field and no secret.
func TestExchangeThatFails(t *testing.T) {
	const token = "token-of-the-user"
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		"another audience":  {answer(400, `{"error":"invalid_target","error_description":"`+token+`"}`), "status 400 invalid_target; correct audience"},
		"a refused user":    {answer(400, `{"error":"invalid_grant"}`), "status 400 invalid_grant; correct the token of the user, which the authorization server must accept, or grant"},
		"no such grant":     {answer(400, `{"error":"unsupported_grant_type"}`), "status 400 unsupported_grant_type; correct tokenURL"},
		"a scope less":      {issue("a", `,"scope":"read"`), `issues a token without the scope "write"`},
		"HTML":              {answer(200, "<html>"+token), "is not a token response"},
		"no access token":   {answer(200, `{"access_token":"a","token_type":"N_A"}`), "is not a token response"},
		"a token that ends": {issue("a", `,"expires_in":-1`), "is not a token response"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
			a := remoteAgent(withCredentials(exchanging()))
			user := remotecredential.User{Token: token, Expires: time.Now().Add(time.Hour)}
			got, _, err := NewCredentials(e, &tokenServer{answer: test.answer}, clock.RealClock{}).Of(t.Context(), a, user, "")
			if err == nil || !got.IsZero() {
				t.Fatalf("Of() = %s, %v", got, err)
			}
			text := Explain(a, err)
			if !strings.HasPrefix(text, "spec.remote.credentials.oauth2") || !strings.Contains(text, test.want) || strings.Contains(text+err.Error()+fmt.Sprintf("%+v %#v", user, user), token) {
				t.Errorf("%s\nwant %s, without the token", text, test.want)
			}
		})
	}
}

// TestClientAuthenticatesInTheHeaderOrTheParameters checks that servers which know one of the two ways issue tokens, and that a refusal of something
// else is not hidden by the refusal of the other way.
func TestClientAuthenticatesInTheHeaderOrTheParameters(t *testing.T) {
	refuse := func(w http.ResponseWriter, status int, code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, code)
	}
	for name, test := range map[string]struct {
		inHeader bool
		refusal  string
		want     string
	}{
		"header":                    {inHeader: true},
		"parameters":                {},
		"header, wrong request":     {inHeader: true, refusal: "invalid_request", want: "status 400 invalid_request"},
		"header, wrong target":      {inHeader: true, refusal: "invalid_target", want: "status 400 invalid_target"},
		"parameters, wrong scope":   {refusal: "invalid_scope", want: "status 400 invalid_scope"},
		"header, wrong secret":      {inHeader: true, refusal: "invalid_client", want: "status 400 invalid_client"},
		"parameters, wrong request": {refusal: "invalid_request", want: "status 400 invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &tokenServer{answer: func(w http.ResponseWriter, r *http.Request) {
				_, _, inHeader := r.BasicAuth()
				switch {
				case inHeader != test.inHeader:
					refuse(w, http.StatusBadRequest, "invalid_client")
				case test.refusal != "":
					refuse(w, http.StatusBadRequest, test.refusal)
				default:
					issue("a", "")(w, r)
				}
			}}
			e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
			a := remoteAgent(withCredentials(oauth))
			_, _, err := NewCredentials(e, server, clock.RealClock{}).Of(t.Context(), a, remotecredential.User{}, "")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(Explain(a, err), test.want)) {
				t.Errorf("Of() = %v, want %q", err, test.want)
			}
		})
	}
}
