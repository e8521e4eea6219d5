// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

const (
	issuer   = "https://kubernetes.default.svc"
	audience = "echo.team.a2a-operator.dev"
	// message is a message of A2A 0.3 with an id and a text.
	message = `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"configuration":{"blocking":true},"message":{"kind":"message","messageId":%q,"role":"user","parts":[{"kind":"text","text":%q}]}}}`
)

// echo is the agent of the well-behaved client: it reads the whole turn, and answers.
func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "Hi")
}

// sidecar is a sidecar program in front of an agent, as in a pod: it has a sidecar configuration and all listeners.
type sidecar struct {
	*Program
	agent, health, gateway listener
	key                    *ecdsa.PrivateKey
}

// startSidecar starts a sidecar that admits anonymous callers and those with a token of token. Flags are added.
func startSidecar(t *testing.T, agent http.HandlerFunc, change func(*sidecarconfig.Config), flags ...string) *sidecar {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	backend, registry := httptest.NewServer(agent), httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"agents":[]}`)
	}))
	t.Cleanup(backend.Close)
	t.Cleanup(registry.Close)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	config := &sidecarconfig.Config{
		Version: sidecarconfig.Version,
		Agent:   sidecarconfig.Agent{Namespace: "team", Name: "echo"},
		Card: card.Card{
			Name: "Echo", Description: "An agent for tests", Version: "1", Bindings: card.Bindings,
			Skills: []card.Skill{{ID: "s", Name: "S", Description: "d", Tags: []string{"t"}}},
		},
		Backend: sidecarconfig.Backend{Protocol: sidecarconfig.ProtocolEvents, URL: backend.URL},
		Access: sidecarconfig.Access{
			Authentication: []sidecarconfig.Authentication{
				{Type: sidecarconfig.AuthenticationKubernetes, Kubernetes: &sidecarconfig.KubernetesAuthentication{
					Issuer: issuer, Audiences: []string{audience}, Keys: keys,
				}},
				{Type: sidecarconfig.AuthenticationAnonymous},
			},
			Namespaces: []string{"*"},
		},
		Gateway: &sidecarconfig.Gateway{RegistryURL: registry.URL, AgentURL: "http://{name}.{namespace}.svc.cluster.local", TokenFile: token},
		Drain:   sidecarconfig.Drain{GracePeriod: sidecarconfig.Duration(10 * time.Second)},
	}
	if change != nil {
		change(config)
	}
	text, err := sidecarconfig.Encode(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, sidecarconfig.FileName)
	for name, content := range map[string][]byte{file: text, token: []byte("token")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &sidecar{agent: newListener(t, "a2a"), health: newListener(t, "health"), gateway: newListener(t, "gateway"), key: key}
	s.gateway.V4 = true
	s.agent.HTTP2 = true
	s.gateway.HTTP2 = true
	flags = append([]string{
		"--config", file, "--listen", s.agent.bind(), "--health-listen", s.health.bind(), "--gateway-listen", s.gateway.bind(),
	}, flags...)
	s.Program = Start(t, SidecarLimit, "cmd/sidecar", flags...)
	return s
}

// subject adds the requests of the well-behaved client, and measures its quiet values.
func (s *sidecar) subject(t *testing.T, name string) *subject {
	t.Helper()
	s.agent.get("/.well-known/agent-card.json")
	s.agent.post(fmt.Sprintf(message, "", "Hello"), "Authorization", "Bearer "+s.token(t, "client"))
	s.health.get(sidecarconfig.ReadyzPath)
	s.gateway.get("/registry/v1/agents")
	return newSubject(t, name, SidecarLimit, s.Program, []listener{s.agent, s.health, s.gateway})
}

// token returns a new token of a ServiceAccount in a namespace of its own: the accounts of one namespace share what a caller may use.
func (s *sidecar) token(t *testing.T, account string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{
		"iss": issuer, "aud": audience, "sub": "system:serviceaccount:" + account + ":" + account, "jti": rand.Text(),
		"exp":           time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{"namespace": account, "serviceaccount": map[string]any{"name": account, "uid": "u-" + account}},
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
