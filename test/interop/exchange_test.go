// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
	"github.com/a2a-operator/a2a-operator/test/sidecartest"
)

// TestTokensAreExchangedAtARealIssuer exchanges the token of a person at a real issuer, and calls an agent with the result, which accepts the
// person's own token not. Wrong audiences, scopes and tokens give no credential, and a message that names the field.
func TestTokensAreExchangedAtARealIssuer(t *testing.T) {
	issuer := startIssuer(t, "researcher")
	principals := make(chan string, 1)
	far := sidecartest.Start(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		sidecartest.TextAgent(w, r)
	}, withSignIn(issuer, "remote")).URL
	known := newSignedInV1(t, far)
	token := signIn(t, known, "call")
	transport := sidecartest.Plain(t).Transport
	get := func(user string, change func(*a2av1alpha1.RemoteOAuth2)) (string, string) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"client-secret": []byte(signInSecret)}}
		oauth2 := &a2av1alpha1.RemoteOAuth2{
			TokenURL: issuer + "/oauth/token", ClientID: signInID, Audience: "remote", Scopes: []string{"call"}, Grant: a2av1alpha1.RemoteOAuth2TokenExchange,
		}
		if change != nil {
			change(oauth2)
		}
		agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "far"}, Spec: a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{
			URL: far, Credentials: &a2av1alpha1.RemoteCredentials{
				Type: a2av1alpha1.RemoteCredentialsOAuth2, SecretRef: a2av1alpha1.RemoteSecretRef{Name: "access"}, OAuth2: oauth2,
			},
		}}}
		credentials := remote.NewCredentials(fake.NewClientBuilder().WithObjects(secret).Build(), transport, clock.RealClock{})
		end := time.Now().Add(time.Minute)
		credential, expires, err := credentials.Of(t.Context(), agent, remotecredential.User{Token: user, Expires: end}, "")
		if err != nil {
			text := remote.Explain(agent, err)
			if strings.Contains(text, user) {
				t.Errorf("the message has the token: %s", text)
			}
			return "", text
		}
		if expires.After(end) {
			t.Errorf("the credential is used until %s, and the token of the user until %s", expires, end)
		}
		return strings.TrimPrefix(credential.Value, "Bearer "), ""
	}

	exchanged, failure := get(token, nil)
	if failure != "" {
		t.Fatal(failure)
	}
	const flow = "clientCredentials"
	if status, challenge := known.call(t, flow, exchanged); status != http.StatusOK {
		t.Fatalf("with the exchanged token: status %d, %s", status, challenge)
	}
	if got, want := <-principals, "jwt:"+issuer+"#"+personID; got != want {
		t.Errorf("the agent learns of %q, want %q", got, want)
	}
	if status, _ := known.call(t, flow, token); status != http.StatusUnauthorized {
		t.Errorf("with the token for another agent: status %d", status)
	}
	for name, test := range map[string]struct {
		token  string
		change func(*a2av1alpha1.RemoteOAuth2)
		want   string
	}{
		"another audience": {token, func(o *a2av1alpha1.RemoteOAuth2) { o.Audience = "other" }, "spec.remote.credentials.oauth2: the authorization server answers with status 400 invalid_target; correct audience"},
		"a scope less":     {token, func(o *a2av1alpha1.RemoteOAuth2) { o.Scopes = append(o.Scopes, "withheld") }, `spec.remote.credentials.oauth2.scopes: the authorization server issues a token without the scope "withheld"`},
		"another client":   {token, func(o *a2av1alpha1.RemoteOAuth2) { o.ClientID = "other" }, "invalid_client; correct clientID, or the client secret"},
		"a forged token":   {token[:len(token)-8] + "AAAAAAAA", nil, "status 400 invalid_request; correct the token of the user, which the authorization server must accept, or grant"},
		"no such endpoint": {token, func(o *a2av1alpha1.RemoteOAuth2) { o.TokenURL = issuer + "/nowhere" }, "answers with status 404; correct tokenURL"},
	} {
		if _, failure := get(test.token, test.change); !strings.Contains(failure, test.want) {
			t.Errorf("%s: %s\nwant %s", name, failure, test.want)
		}
	}
}
