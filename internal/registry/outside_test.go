// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	a2av1alpha1 "github.com/a2a-operator/a2a-operator/api/v1alpha1"
	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
)

var outsidePublisher = &ard.Publisher{Domain: "agents.example.com", BaseURL: "https://catalog.example.com", Outside: true}

// exposedAgents are agents with and without an external URL, of each visibility. Only
// team-a/open is in the catalog outside of the cluster.
func exposedAgents(t *testing.T) *index.Snapshot {
	t.Helper()
	var entries []*index.Entry
	add := func(namespace, name string, visibility a2av1alpha1.Visibility, externalURL string) {
		agent := &a2av1alpha1.Agent{}
		agent.Spec.Discovery.Visibility, agent.Status.ExternalURL = visibility, externalURL
		c := card.Card{
			Name: "Agent " + name, Description: "Forecasts rain.", Version: "1", Provider: &card.Provider{Organization: "Weather Inc", URL: "https://weather.example"},
			Skills: []card.Skill{{ID: "forecast", Name: "Forecast", Description: "Forecasts rain", Tags: []string{"of-" + name}, Examples: []string{"Will it rain?", "And tomorrow?"}}},
		}
		text, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
		if err != nil {
			t.Fatal(err)
		}
		e, err := index.NewEntry(index.Facts{
			Key: index.Key{Namespace: namespace, Name: name}, URL: "http://" + name + "." + namespace + ".svc.cluster.local/", ExternalURL: externalURL,
			Reason: "CrashLoop", UpdatedAt: time.Unix(1, 0), Visibility: access.VisibilityOf(agent), Admitted: "*",
		}, index.CardSource{Text: string(text)})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	add("team-a", "open", a2av1alpha1.VisibilityPublic, "https://agents.example.com/open/")
	add("team-a", "inside", a2av1alpha1.VisibilityPublic, "")
	add("team-a", "shared", a2av1alpha1.VisibilityFederated, "https://agents.example.com/shared/")
	add("team-b", "hidden", a2av1alpha1.VisibilityCluster, "https://agents.example.com/hidden/")
	return snapshotOf(entries...)
}

func outsideOf(t *testing.T, s *index.Snapshot) http.Handler {
	t.Helper()
	var handler http.Handler
	newWorldWith(t, s, func(a *api) { handler = a.outsideHandler(outsidePublisher) })
	return handler
}

func ask(t *testing.T, handler http.Handler, method, target, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)
	var all strings.Builder
	_ = recorder.Header().Write(&all)
	return recorder.Code, all.String() + recorder.Body.String()
}

// The catalog outside of the cluster contains no data of an agent that is not public or has
// no external URL, and no data of the inside of the cluster.
func TestOutsideCatalogHasPublicAgentsWithAnExternalURLOnly(t *testing.T) {
	handler := outsideOf(t, exposedAgents(t))
	for _, test := range []struct{ method, target, body, want string }{
		{http.MethodGet, "/.well-known/ard.json", "", `"url":"https://catalog.example.com/ard/catalogs/team-a"`},
		{http.MethodGet, "/.well-known/ai-catalog.json", "", `"url":"https://catalog.example.com/ard/"`},
		{http.MethodGet, "/ard/catalogs/team-a", "", `"url":"https://agents.example.com/open/.well-known/agent-card.json"`},
		{http.MethodPost, "/ard/search", `{"query":{"text":"rain"}}`, `"source":"https://catalog.example.com/ard/"`},
		{http.MethodPost, "/ard/search", `{"query":{"text":"rain","filter":{"tags":["of-open"]}}}`, `:open"`},
		{http.MethodPost, "/ard/search", `{"query":{"text":"rain","filter":{"metadata.ready":["false"]}}}`, `"results":[]`},
		{http.MethodPost, "/ard/search", `{"query":{"text":"rain"},"federation":"referrals"}`, `:open"`},
		{http.MethodPost, "/ard/explore", `{"resultType":{"facets":[{"field":"tags"},{"field":"metadata.namespace"},{"field":"metadata.provider"}]}}`, `"of-open"`},
		{http.MethodGet, "/ard/agents", "", `"identifier":"urn:air:agents.example.com:team-a:open"`},
		{http.MethodGet, "/ard/agents?pageSize=1", "", `:open"`},
		{http.MethodGet, "/ard/agents/urn:air:agents.example.com:team-a:open", "", `"metadata":{"provider":"Weather Inc","streaming":false}`},
		{http.MethodGet, "/healthz", "", "ok"},
	} {
		status, body := ask(t, handler, test.method, test.target, test.body)
		if status != http.StatusOK || !strings.Contains(body, test.want) {
			t.Errorf("%s %s = %d %s, want %s", test.method, test.target, status, body, test.want)
		}
		for _, secret := range []string{"svc.cluster.local", "inside", "shared", "hidden", "team-b", "CrashLoop", `"ready"`, "updatedAt", "pageToken\":\"", "registry.test"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s %s tells %q: %s", test.method, test.target, secret, body)
			}
		}
	}
}

// The registry of another cluster may use the catalog as a peer.
func TestOutsideCatalogAnswersOtherRegistries(t *testing.T) {
	handler := outsideOf(t, exposedAgents(t))
	status, body := ask(t, handler, http.MethodPost, "/ard/search", `{"query":{"text":"rain"},"federation":"none"}`, "A2A-Registry-Via", "other.example")
	if status != http.StatusOK || strings.Count(body, `"identifier"`) != 1 || !strings.Contains(body, `:team-a:open"`) {
		t.Errorf("a search of another registry = %d %s, want team-a/open", status, body)
	}
}

func TestOutsideCatalogServesNothingElse(t *testing.T) {
	handler := outsideOf(t, exposedAgents(t))
	for _, target := range []string{
		"/", "/v1/agents", "/v1/agents/team-a/open", "/v1/agents/team-a/open/card", "/v1/token", "/v1/peers", "/openapi.yaml", "/metrics",
		"/.well-known/agent-card.json", "/.well-known/agent.json", "/ard/catalogs/team-b", "/ard/catalogs/absent",
		"/ard/agents/urn:air:agents.example.com:team-a:inside", "/ard/agents/urn:air:agents.example.com:team-a:shared",
		"/ard/agents/urn:air:agents.example.com:team-b:hidden", "/ard/agents/urn:air:agents.example.com:team-b:absent",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			status, body := ask(t, handler, method, target, `{}`)
			if status != http.StatusNotFound || !strings.Contains(body, `"errorCode":"NOT_FOUND"`) || strings.Contains(body, "public,") {
				t.Errorf("%s %s = %d %s, want 404", method, target, status, body)
			}
		}
	}
	for _, authorization := range []string{"Bearer admin", "Bearer unknown", "Basic YTpi", ""} {
		status, body := ask(t, handler, http.MethodGet, "/ard/agents", "", "Authorization", authorization)
		if status != http.StatusBadRequest || !strings.Contains(body, "accepts no credentials") {
			t.Errorf("with Authorization %q: %d %s, want 400", authorization, status, body)
		}
	}
}

func TestOutsideCatalogIsLimitedByAddress(t *testing.T) {
	handler := outsideOf(t, exposedAgents(t))
	for range 2 * outsideRate.Burst {
		// X-Forwarded-For does not identify a client, because any client can send it.
		if status, body := ask(t, handler, http.MethodGet, "/ard/agents", "", "X-Forwarded-For", fmt.Sprint(time.Now().UnixNano())); status == http.StatusTooManyRequests {
			if !strings.Contains(body, "Retry-After") || !strings.Contains(body, "RATE_LIMIT_EXCEEDED") {
				t.Errorf("a request beyond the limit = %s", body)
			}
			return
		}
	}
	t.Error("no request is refused")
}

// The catalog has a listener of its own. It lists an agent only while the agent is public.
func TestServerServesTheOutsideCatalog(t *testing.T) {
	agent := &a2av1alpha1.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "open", ResourceVersion: "1", Generation: 1},
		Status:     a2av1alpha1.AgentStatus{ExternalURL: "https://agents.example.com/open/"},
	}
	agent.Spec.Discovery.Visibility = a2av1alpha1.VisibilityPublic
	informers := newFakeInformers()
	objects := newClient(t, agent)
	server, stop := start(t, Options{
		Cache: informers.cache(objects), Reviews: &apiServer{}, Outside: &OutsideOptions{BindAddress: freeAddress(t), Memory: 64 << 20, Publisher: outsidePublisher},
	})
	informers.synced()
	waitFor(t, func() error { return server.Ready(nil) })
	informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Add(agent)
	base := "http://" + server.options.Outside.BindAddress
	list := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/ard/agents", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = response.Body.Close() }()
		body, _ := io.ReadAll(response.Body)
		return string(body)
	}
	waitFor(t, func() error {
		if body := list(); !strings.Contains(body, ":team-a:open") {
			return fmt.Errorf("the catalog has no agent: %s", body)
		}
		return nil
	})
	if err := status(t, base+"/v1/agents", "", http.StatusNotFound); err != nil {
		t.Error(err)
	}
	if err := status(t, "http://"+server.options.BindAddress+"/v1/agents", "", http.StatusUnauthorized); err != nil {
		t.Error(err)
	}
	hidden := agent.DeepCopy()
	hidden.Generation, hidden.Spec.Discovery.Visibility = 2, a2av1alpha1.VisibilityCluster
	current := &a2av1alpha1.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "open"}}
	if err := objects.Delete(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	hidden.ResourceVersion = ""
	if err := objects.Create(t.Context(), hidden); err != nil {
		t.Fatal(err)
	}
	informers.of(a2av1alpha1.GroupVersion, a2av1alpha1.AgentKind).Update(agent, hidden)
	waitFor(t, func() error {
		if body := list(); strings.Contains(body, ":team-a:open") {
			return fmt.Errorf("the catalog still has the agent: %s", body)
		}
		return nil
	})
	stop()
}
