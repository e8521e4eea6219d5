// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialservice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
	"github.com/a2a-operator/a2a-operator/internal/objects/crdschema"
	"github.com/a2a-operator/a2a-operator/internal/operator/remote"
)

// newCluster returns a cluster with an Agent and with the Secret team/access, whose token is swordfish.
func newCluster(t *testing.T, agent client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, a2av1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "access"}, Data: map[string][]byte{"token": []byte("swordfish")}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(agent, secret).Build()
}

func remoteAgent(change ...func(*a2av1alpha1.Agent)) *a2av1alpha1.Agent {
	a := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "echo"},
		Spec:       a2av1alpha1.AgentSpec{Remote: &a2av1alpha1.AgentRemote{URL: "https://echo.example"}},
		Status:     a2av1alpha1.AgentStatus{URL: "https://echo.example"},
	}
	for _, c := range change {
		c(a)
	}
	return a
}

func withCredentials(c a2av1alpha1.RemoteCredentials) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		c.SecretRef.Name = "access"
		a.Spec.Remote.Credentials = c.DeepCopy()
	}
}

func TestServiceGivesCredentialsToWhomTheyAreShared(t *testing.T) {
	shared := func(namespaces ...string) func(*a2av1alpha1.Agent) {
		return withCredentials(a2av1alpha1.RemoteCredentials{Namespaces: namespaces})
	}
	moved := func(a *a2av1alpha1.Agent) { a.Spec.Remote.URL = "https://new.example/a2a" }
	at := func(origin string) string { return `{"namespace":"team","name":"echo","origin":"` + origin + `"}` }
	tests := map[string]struct {
		agent           *a2av1alpha1.Agent
		namespace, body string
		status          int
		want            string
	}{
		"own namespace":        {remoteAgent(shared()), "team", "", 200, `"value":"Bearer swordfish"`},
		"another namespace":    {remoteAgent(shared()), "other", "", 403, "list it in spec.remote.credentials.namespaces"},
		"a listed namespace":   {remoteAgent(shared("other")), "other", "", 200, "swordfish"},
		"every namespace":      {remoteAgent(shared("*")), "other", "", 200, "swordfish"},
		"no ServiceAccount":    {remoteAgent(shared("*")), "", "", 403, "spec.remote.credentials"},
		"no credentials":       {remoteAgent(), "other", "", 200, `{"expiresIn":60,"static":true}`},
		"no such agent":        {remoteAgent(), "team", `{"namespace":"team","name":"gone"}`, 404, "does not exist, or you may not see it"},
		"a hidden agent":       {remoteAgent(shared("*")), "blind", "", 404, "does not exist, or you may not see it"},
		"not JSON":             {remoteAgent(shared("*")), "team", "<", 400, "must be a JSON object"},
		"a large request":      {remoteAgent(shared("*")), "team", `{"namespace":"` + strings.Repeat("a", maxRequest), 400, "must be a JSON object"},
		"a Secret without key": {remoteAgent(shared(), func(a *a2av1alpha1.Agent) { a.Spec.Remote.Credentials.SecretRef.Key = "k" }), "team", "", 503, `"code":"CredentialsUnusable","message":"spec.remote.credentials of the agent are not usable; its condition Available has the cause"`},
		"the origin":           {remoteAgent(shared()), "team", at("https://echo.example:443"), 200, "swordfish"},
		"a former origin":      {remoteAgent(shared(), moved), "team", at("https://echo.example"), 503, "spec.remote.url"},
		"a former URL listed":  {remoteAgent(shared(), moved), "team", "", 503, "spec.remote.url"},
		"a new origin":         {remoteAgent(shared(), moved), "team", at("https://new.example"), 200, "swordfish"},
		"no token":             {remoteAgent(shared()), "nobody", "", 401, "no token"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newCluster(t, test.agent)
			var logged strings.Builder
			service := New(Options{
				Agents: e, Credentials: remote.NewCredentials(e, nil, clock.RealClock{}).Of, Clock: clock.RealClock{},
				Caller: func(*http.Request) (*Caller, error) {
					if test.namespace == "nobody" {
						return nil, &apierror.Error{Status: 401, Message: "no token"}
					}
					return &Caller{Username: "u", Namespace: test.namespace, Lists: func(_ context.Context, namespace, name string) (bool, error) {
						return test.namespace != "blind" && e.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &a2av1alpha1.Agent{}) == nil, nil
					}}, nil
				},
				Log: funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{Verbosity: 9}),
			})
			body := test.body
			if body == "" {
				text, _ := json.Marshal(remotecredential.Request{Namespace: "team", Name: "echo"})
				body = string(text)
			}
			w := httptest.NewRecorder()
			service.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/remote-credential", strings.NewReader(body)))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("POST = %d %s, want %d %s", w.Code, w.Body, test.status, test.want)
			}
			if strings.Contains(logged.String(), "swordfish") || test.status != 200 && strings.Contains(w.Body.String(), "swordfish") {
				t.Errorf("the key is in %s %s", logged.String(), w.Body)
			}
		})
	}
}

// TestTokensOfUsersAreExchangedForTheirAgent checks who may have a user's token exchanged, and that no token is in a log or an answer.
func TestTokensOfUsersAreExchangedForTheirAgent(t *testing.T) {
	const token = "token-of-the-user"
	end := time.Now().Add(time.Hour)
	exchanging := withCredentials(a2av1alpha1.RemoteCredentials{
		Type: a2av1alpha1.RemoteCredentialsOAuth2, OAuth2: &a2av1alpha1.RemoteOAuth2{Grant: a2av1alpha1.RemoteOAuth2TokenExchange, TokenURL: "https://id.example/t"},
	})
	lost := func(a *a2av1alpha1.Agent) { // as an older CRD does
		a.Status.ObservedSpecDigest = crdschema.AgentDigest(&a.Spec)
		a.Spec.Remote.Credentials.OAuth2.Grant = ""
	}
	newer := func(a *a2av1alpha1.Agent) { a.Spec.Remote.Credentials.OAuth2.Grant = "OfANewerVersion" }
	whole := remotecredential.Request{Namespace: "team", Name: "echo", Exchanges: true, SubjectToken: token, Client: "me.team.a2a-operator.dev"}
	for name, test := range map[string]struct {
		agent     *a2av1alpha1.Agent
		namespace string
		change    func(*remotecredential.Request)
		expiry    error
		err       error
		status    int
		want      string
	}{
		"a user":             {agent: remoteAgent(exchanging), status: 200, want: `"value":"for a user","expiresIn":`},
		"no user":            {agent: remoteAgent(exchanging), change: func(r *remotecredential.Request) { r.SubjectToken = "" }, status: 200, want: `"value":"for the client","expiresIn":60,"static":true,"exchanges":true`},
		"an earlier sidecar": {agent: remoteAgent(exchanging), change: func(r *remotecredential.Request) { *r = remotecredential.Request{Namespace: "team", Name: "echo"} }, status: 503, want: "restart the pods of the calling agent"},
		"another grant":      {agent: remoteAgent(withCredentials(a2av1alpha1.RemoteCredentials{})), status: 400, want: "grant of the agent is not TokenExchange"},
		"another namespace":  {agent: remoteAgent(exchanging), namespace: "other", status: 403, want: "spec.remote.credentials"},
		"an unproven user":   {agent: remoteAgent(exchanging), expiry: apierror.Unavailable("subject_token has expired"), status: 503, want: "subject_token has expired"},
		"a refusal":          {agent: remoteAgent(exchanging), err: errors.New("refused"), status: 503, want: "spec.remote.credentials.secretRef"},
		"a lost grant":       {agent: remoteAgent(exchanging, lost), change: func(r *remotecredential.Request) { r.SubjectToken = "" }, status: 503, want: "its condition Accepted has the cause"},
		"an unknown grant":   {agent: remoteAgent(exchanging, newer), change: func(r *remotecredential.Request) { r.SubjectToken = "" }, status: 503, want: "its condition Accepted has the cause"},
	} {
		t.Run(name, func(t *testing.T) {
			var logged strings.Builder
			service := New(Options{
				Agents: newCluster(t, test.agent), Clock: clock.RealClock{},
				Credentials: func(_ context.Context, _ *a2av1alpha1.Agent, user remotecredential.User, _ string) (remotecredential.Credential, time.Time, error) {
					switch {
					case test.err != nil:
						return remotecredential.Credential{}, time.Time{}, test.err
					case user == (remotecredential.User{}):
						return remotecredential.Credential{Header: "Authorization", Value: "for the client"}, time.Time{}, nil
					case user != (remotecredential.User{Token: token, Expires: end}):
						t.Errorf("user = %+v", user)
					}
					return remotecredential.Credential{Header: "Authorization", Value: "for a user"}, end, nil
				},
				Explain: remote.Explain,
				Expiry: func(_ context.Context, client, caller, got string) (time.Time, error) {
					if client != "me.team.a2a-operator.dev" || caller != "u" || got != token {
						t.Errorf("Expiry(%s, %s, %s)", client, caller, got)
					}
					return end, test.expiry
				},
				Caller: func(*http.Request) (*Caller, error) {
					return &Caller{Username: "u", Namespace: cmp.Or(test.namespace, "team"), Lists: func(context.Context, string, string) (bool, error) { return true, nil }}, nil
				},
				Log: funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{Verbosity: 9}),
			})
			asked := whole
			if test.change != nil {
				test.change(&asked)
			}
			body, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			service.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/remote-credential", bytes.NewReader(body)))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("POST = %d %s, want %d %s", w.Code, w.Body, test.status, test.want)
			}
			if strings.Contains(logged.String()+w.Body.String(), token) {
				t.Errorf("the token is in %s %s", logged.String(), w.Body)
			}
		})
	}
}
