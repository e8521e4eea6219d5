// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

// provider is a fake issuer of tokens.
type provider struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey
	// fetches counts the fetches of the keys.
	fetches atomic.Int32
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
		case "/keys":
			p.fetches.Add(1)
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "p"}}})
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) authentication() sidecarconfig.Authentication {
	return sidecarconfig.Authentication{
		Type: sidecarconfig.AuthenticationJWT,
		JWT:  &sidecarconfig.JWTAuthentication{Issuer: p.URL, Audiences: []string{"echo"}},
	}
}

func (p *provider) token(subject, audience string) string {
	p.t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "p"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := jwt.Signed(s).Claims(map[string]any{
		"iss": p.URL, "sub": subject, "aud": audience, "exp": time.Now().Add(time.Hour).Unix(),
	}).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return "Bearer " + token
}

func TestJWTBesideKubernetes(t *testing.T) {
	issuer := newProvider(t)
	principals := make(chan string, 10)
	p := newPod(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		respondHi(w, r)
	}, func(c *sidecarconfig.Config) {
		c.Access.Authentication = append(c.Access.Authentication, issuer.authentication())
	})
	status := func(credential string) int {
		response, _ := p.do("POST", p.agent(), hello, "Authorization", credential)
		return response.StatusCode
	}
	fetched := func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_issuer_key_fetches_total{result="fetched"} 1`)
	}
	p.eventually("the issuer's keys", fetched)
	for credential, want := range map[string]int{
		issuer.token("alice", "echo"): 200, issuer.token("alice", "other"): 401,
		"Bearer " + p.token("team"): 200, "Bearer " + p.token("other"): 403, "Bearer x": 401,
	} {
		if got := status(credential); got != want {
			t.Errorf("status %d, want %d", got, want)
		}
	}
	seen := map[string]bool{<-principals: true, <-principals: true}
	if !seen["jwt:"+issuer.URL+"#alice"] || !seen["system:serviceaccount:team:caller"] || len(principals) != 0 {
		t.Errorf("the agent was called for %v and %d more", seen, len(principals))
	}

	// A change in another part of the configuration leaves the keys of the issuer in use.
	// When the configuration no longer names the issuer, the sidecar refuses the issuer's
	// callers.
	p.config.Access.Namespaces = []string{"team", "other"}
	p.mount(p.encode())
	p.eventually("the other namespace", func() bool { return status("Bearer "+p.token("other")) == 200 })
	if got := status(issuer.token("bob", "echo")); got != 200 || issuer.fetches.Load() != 1 {
		t.Errorf("status %d after %d fetches", got, issuer.fetches.Load())
	}
	p.config.Access.Authentication = p.config.Access.Authentication[:1]
	p.mount(p.encode())
	p.eventually("the end of the issuer", func() bool { return status(issuer.token("bob", "echo")) == 401 })
}

func TestJWTWithoutItsIssuer(t *testing.T) {
	issuer := newProvider(t)
	credential := issuer.token("alice", "echo")
	authentication := issuer.authentication()
	issuer.Close()
	p := newPod(t, respondHi, func(c *sidecarconfig.Config) {
		c.Access.Authentication = []sidecarconfig.Authentication{authentication}
	})
	p.eventually("a fetch that fails", func() bool {
		_, metrics := p.do("GET", p.health("/metrics"), "")
		return strings.Contains(metrics, `a2a_issuer_key_fetches_total{result="failed"}`)
	})
	response, body := p.do("POST", p.agent(), hello, "Authorization", credential)
	if response.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "keys of its issuer are not known") {
		t.Errorf("response = %d %s", response.StatusCode, body)
	}
	if ready, _ := p.do("GET", p.health(sidecarconfig.LivezPath), ""); ready.StatusCode != http.StatusOK {
		t.Errorf("livez = %d", ready.StatusCode)
	}
}

// TestJWTStandalone runs a sidecar in standalone mode that admits the callers of an
// issuer.
func TestJWTStandalone(t *testing.T) {
	issuer := newProvider(t)
	o := standaloneOptions(t, respondHi)
	o.Anonymous, o.JWTIssuer, o.JWTAudiences = false, issuer.URL, []string{"echo"}
	address := "http://" + standaloneWith(t, o).Addresses().Agent + "/"
	ask := func(method, url, body, credential string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if credential != "" {
			r.Header.Set("Authorization", credential)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		status, body := ask("POST", address, hello, issuer.token("alice", "echo"))
		if status == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("response = %d %s", status, body)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if status, _ := ask("POST", address, hello, ""); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if _, card := ask("GET", address+".well-known/agent-card.json", "", ""); !strings.Contains(card, issuer.URL+"/.well-known/openid-configuration") {
		t.Errorf("the card does not say where to get a token: %s", card)
	}
}

func TestOpenRefusesIssuersWithoutTLS(t *testing.T) {
	o := standaloneOptions(t, respondHi)
	o.JWTIssuer, o.JWTAudiences = "http://login.example", []string{"echo"}
	if _, err := Open(t.Context(), o, slog.New(slog.DiscardHandler), time.Now); err == nil || !strings.Contains(err.Error(), "jwt.issuer") {
		t.Errorf("Open() error = %v", err)
	}
}
