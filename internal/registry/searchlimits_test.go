// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/apierror"
)

func TestSearchesOfOneCallerAreLimited(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	s := newSearchLimits(now)
	busy, other := caller(t, "busy", nil), caller(t, "other", nil)
	for range searchRate.Burst {
		if err := s.charged(principalOf(&busy), 1); err != nil {
			t.Fatalf("a search within the limit is refused: %v", err)
		}
	}
	refused, ok := errors.AsType[*apierror.Error](s.charged(principalOf(&busy), 1))
	if !ok || refused.Status != http.StatusTooManyRequests || refused.RetryAfter != time.Second {
		t.Errorf("a search beyond the limit = %+v, want 429 with Retry-After", refused)
	}
	if s.charged(principalOf(&other), 1) != nil {
		t.Error("a search of another caller is refused")
	}
	now.SetTime(time.Unix(1, 0))
	if s.charged(principalOf(&busy), 1) != nil {
		t.Error("a search a second later is refused")
	}
}

// A loop of searches does not refuse the watches of its ServiceAccount, and 120 pods can begin their watches at once. The wait
// of a refusal is true.
func TestSearchesDoNotRefuseWatches(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	s := newSearchLimits(now)
	c := caller(t, "system:serviceaccount:team-a:bot", nil)
	p := principalOf(&c)
	exhaust := func() {
		for s.charged(p, 1) == nil {
			continue
		}
	}
	for i := range 120 {
		exhaust()
		if err := s.charged(p, watchCost); err != nil {
			t.Fatalf("watch %d is refused: %v", i, err)
		}
	}
	refusal, ok := s.charge(p, watchCost)
	if ok {
		t.Fatal("a watch beyond the limit is admitted")
	}
	now.SetTime(now.Now().Add(refusal.Wait))
	exhaust()
	if _, ok := s.charge(p, watchCost); !ok {
		t.Errorf("a watch after its wait of %s is refused", refusal.Wait)
	}
}

// Lookups of agents by name have a limit of their own, which refuses no searches.
func TestLookupsAreLimitedByCaller(t *testing.T) {
	w := newWorldWith(t, weatherFleet(t), func(a *api) { a.searchLimits = newSearchLimits(testclock.NewFakePassiveClock(time.Unix(0, 0))) })
	admin := w.tokens["admin"]
	for w.api.searchLimits.chargedLookup(principalOf(&admin)) == nil {
		continue
	}
	for _, of := range []struct {
		token, target string
		refused       bool
	}{
		{"admin", "/v1/agents/team-a/rain", true}, {"admin", "/v1/agents", false}, {"home", "/v1/agents/team-a/rain", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, of.target, http.NoBody)
		r.Header.Set("Authorization", "Bearer "+of.token)
		got := httptest.NewRecorder()
		w.handler.ServeHTTP(got, r)
		if (got.Code == http.StatusTooManyRequests) != of.refused || of.refused && got.Header().Get("Retry-After") == "" {
			t.Errorf("%s of %s = %d %s", of.target, of.token, got.Code, got.Body)
		}
	}
}

// An exploration that is refused uses up none of its caller's searches.
func TestARefusedRequestIsNotCharged(t *testing.T) {
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	s := newAnonymousSearchLimits(now)
	c := caller(t, "client", nil)
	p := principalOf(&c)
	const left = exploreCost - 1
	if _, ok := s.charge(p, anonymousRate.Burst-left); !ok {
		t.Fatal("the searches within the limit are refused")
	}
	for range 10 {
		refusal, ok := s.charge(p, exploreCost)
		if want := time.Second / time.Duration(anonymousRate.PerSecond); ok || refusal.Wait != want {
			t.Fatalf("an exploration with %d tokens: %t, wait %s; want a refusal with a wait of %s", left, ok, refusal.Wait, want)
		}
	}
	for i := range left {
		if _, ok := s.charge(p, 1); !ok {
			t.Fatalf("search %d of %d after the refusals is refused", i, left)
		}
	}
	refusal, ok := s.charge(p, exploreCost)
	if ok || refusal.Wait != 5*time.Second {
		t.Errorf("an exploration without tokens: %t, wait %s; want a refusal with a wait of 5s", ok, refusal.Wait)
	}
	now.SetTime(now.Now().Add(refusal.Wait))
	if _, ok := s.charge(p, exploreCost); !ok {
		t.Error("an exploration after its wait is refused")
	}
}

func TestSearchesAtATimeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearchLimits(testclock.NewFakePassiveClock(time.Now()))
		c := caller(t, "jane", nil)
		var releases []func()
		for range max(1, runtime.GOMAXPROCS(0)/2) {
			release, err := s.slots.Acquire(t.Context(), shareOf(&c))
			if err != nil {
				t.Fatal(err)
			}
			releases = append(releases, release)
		}
		ran := false
		var refused *apierror.Error
		err := s.run(t.Context(), &c, func() { ran = true })
		if !errors.As(err, &refused) || refused.Status != http.StatusServiceUnavailable || ran || refused.RetryAfter == 0 {
			t.Errorf("run() without a slot = %v, ran %t; want 503 with Retry-After", err, ran)
		}
		for _, release := range releases {
			release()
		}
		if err := s.run(t.Context(), &c, func() { ran = true }); err != nil || !ran {
			t.Errorf("run() with a slot = %v, ran %t", err, ran)
		}
	})
}

// TestSearchesOfATenantDelayNoOtherTenant lets the ServiceAccounts of one namespace search, more than can run in the time for which
// a search waits. A search of another namespace runs after two of them at most, and has its share of the memory for responses.
func TestSearchesOfATenantDelayNoOtherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearchLimits(clock.RealClock{})
		const each = 10 * time.Millisecond
		var searches sync.WaitGroup
		for i := range 300 {
			bad := caller(t, "system:serviceaccount:bad:"+strconv.Itoa(i), nil)
			if i < 4 {
				if _, err := s.reserve(t.Context(), shareOf(&bad), 12<<20); (err == nil) != (i < 2) {
					t.Errorf("12 MiB for ServiceAccount %d: %v", i, err)
				}
			}
			searches.Go(func() { _ = s.run(t.Context(), &bad, func() { time.Sleep(each) }) })
		}
		synctest.Wait()
		good := caller(t, "system:serviceaccount:good:a", nil)
		began := time.Now()
		if err := s.run(t.Context(), &good, func() {}); err != nil || time.Since(began) > 2*each {
			t.Errorf("a search of another namespace = %v after %s, want one after %s at most", err, time.Since(began), 2*each)
		}
		if _, err := s.reserve(t.Context(), shareOf(&good), 12<<20); err != nil {
			t.Errorf("12 MiB for another namespace: %v", err)
		}
		searches.Wait()
	})
}

// Every route with a cost is limited for each caller. The response has the form of errors of the
// route's API.
func TestRoutesAreLimitedByCaller(t *testing.T) {
	for name, test := range map[string]struct {
		method, target, body string
		cost                 int
		form                 string
	}{
		"search":      {http.MethodGet, "/v1/agents?q=rain", "", 1, `"TooManyRequests"`},
		"card":        {http.MethodGet, "/v1/agents/team-a/rain/card", "", 1, `"TooManyRequests"`},
		"watch":       {http.MethodHead, "/v1/agents?watch=true", "", watchCost, ""},
		"manifest":    {http.MethodGet, "/.well-known/ard.json", "", 1, `"RATE_LIMIT_EXCEEDED"`},
		"catalog":     {http.MethodGet, "/ard/catalogs/team-a", "", 1, `"RATE_LIMIT_EXCEEDED"`},
		"ARD search":  {http.MethodPost, "/ard/search", `{"query":{"text":"rain"}}`, 1, `"RATE_LIMIT_EXCEEDED"`},
		"exploration": {http.MethodPost, "/ard/explore", `{"resultType":{"facets":[{"field":"tags"}]}}`, exploreCost, `"RATE_LIMIT_EXCEEDED"`},
		"ARD list":    {http.MethodGet, "/ard/agents", "", 1, `"RATE_LIMIT_EXCEEDED"`},
		"ARD agent":   {http.MethodGet, "/ard/agents/urn:air:agents.example.com:team-a:rain", "", 1, `"RATE_LIMIT_EXCEEDED"`},
		"message": {
			http.MethodPost, "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"rain"}]}}`, 1, `"RESOURCE_EXHAUSTED"`,
		},
		"JSON-RPC message": {
			http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"team-a/rain"}],` +
				`"metadata":{"a2a-operator.dev/skill":"get-card"}}}}`, 1, `"RESOURCE_EXHAUSTED"`,
		},
		"aggregate card":        {http.MethodGet, "/extendedAgentCard", "", aggregateCost, `"RESOURCE_EXHAUSTED"`},
		"aggregate card of 0.1": {http.MethodGet, "/.well-known/agent.json", "", aggregateCost, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, weatherFleet(t))
			call := func(token string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), test.method, test.target, strings.NewReader(test.body))
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				w.handler.ServeHTTP(recorder, r)
				return recorder
			}
			burst := searchRate.Burst
			if test.cost > 1 {
				burst = costlyRate.Burst
			}
			for i := range burst / test.cost {
				if got := call("admin"); got.Code != http.StatusOK {
					t.Fatalf("request %d = %d %s", i, got.Code, got.Body)
				}
			}
			// The bucket refills while the test runs, so some of these requests may still succeed.
			for range searchRate.Burst {
				got := call("admin")
				if got.Code == http.StatusOK {
					continue
				}
				if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), test.form) {
					t.Errorf("a request beyond the limit = %d %s", got.Code, got.Body)
				}
				if other := call("home"); other.Code != http.StatusOK {
					t.Errorf("a request of another caller = %d %s", other.Code, other.Body)
				}
				return
			}
			t.Error("no request is refused")
		})
	}
}

// The memory of all responses is bounded. The response beyond the bound has the form of errors of
// the route's API.
func TestMemoryOfResponsesIsBounded(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	other := caller(t, "other", nil)
	for target, form := range map[string]string{
		"/v1/agents": `"Unavailable"`, "/v1/agents/team-a/rain": `"Unavailable"`, "/v1/agents/team-a/rain/card": `"Unavailable"`,
		"/ard/agents": `"UNAVAILABLE"`,
	} {
		w.api.searchLimits.responses = limit.NewBudget(1<<10, time.Millisecond)
		full, err := w.api.searchLimits.reserve(t.Context(), principalOf(&other), 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		get := func() *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
			r.Header.Set("Authorization", "Bearer admin")
			recorder := httptest.NewRecorder()
			w.handler.ServeHTTP(recorder, r)
			return recorder
		}
		if got := get(); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" || !strings.Contains(got.Body.String(), form) {
			t.Errorf("%s without memory = %d %s", target, got.Code, got.Body)
		}
		full()
		w.api.searchLimits.responses.Set(1 << 20)
		if got := get(); got.Code != http.StatusOK {
			t.Errorf("%s with memory = %d %s", target, got.Code, got.Body)
		}
		if used := w.api.searchLimits.responses.Used(); used != 0 {
			t.Errorf("%s: %d bytes stay charged", target, used)
		}
	}
}

func TestResponsesOfOneCallerAreLimited(t *testing.T) {
	s := newSearchLimits(testclock.NewFakePassiveClock(time.Unix(0, 0)))
	busy, other := caller(t, "busy", nil), caller(t, "other", nil)
	var releases []func()
	for range maxResponses {
		release, ok := s.hold(principalOf(&busy))
		if !ok {
			t.Fatal("a response within the limit is refused")
		}
		releases = append(releases, release)
	}
	if _, ok := s.hold(principalOf(&busy)); ok {
		t.Error("a response beyond the limit is sent")
	}
	if _, ok := s.hold(principalOf(&other)); !ok {
		t.Error("a response to another caller is refused")
	}
	releases[0]()
	if _, ok := s.hold(principalOf(&busy)); !ok {
		t.Error("a response after another ended is refused")
	}
}
