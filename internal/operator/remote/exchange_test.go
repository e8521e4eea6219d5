// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestCardThatAClientWithoutATokenCannotRead checks that the condition names the grant that the client lacks.
func TestCardThatAClientWithoutATokenCannotRead(t *testing.T) {
	e := newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"}))
	e.setAnswer(status(http.StatusUnauthorized, ""))
	server := &tokenServer{answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"unauthorized_client"}`)
	}}
	reader := cardReader{credentials: NewCredentials(e, server, clock.RealClock{}), guard: e, parsing: newParsing()}
	result, err := reader.readCard(t.Context(), remoteAgent(withCredentials(exchanging())))
	if err == nil || result.Failure.Reason != a2av1alpha1.ReasonRemoteCardNotServed ||
		!strings.Contains(result.Failure.Message, "allow spec.remote.credentials.oauth2.clientID the client credentials grant there") {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestClientThatOnlyExchanges checks that a client without the client credentials grant has no credential of its own, and exchanges the tokens
// of users. A wrong client secret stays an error.
func TestClientThatOnlyExchanges(t *testing.T) {
	for code, wanted := range map[string]bool{"unauthorized_client": true, "unsupported_grant_type": true, "invalid_client": false} {
		server := &tokenServer{answer: func(w http.ResponseWriter, r *http.Request) {
			if r.PostFormValue("grant_type") == grantTokenExchange {
				issue("exchanged", "")(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":%q}`, code)
		}}
		credentials := NewCredentials(newFakeRemote(t, secretOf(map[string]string{"client-secret": "swordfish"})), server, clock.RealClock{})
		a := remoteAgent(withCredentials(exchanging()))
		got, _, err := credentials.Of(t.Context(), a, remotecredential.User{}, "")
		before := server.requests.Load()
		if !got.IsZero() || (err == nil) != wanted {
			t.Errorf("%s without a user: %s, %v", code, got, err)
		}
		if _, _, again := credentials.Of(t.Context(), a, remotecredential.User{}, ""); (again == nil) != wanted || server.requests.Load() != before {
			t.Errorf("%s, once more: %v after %d requests", code, again, server.requests.Load()-before)
		}
		got, _, err = credentials.Of(t.Context(), a, remotecredential.User{Token: "one", Expires: time.Now().Add(time.Hour)}, "")
		if err != nil || got.Value != "Bearer exchanged" {
			t.Errorf("%s with a user: %q, %v", code, got.Value, err)
		}
		plain := remoteAgent(named("team", "plain"), withCredentials(oauth))
		if _, _, err := credentials.Of(t.Context(), plain, remotecredential.User{}, ""); err == nil {
			t.Errorf("%s of an agent with the client credentials grant is no error", code)
		}
	}
}

func TestSubjectTokenType(t *testing.T) {
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for text, want := range map[string]string{
		token(`{"iss":"https://id.example","sub":"u1"}`): typeAccessToken, token(`{"sub":"x","kubernetes.io":{"namespace":"team"}}`): typeJWT, "opaque": typeAccessToken,
	} {
		if got := subjectTokenType(text); got != want {
			t.Errorf("subjectTokenType(%s) = %s", text, got)
		}
	}
}

// countingReader returns a Secret for every name, and counts the reads.
type countingReader struct {
	client.Reader
	secret *corev1.Secret
	count  atomic.Int64
}

func (r *countingReader) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	r.count.Add(1)
	r.secret.DeepCopyInto(o.(*corev1.Secret)) // Credentials read nothing else
	return nil
}

// TestExchangesAreBounded sends 3,000 users of one namespace to an authorization server that hangs, and then users of many namespaces. The
// operator reads the Secret once, has few requests at a time, refuses the others soon, and serves the users of another namespace.
func TestExchangesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != "hanging.example" {
				return (&tokenServer{answer: issue("a", "")}).RoundTrip(r)
			}
			running.Add(1)
			defer running.Add(-1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		reader := &countingReader{secret: secretOf(map[string]string{"client-secret": "swordfish"})}
		credentials := NewCredentials(reader, transport, clock.RealClock{})
		in := func(namespace, host string) *a2av1alpha1.Agent {
			a := remoteAgent(named(namespace, "echo"), withCredentials(exchanging()))
			a.Spec.Remote.Credentials.OAuth2.TokenURL = "https://" + host + "/token"
			return a
		}
		// flood sends 3,000 users to an Agent at once, and returns the number that was told to try again in time.
		flood := func(a *a2av1alpha1.Agent) (told *atomic.Int64) {
			told = &atomic.Int64{}
			begin := time.Now()
			for i := range 3000 {
				go func() {
					_, _, err := credentials.Of(t.Context(), a, remotecredential.User{Token: fmt.Sprint(i), Expires: begin.Add(time.Hour)}, "")
					if text := Explain(a, err); strings.Contains(text, "(8 at a time for Agents of one namespace, 32 in all); try again") && time.Since(begin) <= exchangeWait {
						told.Add(1)
					}
				}()
			}
			return told
		}
		told := flood(in("team", "hanging.example"))
		synctest.Wait()
		if n := told.Load(); n < 3000-sameNamespace-waitingExchanges || running.Load() != sameNamespace || reader.count.Load() != 1 {
			t.Errorf("%d users are refused at once, %d exchanges run, and the Secret was read %d times", n, running.Load(), reader.count.Load())
		}
		if _, _, err := credentials.Of(t.Context(), in("quiet", "id.example"), remotecredential.User{Token: "one", Expires: time.Now().Add(time.Hour)}, ""); err != nil {
			t.Errorf("a user of another namespace: %v", err)
		}
		time.Sleep(exchangeWait)
		synctest.Wait()
		if n := told.Load(); n != 3000-sameNamespace {
			t.Errorf("%d of 3,000 users were told to try again after %s", n, exchangeWait)
		}
		time.Sleep(credentialTimeout)
		reader.count.Store(0)
		for i := range 6 {
			flood(in(fmt.Sprint(i), "hanging.example"))
		}
		synctest.Wait()
		if n := reader.count.Load(); running.Load() != concurrentExchanges || n > 6 {
			t.Errorf("%d exchanges run for 6 namespaces, and 6 Secrets were read %d times", running.Load(), n)
		}
		time.Sleep(credentialTimeout + exchangeWait)
		synctest.Wait()
		if n := running.Load(); n != 0 {
			t.Errorf("%d exchanges run at the end", n)
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
		"no right":          {answer(400, `{"error":"unauthorized_client"}`), "status 400 unauthorized_client; correct clientID, or allow this client to exchange tokens there (RFC 8693)"},
		"no such grant":     {answer(400, `{"error":"unsupported_grant_type"}`), "status 400 unsupported_grant_type; correct the token of the user, which the authorization server must accept, or grant"},
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
