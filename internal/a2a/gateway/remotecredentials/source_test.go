// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remotecredentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

// service is the registry's service.
type service struct {
	mu       sync.Mutex
	requests []remotecredential.Request
	status   int
	body     string
	err      error
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var asked remotecredential.Request
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if r.Header.Get("Authorization") != "Bearer sidecar" || r.URL.String() != "http://registry/credential" {
		return nil, errors.New("wrong request")
	}
	s.requests = append(s.requests, asked)
	if s.err != nil {
		return nil, s.err
	}
	return &http.Response{StatusCode: s.status, Body: io.NopCloser(strings.NewReader(s.body))}, nil
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = nil
	return n
}

func newSource(s *service) *Source {
	return New(Options{Transport: s, Registry: func() (string, string, error) { return "http://registry/credential", "sidecar", nil }, Now: time.Now})
}

func answer(value string, static bool) string {
	return fmt.Sprintf(`{"header":"X-K","value":%q,"expiresIn":60,"static":%t}`, value, static)
}

// TestConfigurationWithoutTheService gets no credential, and sends no request, with the configuration of an operator that does not
// know the service.
func TestConfigurationWithoutTheService(t *testing.T) {
	registry := &service{err: errors.New("called")}
	source := New(Options{Transport: registry, Registry: func() (string, string, error) { return "", "sidecar", nil }, Now: time.Now})
	got, err := source.Get(t.Context(), "team", "a", "")
	if n := registry.count(); err != nil || !got.IsZero() || n != 0 {
		t.Errorf("Get() = %s, %v after %d requests", got, err, n)
	}
}

func TestCredentialsAreCachedAndRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &service{status: 200, body: answer("one", true)}
		source := newSource(registry)
		expect := func(what, refused, want string, requests int) {
			t.Helper()
			got, err := source.Get(t.Context(), "team", "a", refused)
			synctest.Wait()
			if n := registry.count(); err != nil || got.Value != want || n != requests {
				t.Errorf("%s: %q, %v, %d requests, want %q, %d requests", what, got.Value, err, n, want, requests)
			}
		}
		digest := func(value string) string { return remotecredential.Credential{Header: "X-K", Value: value}.Digest() }
		expect("first", "", "one", 1)
		expect("again", "", "one", 0)
		registry.body = answer("two", true)
		expect("refused at once", digest("one"), "one", 0)
		time.Sleep(minAge)
		expect("refused", digest("one"), "two", 1)
		expect("refused before", digest("one"), "two", 0)
		registry.body = answer("three", true)
		time.Sleep(31 * time.Second)
		expect("renewed in the background", "", "two", 1)
		expect("after that", "", "three", 0)
		registry.err = errors.New("lost")
		time.Sleep(31 * time.Second)
		expect("while the registry is away", "", "three", 1)
		expect("at once after", "", "three", 0)
		time.Sleep(5 * time.Minute)
		expect("minutes later", "", "three", 1)
		time.Sleep(5 * time.Minute)
		if _, err := source.Get(t.Context(), "team", "a", ""); err == nil {
			t.Error("a credential is used for longer than the listing of its agent")
		}
		registry.err = nil
		registry.body = answer("four", false)
		time.Sleep(retryAfter)
		registry.count()
		expect("with an end", "", "four", 1)
		registry.err = errors.New("lost")
		time.Sleep(time.Minute)
		if _, err := source.Get(t.Context(), "team", "a", ""); err == nil {
			t.Error("a credential is used after its end")
		}
	})
}

func TestFailuresAreBoundedAndShowNoSecret(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   string
	}{
		"forbidden":          {403, "", "other namespaces"},
		"a reason":           {503, `{"error":{"message":"its Secret is gone"}}`, "its Secret is gone"},
		"a web page":         {200, "<html>canary", "does not answer: the response is not JSON"},
		"no end":             {200, `{"value":"canary"}`, "does not answer"},
		"a huge response":    {200, `{"value":"` + strings.Repeat("canary", maxAnswer/6+1), "does not answer"},
		"an unusual status":  {500, "canary", "status 500"},
		"an earlier version": {404, "", ""},
	}
	for name, test := range tests {
		registry := &service{status: test.status, body: test.body}
		source := newSource(registry)
		got, err := source.Get(t.Context(), "team", "a", "")
		text := fmt.Sprint(err)
		if test.want == "" && (err != nil || !got.IsZero()) || !strings.Contains(text, test.want) || strings.Contains(text, "canary") {
			t.Errorf("%s: %v, %v, want %q", name, got, err, test.want)
		}
		_, _ = source.Get(t.Context(), "team", "a", "")
		if n := registry.count(); n != 1 {
			t.Errorf("%s: %d requests at once", name, n)
		}
	}
	secret := remotecredential.Credential{Header: "X-K", Value: "canary", PrivateKey: "canary", Certificate: "canary"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, secret); strings.Contains(text, "canary") {
			t.Errorf("%s shows %s", verb, text)
		}
	}
	source := newSource(&service{status: 200, body: answer("x", true)})
	for i := range maxCached + 10 {
		_, _ = source.Get(t.Context(), "team", fmt.Sprint(i), "")
	}
	if len(source.cached) > maxCached {
		t.Errorf("%d cached credentials", len(source.cached))
	}
}
