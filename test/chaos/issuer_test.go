// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/auth"
	"github.com/a2a-operator/a2a-operator/internal/operator/issuerkeys"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
)

// verifiers are what an agent and the registry know about the issuer of tokens.
type verifiers struct {
	keys     *issuerkeys.Source
	registry *access.Authenticator
}

func newVerifiers(t *testing.T) *verifiers {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	get, err := issuerkeys.APIServer(config, client)
	if err != nil {
		t.Fatal(err)
	}
	v := &verifiers{keys: issuerkeys.New(get, nil)}
	signatures := access.NewSignatures(func() ([]string, json.RawMessage) {
		issuer := v.keys.Current()
		if issuer == nil {
			return nil, nil
		}
		return append([]string{issuer.URL}, issuer.Others...), issuer.Keys
	})
	signatures.Accepted = v.keys.Accepted
	reviews := access.NewReviewer(cluster, prometheus.NewCounter(prometheus.CounterOpts{Name: "limited_total", Help: "Reviews that were refused."}), false)
	v.registry = access.NewAuthenticator(access.AuthenticatorOptions{Review: reviews.Token, Signatures: signatures, Clock: clock.RealClock{}})
	go func() { _ = v.keys.Start(t.Context()) }()
	<-v.keys.Tried()
	return v
}

// agentAccepts reports whether a sidecar with the present configuration accepts a token.
func (v *verifiers) agentAccepts(token string) bool {
	issuer := v.keys.Current()
	of := auth.KubernetesConfig{Now: time.Now}
	for _, url := range append([]string{issuer.URL}, issuer.Others...) {
		of.Issuers = append(of.Issuers, auth.KubernetesIssuer{Issuer: url, Audiences: []string{a2av1alpha1.Audience}, Keys: issuer.Keys})
	}
	authenticator, err := auth.NewKubernetes(of)
	if err != nil {
		return false
	}
	_, err = authenticator.Authenticate(requestWith(token))
	return err == nil
}

func requestWith(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func newToken(t *testing.T, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	if err := cluster.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// await waits until a condition is true.
func await(t *testing.T, name string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(runTimeout)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for ; !is(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("timeout: " + name)
		}
	}
}

// TestIssuerChanges restarts the API server with another issuer. A client with a token of the former issuer calls once in a second
// through the change, and is never refused. The registry accepts a token of the new issuer at once, and agents soon.
func TestIssuerChanges(t *testing.T) {
	if !full {
		t.Skip("it restarts the API server")
	}
	const namespace = "chaos-issuer"
	ensureNamespace(t, namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "caller-"}}
	if err := cluster.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	v := newVerifiers(t)
	former := newToken(t, account)
	if !v.agentAccepts(former) {
		t.Fatal("the token is refused before the change")
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	var calls, unavailable atomic.Int32
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for ; ctx.Err() == nil; <-ticker.C {
			calls.Add(1)
			if !v.agentAccepts(former) {
				t.Error("an agent refuses the token of the former issuer")
			}
			switch _, valid, err := v.registry.Caller(requestWith(former)); {
			case err != nil:
				unavailable.Add(1)
			case !valid:
				t.Error("the registry refuses the token of the former issuer")
			}
		}
	}()
	const issuer = "https://issuer.example"
	restartAPIServer(t, syscall.SIGTERM, "--service-account-issuer="+issuer)
	token := newToken(t, account)
	if got := auth.Issuer(token); got != issuer {
		t.Fatalf("issuer = %s, want %s", got, issuer)
	}
	began := time.Now()
	await(t, "the registry accepts the token of the new issuer", func() bool {
		_, valid, err := v.registry.Caller(requestWith(token))
		return valid && err == nil
	})
	await(t, "agents accept the token of the new issuer", func() bool { return v.agentAccepts(token) })
	took := time.Since(began)
	enough := calls.Load() + 5
	await(t, "more calls after the change", func() bool { return calls.Load() >= enough })
	stop()
	<-stopped
	t.Logf("%d calls with the token of the former issuer, 0 refused, %d reviews failed while the API server was away; the new issuer was accepted after %s", calls.Load(), unavailable.Load(), took)
}
