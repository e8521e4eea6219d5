// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialservice

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	}
	for _, c := range change {
		c(a)
	}
	return a
}

func withCredentials(c a2av1alpha1.RemoteCredentials) func(*a2av1alpha1.Agent) {
	return func(a *a2av1alpha1.Agent) {
		c.SecretRef.Name = "access"
		a.Spec.Remote.Credentials = &c
	}
}

func TestServiceGivesCredentialsToWhomTheyAreShared(t *testing.T) {
	shared := func(namespaces ...string) func(*a2av1alpha1.Agent) {
		return withCredentials(a2av1alpha1.RemoteCredentials{Namespaces: namespaces})
	}
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
		"a Secret without key": {remoteAgent(shared(), func(a *a2av1alpha1.Agent) { a.Spec.Remote.Credentials.SecretRef.Key = "k" }), "team", "", 503, "its condition Available has the cause"},
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
