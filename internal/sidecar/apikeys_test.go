// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/sidecar/settings"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

func withAPIKeys(c *sidecarconfig.Config) {
	c.Access.Authentication = append(c.Access.Authentication, sidecarconfig.Authentication{
		Type: sidecarconfig.AuthenticationAPIKey, APIKey: &sidecarconfig.APIKeyAuthentication{Header: "X-API-Key"},
	})
}

// TestAPIKeysAreRotated changes the mounted Secret while a client sends requests. The key
// that stays in the Secret is never refused.
func TestAPIKeysAreRotated(t *testing.T) {
	const first, second, third = "first-0123456789012345678901234567", "second-0123456789012345678901234567", "third-0123456789012345678901234567"
	dir := t.TempDir()
	mount(t, dir, map[string][]byte{"alice": []byte(first + "\n"), "bob": []byte("short")})
	principals := make(chan string, 1000)
	p := newPodWith(t, func(w http.ResponseWriter, r *http.Request) {
		principals <- r.Header.Get("A2A-Principal")
		if r.Header.Get("X-API-Key") != "" {
			t.Error("the agent was shown a key")
		}
		respondHi(w, r)
	}, withAPIKeys, func(o *settings.Options) { o.APIKeys = dir })
	status := func(key string) int {
		response, _ := p.do("POST", p.agent(), hello, "X-API-Key", key)
		return response.StatusCode
	}
	if got := status(first); got != 200 || <-principals != "apikey:alice" {
		t.Errorf("first key: %d", got)
	}
	response, _ := p.do("POST", p.agent(), hello, "X-API-Key", "short")
	if challenges := strings.Join(response.Header.Values("WWW-Authenticate"), "; "); response.StatusCode != http.StatusUnauthorized ||
		challenges != `Bearer realm="a2a"; ApiKey realm="a2a", in="header", name="X-API-Key"` {
		t.Errorf("short key: %d, WWW-Authenticate: %s", response.StatusCode, challenges)
	}
	if _, metrics := p.do("GET", p.health("/metrics"), ""); !strings.Contains(metrics, `a2a_api_keys{state="accepted"} 1`) ||
		!strings.Contains(metrics, `a2a_api_keys{state="refused"} 1`) {
		t.Error("the metrics do not count the keys")
	}
	for _, step := range []struct{ content, stays, comes, goes string }{
		{first + "\n" + second, first, second, ""},
		{second + "\n", second, "", first},
		{second + "\n" + third, second, third, ""},
	} {
		mount(t, dir, map[string][]byte{"alice": []byte(step.content)})
		p.eventually("the next keys", func() bool {
			if got := status(step.stays); got != 200 {
				t.Fatalf("the key that stays: %d", got)
			}
			return (step.comes == "" || status(step.comes) == 200) && (step.goes == "" || status(step.goes) == 401)
		})
	}
	// The last key is removed. Other types of credentials are still accepted.
	mount(t, dir, map[string][]byte{"alice": nil})
	p.eventually("the end of all keys", func() bool { return status(second) == 401 })
	if response, _ := p.do("POST", p.agent(), hello, "Authorization", "Bearer "+p.token("team")); response.StatusCode != http.StatusOK {
		t.Errorf("another credential: %d", response.StatusCode)
	}
}

func TestAPIKeysStandalone(t *testing.T) {
	const key = "alice-0123456789012345678901234567"
	o := standaloneOptions(t, respondHi)
	o.Anonymous, o.APIKeys = false, t.TempDir()
	if _, err := Open(t.Context(), o, slog.New(slog.DiscardHandler), time.Now); !errors.Is(err, ErrAPIKeys) || ExitCode(err) != sidecarconfig.ExitAPIKeys {
		t.Fatalf("Open() without a key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(o.APIKeys, "alice"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	address := "http://" + standaloneWith(t, o).Addresses().Agent + "/"
	ask := func(key string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(withNewMessageID(hello)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {key}}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if good, bad := ask(key), ask(key+"x"); good != 200 || bad != 401 {
		t.Errorf("status %d and %d", good, bad)
	}
}
