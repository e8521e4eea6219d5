// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// viewers returns a RoleBinding of a namespace that binds the caller of apiServer to the
// ClusterRole viewer.
func viewers(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "team-a", Name: "bot"}},
	}
}

// A caller sees the agents of a namespace while an RBAC object and a review allow it. The
// reviews do not depend on the agents for which the caller searches.
func TestAgentsAreVisibleWhileTheirNamespaceIsBound(t *testing.T) {
	var objects []client.Object
	for i := range 40 {
		objects = append(objects, &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("hidden-%02d", i), Name: "secret"}})
	}
	objects = append(objects, &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "echo"}})
	informers, reviews := newFakeInformers(), &apiServer{allowed: map[string]bool{"team-b": true}}
	bindings := informers.of(rbacv1.SchemeGroupVersion, "RoleBinding")
	server, _ := start(t, Options{Cache: informers.cache(newClient(t, objects...)), Reviews: reviews})
	informers.synced()
	waitFor(t, func() error { return server.Ready(nil) })
	for _, o := range objects {
		informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Add(o)
	}
	waitFor(t, func() error {
		if s := server.feed.Current(); s == nil || len(slices.Collect(s.All)) < len(objects) {
			return fmt.Errorf("not all of %d agents are indexed", len(objects))
		}
		return nil
	})
	url := "http://" + server.options.BindAddress + "/v1/agents"
	expect := func(what, path string, want, reviewed int) {
		t.Helper()
		if err := status(t, url+path, "token", want); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := reviews.takeReviews(); got != reviewed {
			t.Errorf("%s took %d reviews, want %d", what, got, reviewed)
		}
	}
	expect("the first search", "?text=secret", http.StatusOK, 1)
	expect("a search for hidden agents", "?text=secret", http.StatusOK, 0)
	expect("a search for absent agents", "?text=absent", http.StatusOK, 0)
	expect("a search in a hidden namespace", "?namespace=hidden-01", http.StatusOK, 0)
	expect("a search in an absent namespace", "?namespace=absent", http.StatusOK, 0)
	expect("a hidden agent", "/hidden-01/secret", http.StatusNotFound, 0)
	expect("an absent agent", "/absent/secret", http.StatusNotFound, 0)

	informers.of(rbacv1.SchemeGroupVersion, "ClusterRole").Add(&rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{a2av1alpha1.GroupVersion.Group}, Resources: []string{"agents"}}},
	})
	expect("before the binding", "/team-b/echo", http.StatusNotFound, 0)
	bindings.Add(viewers("team-b"))
	expect("after the binding", "/team-b/echo", http.StatusOK, 1)
	bindings.Delete(viewers("team-b"))
	expect("after the end of the binding", "/team-b/echo", http.StatusNotFound, 0)
}

// visibleAgents returns a snapshot of team-z with one agent of each visibility. Only admin may list this namespace.
func visibleAgents(t *testing.T) *index.Snapshot {
	t.Helper()
	var entries []*index.Entry
	for name, visibility := range map[string]access.Visibility{
		"inside": access.VisibilityCluster, "shared": access.VisibilityFederated, "open": access.VisibilityPublic,
	} {
		entries = append(entries, weatherAgentWith(t, index.Facts{
			Key: index.Key{Namespace: "team-z", Name: name}, Visibility: visibility, ExternalURL: "https://agents.example/" + name,
		}, "Forecasts rain.", []string{"tag-" + name}, nil))
	}
	return snapshotOf(entries...)
}

// Each caller finds the same agents by every route: the agents that it sees.
func TestEveryRouteShowsTheVisibleAgents(t *testing.T) {
	names := []string{"inside", "shared", "open"}
	sees := map[string][]string{
		"":      {"open"}, // without a token
		"none":  {"open"},
		"home":  {"open"},
		"dev":   {"open"},
		"peer":  {"open", "shared"},
		"admin": {"inside", "open", "shared"},
	}
	const unauthenticated = "401"
	list := func(path string) func(*world, string) (int, string) {
		return func(w *world, token string) (int, string) {
			r := w.get(t, token, path)
			return r.StatusCode, bodyOf(t, r)
		}
	}
	post := func(path, body string) func(*world, string) (int, string) {
		return func(w *world, token string) (int, string) { return w.post(t, token, path, body) }
	}
	// lists has the routes whose responses contain all agents that the caller sees. counts is true
	// if a response also has their number.
	lists := map[string]struct {
		call       func(w *world, token string) (int, string)
		needsToken bool
		counts     bool
	}{
		"list":      {call: list("/v1/agents"), needsToken: true, counts: true},
		"search":    {call: list("/v1/agents?q=rain"), needsToken: true, counts: true},
		"namespace": {call: list("/v1/agents?namespace=team-z"), needsToken: true, counts: true},
		"filter":    {call: list("/v1/agents?remote=false"), needsToken: true, counts: true},
		"A2A find":  {call: func(w *world, token string) (int, string) { return w.send10(t, token, `{"data":{}}`, "") }, needsToken: true, counts: true},
		"A2A card":  {call: list("/extendedAgentCard"), needsToken: true, counts: true},

		"ARD search":   {call: post("/ard/search", `{"query":{"text":"rain"}}`)},
		"ARD list":     {call: list("/ard/agents")},
		"ARD catalog":  {call: list("/ard/catalogs/team-z")},
		"ARD explore":  {call: post("/ard/explore", `{"resultType":{"facets":[{"field":"metadata.name"}]}}`)},
		"ARD manifest": {call: list("/.well-known/ard.json")},
	}
	w := newWorld(t, visibleAgents(t))
	attempts := 0
	for route, test := range lists {
		for token, want := range sees {
			status, body := test.call(w, token)
			attempts++
			if token == "" && test.needsToken {
				if fmt.Sprint(status) != unauthenticated {
					t.Errorf("%s without a token = %d %s", route, status, body)
				}
				continue
			}
			if token == "peer" && test.needsToken {
				if status != http.StatusForbidden || strings.Contains(body, "Forecasts rain.") || !strings.Contains(body, "/ard/search") {
					t.Errorf("%s for a peer = %d %s, want 403", route, status, body)
				}
				continue
			}
			if route == "ARD manifest" {
				if !strings.Contains(body, "_catalog:team-z") {
					t.Errorf("%s for %q = %d %s, want the catalog of team-z", route, token, status, body)
				}
				continue
			}
			var got []string
			for _, name := range names {
				if strings.Contains(body, ":"+name+`"`) || strings.Contains(body, `"`+name+`"`) {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || status != http.StatusOK {
				t.Errorf("%s for %q = %d with %q, want %q: %s", route, token, status, got, want, body)
			}
			if test.counts && !strings.Contains(body, fmt.Sprintf(`"total":%d`, len(want))) {
				t.Errorf("%s for %q does not count %d: %s", route, token, len(want), body)
			}
		}
		attempts++
		if status, body := test.call(w, "unknown"); fmt.Sprint(status) != unauthenticated {
			t.Errorf("%s with an invalid token = %d %s, want 401", route, status, body)
		}
	}
	w.tokens["bot"] = caller(t, "system:serviceaccount:team-b:bot", nil)
	sees["bot"] = []string{"open"}
	for token, visible := range sees {
		for _, name := range names {
			found := slices.Contains(visible, name)
			for path, anonymous := range map[string]bool{
				"/v1/agents/team-z/" + name: false, "/v1/agents/team-z/" + name + "/card": false,
				"/ard/agents/urn:air:agents.example.com:team-z:" + name: true,
			} {
				want := http.StatusNotFound
				switch {
				case token == "" && !anonymous:
					want = http.StatusUnauthorized
				case token == "peer" && !anonymous:
					want = http.StatusForbidden
				case found:
					want = http.StatusOK
				}
				attempts++
				if got := w.get(t, token, path); got.StatusCode != want {
					t.Errorf("GET %s for %q = %d, want %d", path, token, got.StatusCode, want)
				}
			}
			if token == "" {
				continue
			}
			attempts++
			if status, body := w.send10(t, token, `{"text":"team-z/`+name+`"}`, getCard); (status == http.StatusOK && strings.Contains(body, "Forecasts rain.")) != (found && token != "peer") {
				t.Errorf("get-card of %s for %q = %d %s, want it for a visible agent only", name, token, status, body)
			}
			if token != "bot" { // only a ServiceAccount receives a token
				continue
			}
			attempts++
			if status, body := w.exchange(t, token, name+".team-z.a2a-operator.dev"); (status == http.StatusOK) != found {
				t.Errorf("exchange for %s = %d %s, want it for a visible agent only", name, status, body)
			}
		}
	}
	t.Logf("%d requests", attempts)
}

// The responses to a client without a token do not depend on agents that it does not see.
func TestAnonymousResponsesDependOnPublicAgentsOnly(t *testing.T) {
	all := visibleAgents(t)
	public := snapshotOf(all.Get(index.Key{Namespace: "team-z", Name: "open"}))
	with, without := newWorld(t, all), newWorld(t, public)
	for _, path := range []string{"/.well-known/ard.json", "/ard/agents", "/ard/catalogs/team-z", "/ard/catalogs/team-y", "/ard/agents/urn:air:agents.example.com:team-z:inside"} {
		a, b := with.get(t, "", path), without.get(t, "", path)
		if diff := cmp.Diff(bodyOf(t, b), bodyOf(t, a)); diff != "" || a.StatusCode != b.StatusCode {
			t.Errorf("GET %s (-without +with hidden agents):\n%s", path, diff)
		}
		if cache := a.Header.Get("Cache-Control"); (cache == anonymousCacheControl) != (a.StatusCode == http.StatusOK) {
			t.Errorf("GET %s = %d with Cache-Control %q", path, a.StatusCode, cache)
		}
		// Another registry receives another response, which a cache must not give to a client.
		if vary := a.Header.Get("Vary"); !strings.Contains(vary, federation.ViaHeader) || !strings.Contains(vary, federation.HopsHeader) {
			t.Errorf("GET %s with Vary %q", path, vary)
		}
	}
	for path, body := range map[string]string{
		"/ard/search": `{"query":{"text":"rain forecasts"}}`, "/ard/explore": `{"resultType":{"facets":[{"field":"tags"}]}}`,
	} {
		_, a := with.post(t, "", path, body)
		_, b := without.post(t, "", path, body)
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("POST %s (-without +with hidden agents):\n%s", path, diff)
		}
	}
}

func TestAnonymousRequestsAreLimitedByAddress(t *testing.T) {
	w := newWorld(t, visibleAgents(t))
	get := func(address, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ard/agents", nil)
		r.RemoteAddr = address
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, r)
		return recorder
	}
	for i := range anonymousRate.Burst {
		if got := get("192.0.2.1:1", ""); got.Code != http.StatusOK {
			t.Fatalf("request %d = %d %s", i, got.Code, got.Body)
		}
	}
	for range anonymousRate.Burst { // the bucket fills while the test runs
		got := get("192.0.2.1:2", "")
		if got.Code == http.StatusOK {
			continue
		}
		if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "RATE_LIMIT_EXCEEDED") {
			t.Errorf("a request beyond the limit = %d %s", got.Code, got.Body)
		}
		if other := get("192.0.2.2:1", ""); other.Code != http.StatusOK {
			t.Errorf("a request of another address = %d %s", other.Code, other.Body)
		}
		if caller := get("192.0.2.1:1", "home"); caller.Code != http.StatusOK {
			t.Errorf("a request with a token = %d %s", caller.Code, caller.Body)
		}
		return
	}
	t.Error("no request is refused")
}

func TestAnonymousResponsesAreLimited(t *testing.T) {
	s := newAnonymousSearchLimits(testclock.NewFakePassiveClock(time.Unix(0, 0)))
	var releases []func()
	for i := range maxAllAnonymousResponses {
		release, ok := s.hold(a2a.AccountingPrincipalAt(fmt.Sprintf("192.0.2.%d:1", i/maxAnonymousResponses)))
		if !ok {
			t.Fatalf("response %d is refused", i)
		}
		releases = append(releases, release)
	}
	other := a2a.AccountingPrincipalAt("198.51.100.1:1")
	if _, ok := s.hold(other); ok {
		t.Error("a response beyond the limit of all addresses is sent")
	}
	releases[0]()
	releases[1]()
	if _, ok := s.hold(other); !ok {
		t.Error("a response after another ended is refused")
	}
	if _, ok := s.hold(a2a.AccountingPrincipalAt("192.0.2.1:1")); ok {
		t.Error("a response beyond the limit of one address is sent")
	}
}

// Explorations, which wait for their slot, take no place of searches, and no memory of their responses.
func TestExplorationsHaveTheirOwnShare(t *testing.T) {
	s := newAnonymousSearchLimits(testclock.NewFakePassiveClock(time.Unix(0, 0)))
	of := s.explorations
	for i := range maxAllAnonymousExplorations {
		if _, ok := of.hold(a2a.AccountingPrincipalAt(fmt.Sprintf("192.0.2.%d:1", i))); !ok {
			t.Fatalf("exploration %d is refused", i)
		}
		if _, err := of.reserve(t.Context(), a2a.AccountingPrincipalAt(fmt.Sprintf("192.0.2.%d:1", i)), 1<<20); err != nil && i == 0 {
			t.Fatalf("the response of an exploration: %v", err)
		}
	}
	if _, ok := of.hold(a2a.AccountingPrincipalAt("198.51.100.1:1")); ok {
		t.Error("an exploration beyond the limit of all addresses is admitted")
	}
	for i := range maxAllAnonymousResponses / maxAnonymousResponses {
		if _, ok := s.hold(a2a.AccountingPrincipalAt(fmt.Sprintf("198.51.100.%d:1", i))); !ok {
			t.Errorf("search %d is refused", i)
		}
	}
	if used := s.responses.Used(); used != 0 {
		t.Errorf("explorations hold %d bytes of the memory of searches", used)
	}
	if _, ok := s.charge(a2a.AccountingPrincipalAt("192.0.2.1:1"), exploreCost); !ok {
		t.Fatal("an exploration is refused")
	}
	if _, ok := of.charge(a2a.AccountingPrincipalAt("192.0.2.1:1"), exploreCost+1); ok {
		t.Error("an exploration does not count toward the rate of its caller")
	}
}
