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

	"github.com/google/go-cmp/cmp"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/kit/remotecredential"
)

// service is the registry's service.
type service struct {
	mu       sync.Mutex
	requests []remotecredential.Request
	status   int
	body     string
	// answer makes the body, if it is not nil.
	answer func(remotecredential.Request) string
	err    error
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
	body := s.body
	if s.answer != nil {
		body = s.answer(asked)
	}
	return &http.Response{StatusCode: s.status, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requests)
	s.requests = nil
	return n
}

func newSource(s *service) *Source {
	return New(Options{Transport: s, Registry: func() (Registry, error) {
		return Registry{URL: "http://registry/credential", Token: "sidecar", Client: "me.team.a2a-operator.dev"}, nil
	}, Now: time.Now})
}

func answer(value string, static bool) string {
	return fmt.Sprintf(`{"header":"X-K","value":%q,"expiresIn":60,"static":%t}`, value, static)
}

// TestConfigurationWithoutTheService gets no credential, and sends no request, with the configuration of an operator that does not
// know the service.
func TestConfigurationWithoutTheService(t *testing.T) {
	registry := &service{err: errors.New("called")}
	source := New(Options{Transport: registry, Registry: func() (Registry, error) { return Registry{Token: "sidecar"}, nil }, Now: time.Now})
	got, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, "")
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
			got, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, refused)
			synctest.Wait()
			if n := registry.count(); err != nil || got.Value != want || n != requests {
				t.Errorf("%s: %q, %v, %d requests, want %q, %d requests", what, got.Value, err, n, want, requests)
			}
		}
		digest := func(value string) string { return remotecredential.Credential{Header: "X-K", Value: value}.Digest() }
		expect("first", "", "one", 1)
		expect("again", "", "one", 0)
		if _, err := source.Get(t.Context(), "team", "a", "https://new.example", nil, ""); err != nil || registry.count() != 1 {
			t.Errorf("another origin has the credential of the first one: %v", err)
		}
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
		if _, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, ""); err == nil {
			t.Error("a credential is used for longer than the listing of its agent")
		}
		registry.err = nil
		registry.body = answer("four", false)
		time.Sleep(retryAfter)
		registry.count()
		expect("with an end", "", "four", 1)
		registry.err = errors.New("lost")
		time.Sleep(time.Minute)
		if _, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, ""); err == nil {
			t.Error("a credential is used after its end")
		}
	})
}

// TestCredentialThatTheRegistryRefusesIsNotUsed has a cached credential, and then a registry that answers without one: of a Secret that was deleted,
// the sidecar sends nothing any more, and while the registry cannot read the Secret, it sends the last value.
func TestCredentialThatTheRegistryRefusesIsNotUsed(t *testing.T) {
	for name, test := range map[string]struct {
		code string
		want string
	}{
		"the Secret is gone":        {code: remotecredential.CodeUnusable},
		"the API server is away":    {code: "Unavailable", want: "one"},
		"a registry without a code": {want: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				registry := &service{status: 200, body: answer("one", true)}
				source := newSource(registry)
				if got, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, ""); err != nil || got.Value != "one" {
					t.Fatalf("Get() = %q, %v", got.Value, err)
				}
				registry.status = 503
				registry.body = fmt.Sprintf(`{"error":{"code":%q,"message":"see the condition"}}`, test.code)
				time.Sleep(maxRenewAfter)
				_, _ = source.Get(t.Context(), "team", "a", "https://a.example", nil, "") // asks the registry in the background
				synctest.Wait()
				got, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, "")
				if got.Value != test.want || (err == nil) != (test.want != "") {
					t.Errorf("Get() = %q, %v, want %q", got.Value, err, test.want)
				}
				synctest.Wait()
			})
		})
	}
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
		got, err := source.Get(t.Context(), "team", "a", "https://a.example", nil, "")
		text := fmt.Sprint(err)
		if test.want == "" && (err != nil || !got.IsZero()) || !strings.Contains(text, test.want) || strings.Contains(text, "canary") {
			t.Errorf("%s: %v, %v, want %q", name, got, err, test.want)
		}
		_, _ = source.Get(t.Context(), "team", "a", "https://a.example", nil, "")
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
}

// TestFullCacheKeepsWhatIsUsed fills the cache with large credentials of many users. The registry is not asked again for those in use,
// also not for those of another namespace.
func TestFullCacheKeepsWhatIsUsed(t *testing.T) {
	registry := &service{status: 200, body: `{"certificate":"` + strings.Repeat("x", 64<<10) + `","expiresIn":60,"exchanges":true}`}
	source := newSource(registry)
	get := func(namespace, token string) {
		t.Helper()
		if _, err := source.Get(t.Context(), namespace, "a", "https://a.example", &a2a.Subject{Principal: token, Credential: a2a.Credential(token)}, ""); err != nil {
			t.Error(err)
		}
	}
	const users = 64
	get("other", "one")
	get("team", "in use")
	for i := range users {
		get("team", fmt.Sprint(i))
		get("team", "in use")
	}
	get("other", "one")
	if n := registry.count(); n != users+4 {
		t.Errorf("%d requests for 2 agents and %d users", n, users+2)
	}
	if n, cost := source.cached.Size(); cost > maxCached || n < 8 {
		t.Errorf("%d credentials with %d bytes are cached", n, cost)
	}
}

// TestEachUserHasACredential checks that a user's token is sent only for an agent that needs it, that users share no credential, and that a
// user without a token gets none.
func TestEachUserHasACredential(t *testing.T) {
	registry := &service{status: 200, body: answer("shared", true)}
	source := newSource(registry)
	one := &a2a.Subject{Principal: "one", Credential: "token-one"}
	if got, err := source.Get(t.Context(), "team", "a", "https://a.example", one, ""); err != nil || got.Value != "shared" {
		t.Errorf("Get() = %q, %v", got.Value, err)
	}
	own := remotecredential.Request{Namespace: "team", Name: "a", Origin: "https://a.example", Exchanges: true}
	if diff := cmp.Diff([]remotecredential.Request{own}, registry.requests); diff != "" {
		t.Errorf("requests for an agent with one credential: %s", diff)
	}

	registry = &service{status: 200, answer: func(r remotecredential.Request) string {
		return fmt.Sprintf(`{"header":"X-K","value":"for %s","expiresIn":60,"exchanges":true}`, r.SubjectToken)
	}}
	source = newSource(registry)
	for _, user := range []*a2a.Subject{one, {Principal: "two", Credential: "token-two"}, one, nil} {
		want := "for "
		if user != nil {
			want += string(user.Credential)
		}
		if got, err := source.Get(t.Context(), "team", "a", "https://a.example", user, ""); err != nil || got.Value != want {
			t.Errorf("Get() = %q, %v, want %q", got.Value, err, want)
		}
	}
	want := []remotecredential.Request{own, own, own}
	want[1].SubjectToken = "token-one"
	want[1].Client = "me.team.a2a-operator.dev"
	want[2].SubjectToken = "token-two"
	want[2].Client = want[1].Client
	if diff := cmp.Diff(want, registry.requests); diff != "" {
		t.Error(diff)
	}
	_, err := source.Get(t.Context(), "team", "a", "https://a.example", &a2a.Subject{Principal: "after a takeover"}, "")
	if missing, ok := errors.AsType[*UnavailableError](err); !ok || !strings.Contains(missing.Reason, "needs a token of the user for whom it is called (spec.remote.credentials.oauth2.grant)") {
		t.Errorf("Get() without a token: %v", err)
	}
}

// TestAnAgentThatBeginsToExchange checks that users are not called with a long-lived token of the client for longer than a minute.
func TestAnAgentThatBeginsToExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &service{status: http.StatusOK, body: `{"header":"X-K","value":"client","expiresIn":86400}`}
		s := newSource(registry)
		if exchanges, err := s.Exchanges(t.Context(), "team", "far", "https://far.example"); err != nil || exchanges {
			t.Fatalf("exchanges = %t, %v", exchanges, err)
		}
		registry.body = `{"header":"X-K","value":"client","expiresIn":86400,"exchanges":true}`
		time.Sleep(maxRenewAfter)
		_, _ = s.Exchanges(t.Context(), "team", "far", "https://far.example") // renews while it gives what it has
		synctest.Wait()
		if exchanges, err := s.Exchanges(t.Context(), "team", "far", "https://far.example"); err != nil || !exchanges {
			t.Errorf("a minute later, exchanges = %t, %v", exchanges, err)
		}
	})
}

// TestExchangesOfAnAgentWhileTheRegistryIsAway checks that the owner of the tasks at an agent stays the same when the credential has ended
// and the registry gives no other one.
func TestExchangesOfAnAgentWhileTheRegistryIsAway(t *testing.T) {
	for _, want := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			registry := &service{status: http.StatusOK, body: fmt.Sprintf(`{"header":"X-K","value":"client","expiresIn":60,"exchanges":%t}`, want)}
			s := newSource(registry)
			for i := range 3 {
				if exchanges, err := s.Exchanges(t.Context(), "team", "far", "https://far.example"); err != nil || exchanges != want {
					t.Errorf("question %d: exchanges = %t, %v, want %t", i, exchanges, err, want)
				}
				synctest.Wait()
				registry.err = errors.New("away")
				time.Sleep(2 * time.Minute)
			}
			if _, err := s.Get(t.Context(), "team", "far", "https://far.example", &a2a.Subject{Credential: "token"}, ""); err == nil {
				t.Error("a credential that has ended is used")
			}
		})
	}
}
