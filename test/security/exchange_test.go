// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/operator/tokenexchange"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

// callersAudience is the audience of the tokens with which people call the agent whose gateway calls the remote agents.
const callersAudience = "caller.example.com"

// newVerifier returns the registry's verifier of the tokens of people, as the manager gives it to the service for credentials.
func (a *remoteAgents) newVerifier() func(ctx context.Context, client, caller, token string) (time.Time, error) {
	a.t.Helper()
	issuers := tokenexchange.NewIssuers(tokenexchange.IssuersOptions{Transport: &http.Transport{DisableKeepAlives: true}, Log: logr.Discard(), Clock: clock.RealClock{}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		_ = issuers.Start(ctx)
		close(ended)
	}()
	a.t.Cleanup(func() {
		cancel()
		<-ended
	})
	verifier := tokenexchange.NewVerifier(tokenexchange.VerifierOptions{
		Agent: func(_ context.Context, name types.NamespacedName) (*a2av1alpha1.Agent, error) {
			agent := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
			agent.Spec.Workload = &a2av1alpha1.AgentWorkload{}
			agent.Spec.Access.Authentication = []a2av1alpha1.Authentication{
				{Type: a2av1alpha1.AuthenticationJWT, JWT: &a2av1alpha1.JWTAuthentication{Issuer: a.issuer.URL, Audiences: []string{callersAudience}}},
			}
			return agent, nil
		},
		Issuers: func() []auth.KubernetesIssuer { return nil }, People: issuers, Clock: a.clock,
	})
	return func(ctx context.Context, client, caller, token string) (time.Time, error) {
		expires, err := verifier.Expiry(ctx, client, caller, token)
		if refused, ok := errors.AsType[*tokenexchange.RequestError](err); ok {
			return expires, apierror.Unavailable(refused.Description)
		}
		return expires, err
	}
}

// tokenOf returns a token of a person for the calling agent.
func (a *remoteAgents) tokenOf(person string, life time.Duration) string {
	return a.issuer.sign(a.issuer.people, map[string]any{"iss": a.issuer.URL, "sub": person, "aud": callersAudience, "exp": time.Now().Add(life).Unix()})
}

// beginTurn begins a turn of the calling agent for a person, who has called with a token, "" for none. It runs until the end of the test.
func (a *remoteAgents) beginTurn(person, token string) {
	principal := "jwt:" + a.issuer.URL + "#" + person
	a.turns.Begin("turn of "+person, &a2a.Subject{Principal: principal, Owner: a2a.Owner(principal), Credential: a2a.Credential(token)})
}

// TestExchangeThatFailsEndsInAStatedError lets the authorization server of a remote agent misbehave for some people, while it serves another one. Each
// call ends with the cause, and with the field to correct if it is one of the Agent. None reaches the agent with the rights of the client.
func TestExchangeThatFailsEndsInAStatedError(t *testing.T) {
	a := newRemoteAgents(t)
	released := make(chan struct{})
	a.issuer.misbehave = func(w http.ResponseWriter, r *http.Request, person, token string) bool {
		switch person {
		case "hang":
			select {
			case <-r.Context().Done():
			case <-released:
			}
		case "html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, "<html>%s %s</html>", token, r.PostFormValue("subject_token"))
		case "audience":
			token = a.issuer.sign(a.issuer.current(), map[string]any{"iss": a.issuer.URL, "sub": person, "aud": "rain", "scope": "call", "exp": time.Now().Add(time.Hour).Unix()})
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, token)
		case "scope":
			_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600,"scope":"read"}`, token)
		case "redirect":
			http.Redirect(w, r, a.servers["bearer"].URL, http.StatusTemporaryRedirect)
		case "error":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, r.PostFormValue("subject_token"))
		default:
			return false
		}
		return true
	}
	t.Cleanup(func() { close(released) })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	causes := map[string]string{
		"hang":     "spec.remote.credentials.oauth2.tokenURL: " + a.issuer.URL + " does not answer within 8s",
		"html":     "spec.remote.credentials.oauth2.tokenURL: the answer of " + a.issuer.URL + " is not a token response",
		"audience": "The agent requires other credentials",
		"scope":    `spec.remote.credentials.oauth2.scopes: the authorization server issues a token without the scope \"call\"`,
		"redirect": "spec.remote.credentials.oauth2: the authorization server answers with status 307; correct tokenURL",
		"error":    "spec.remote.credentials.oauth2: the authorization server answers with status 500; correct tokenURL, or check the authorization server",
		"expired":  "subject_token", "forged": "subject_token", "asserted": "there is none. The caller has sent no token",
	}
	for person := range causes {
		switch token := a.tokenOf(person, time.Hour); person {
		case "expired":
			a.beginTurn(person, a.tokenOf(person, -2*time.Minute))
		case "forged":
			a.beginTurn(person, token[:len(token)-8]+"AAAAAAAA")
		case "asserted":
			a.beginTurn(person, "")
		default:
			a.beginTurn(person, token)
		}
	}
	a.beginTurn("u1", a.tokenOf("u1", time.Hour))
	a.beginTurn("u0", a.tokenOf("u0", time.Hour))
	if problem := a.call(client, "exchange", "u0"); problem != "" { // the registry reads the keys of the issuer
		t.Fatalf("the first user: %s", problem)
	}
	var wg sync.WaitGroup
	for person, cause := range causes {
		wg.Go(func() {
			if problem := a.call(client, "exchange", person); !strings.Contains(problem, cause) {
				t.Errorf("%s: %s\nwant %s", person, problem, cause)
			}
		})
	}
	began := time.Now()
	if problem := a.call(client, "exchange", "u1"); problem != "" || time.Since(began) > 7*time.Second {
		t.Errorf("a user whose token is exchanged, after %s: %s", time.Since(began), problem)
	}
	wg.Wait()
	securitypage.Attempts(t, "T-EXCHANGE", len(causes))
	a.checkSecrets()
}
