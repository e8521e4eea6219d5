// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

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
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/objects/names"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// exchange sends a request for a token, and returns the status and the answer.
func exchange(ctx context.Context, l *listener, form url.Values) (status int, answer string) {
	body := form.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url(sidecarconfig.TokenPath), strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, string(text)
}

const jwtType = "urn:ietf:params:oauth:token-type:jwt"

func exchangeForm(token, audience string) url.Values {
	return url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token}, "subject_token_type": {jwtType}, "audience": {audience},
	}
}

// forged returns a token with a payload and a signature of no key.
func forged(payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"ES256","kid":"k"}`)) + "." + encode([]byte(payload)) + "." + encode(make([]byte, 64))
}

// podToken returns a token for the registry of the ServiceAccount of an Agent's pods, which the operator creates.
func (h *hostile) podToken(t *testing.T, agent string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: names.ServiceAccount(agent)}}
	await(t.Context(), func() bool { return h.Get(t.Context(), client.ObjectKeyFromObject(account), account) == nil })
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{a2av1alpha1.Audience}}}
	if err := h.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// TestTokensForOthers asks for tokens on behalf of users with the tokens of a tenant: for users that nobody has authenticated, in chains
// that are too long, of issuers that do not answer, and in requests that are too large. Another caller gets its tokens.
func TestTokensForOthers(t *testing.T) {
	c := startCluster(t)
	manager := startManager(t, c, c.kubeconfig)
	registry := &manager.listeners[2]
	bad, good := newHostile(t, c), newTenant(t, c)
	const issuers = 8
	issuer := func(i int) string { return fmt.Sprintf("https://192.0.2.%d", i+1) }
	model := newAgent(t, "model", bad.namespace, "d", "", "")
	unstructured.RemoveNestedField(model.Object, "spec", "workload")
	if err := unstructured.SetNestedField(model.Object, "http://vllm.models:8000/v1", "spec", "model", "url"); err != nil {
		t.Fatal(err)
	}
	agents := []*unstructured.Unstructured{model, newAgent(t, "caller", bad.namespace, "d", "", "")}
	for i := range issuers {
		admits := fmt.Sprintf("  access: {authentication: [{type: JWT, jwt: {issuer: %q, audiences: [a]}}]}\n", issuer(i))
		agents = append(agents, newAgent(t, fmt.Sprintf("caller-%d", i), bad.namespace, "d", "", admits))
	}
	for _, agent := range agents {
		if err := bad.Create(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
	}
	if err := good.Create(t.Context(), newAgent(t, "called", good.namespace, "d", "", "")); err != nil {
		t.Fatal(err)
	}
	reader := exchangeForm(c.token(t, a2av1alpha1.Audience), names.Audience("called", good.namespace))
	if took := await(t.Context(), func() bool { status, _ := exchange(t.Context(), registry, reader); return status == http.StatusOK }); took > 50*time.Second {
		_, answer := exchange(t.Context(), registry, reader)
		t.Fatal("no token for an administrator: ", answer)
	}
	behalf := func(agent, subject, kind string) url.Values {
		form := exchangeForm(subject, names.Audience("caller", bad.namespace))
		form.Set("subject_token_type", kind)
		form.Set("actor_token", bad.tokens[agent])
		form.Set("actor_token_type", jwtType)
		form.Set("client_id", names.Audience(agent, bad.namespace))
		return form
	}
	bad.tokens = map[string]string{}
	for _, agent := range agents {
		bad.tokens[agent.GetName()] = bad.podToken(t, agent.GetName())
	}
	nested := func(begin, end string, n int) string { return strings.Repeat(begin, n) + "1" + strings.Repeat(end, n) }
	assertion := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	wrong := []url.Values{
		behalf("caller", forged(`{"act":`+nested(`{"sub":"a","act":`, "}", 800)+`}`), jwtType),
		behalf("caller", forged(`{"iss":"a2a-operator","aud":"`+names.Audience("caller", bad.namespace)+`","act":`+nested("[", "]", 2000)+`}`), jwtType),
		behalf("caller", strings.Repeat("x.", 20<<10), jwtType),
		behalf("caller", assertion(`{"Principal":"u","Owner":"u","Actors":["`+strings.Repeat(`a","`, 2000)+`a"]}`), a2a.TypeAssertedSubject),
		behalf("caller", assertion(nested(`{"Claims":`, "}", 2000)), a2a.TypeAssertedSubject),
		behalf("model", forged(`{"iss":"https://192.0.2.1","aud":"a"}`), jwtType),
		behalf("caller", strings.Repeat("x", 1<<20), jwtType),
		{"grant_type": {"x"}, "audience": make([]string, 5000)},
	}
	for i := range issuers {
		wrong = append(wrong, behalf(fmt.Sprintf("caller-%d", i), forged(fmt.Sprintf(`{"iss":%q,"aud":"a","sub":"u"}`, issuer(i))), jwtType))
	}
	var next, issued atomic.Int64
	manager.withstands(t, "registry: tokens on behalf of others", 2*lasts, func(ctx context.Context) string {
		go func() {
			for ctx.Err() == nil {
				if status, answer := exchange(context.WithoutCancel(ctx), registry, reader); status != http.StatusOK {
					t.Errorf("another caller gets %d %.200s", status, answer)
				}
				issued.Add(1)
				time.Sleep(5 * pause)
			}
		}()
		seen := crowd(ctx, 48, 500, func(ctx context.Context) string {
			n := int(next.Add(1))
			if n%4 == 0 { // a valid request, too often
				return "valid " + status(exchange(ctx, registry, exchangeForm(bad.tokens["caller"], names.Audience("caller", bad.namespace))))
			}
			s, answer := exchange(ctx, registry, wrong[n%len(wrong)])
			if s == http.StatusOK {
				t.Errorf("request %d gets a token: %.200s", n%len(wrong), answer)
			}
			return status(s, answer)
		})
		return fmt.Sprintf("%s; %d tokens of another caller", seen, issued.Load())
	})
}
