// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/a2a-operator/a2a-operator/internal/a2a/card"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/kit/plainjson"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
	"github.com/a2a-operator/a2a-operator/internal/sidecar/sidecarconfig"
	"github.com/a2a-operator/a2a-operator/test/securitypage"
)

func (w *world) post(t *testing.T, token, target, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	return recorder.Code, recorder.Body.String()
}

// weatherAgent returns a ready agent with one skill, whose id no other agent has.
func weatherAgent(t *testing.T, key index.Key, description string, tags, examples []string) *index.Entry {
	t.Helper()
	return weatherAgentWith(t, index.Facts{Key: key}, description, tags, examples)
}

// weatherAgentWith returns a ready agent with facts and one skill, whose id no other agent has.
func weatherAgentWith(t *testing.T, facts index.Facts, description string, tags, examples []string) *index.Entry {
	t.Helper()
	key := facts.Key
	facts.URL, facts.Ready = "http://"+key.Name+"."+key.Namespace+"/", true
	c := card.Card{
		Name: "Agent " + key.Name, Description: description, Version: "2.1.0",
		Skills: []card.Skill{{ID: "main-" + key.Name, Name: "Main", Description: "Does the work", Tags: tags, Examples: examples}},
	}
	text, err := json.Marshal(map[string]any{"version": sidecarconfig.Version, "card": c})
	if err != nil {
		t.Fatal(err)
	}
	e, err := index.NewEntry(facts, index.CardSource{Text: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func weatherFleet(t *testing.T) *index.Snapshot {
	t.Helper()
	return snapshotOf(
		weatherAgent(t, index.Key{Namespace: "team-a", Name: "rain"}, "Forecasts rain.", []string{"weather"}, []string{"Will it rain?", "Do I need an umbrella?"}),
		weatherAgent(t, index.Key{Namespace: "team-b", Name: "storm"}, "Warns of storms with rain.", []string{"weather", "alert"}, []string{"Is a storm near?"}),
		weatherAgent(t, index.Key{Namespace: "team-b", Name: "tax"}, "Computes taxes.", []string{"finance"}, nil),
		weatherAgent(t, index.Key{Namespace: "team-z", Name: "secret"}, "Rain that nobody may see.", []string{"hidden"}, nil),
	)
}

func decodeAs[T any](t *testing.T, body string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func identifiers(entries []ard.Entry) []string {
	ids := []string{}
	for i := range entries {
		ids = append(ids, strings.TrimPrefix(entries[i].Identifier, "urn:air:agents.example.com:"))
	}
	return ids
}

func resultIdentifiers(results []ard.Result) []string {
	ids := []string{}
	for i := range results {
		ids = append(ids, strings.TrimPrefix(results[i].Identifier, "urn:air:agents.example.com:"))
	}
	return ids
}

func TestARDManifestListsVisibleNamespaces(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	for token, want := range map[string][]string{
		"":      {"_registry"},
		"none":  {"_registry"},
		"home":  {"_registry", "_catalog:team-a"},
		"admin": {"_registry", "_catalog:team-a", "_catalog:team-b", "_catalog:team-z"},
	} {
		for _, path := range []string{ard.ManifestPath, ard.CatalogPath} {
			response := w.get(t, token, path)
			body := bodyOf(t, response)
			if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != ard.TypeCatalog {
				t.Fatalf("GET %s = %d %s", path, response.StatusCode, body)
			}
			if diff := cmp.Diff(want, identifiers(decodeAs[ard.Manifest](t, body).Entries)); diff != "" {
				t.Errorf("GET %s with token %q (-want +got):\n%s", path, token, diff)
			}
			if again := w.get(t, token, path, "If-None-Match", response.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
				t.Errorf("GET %s again = %d, want 304", path, again.StatusCode)
			}
		}
	}
}

func TestARDCatalogHasTheAgentsOfANamespace(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	got := decodeAs[ard.Manifest](t, bodyOf(t, w.get(t, "dev", "/ard/catalogs/team-b")))
	want := []ard.Entry{{
		Identifier: "urn:air:agents.example.com:team-b:storm", DisplayName: "Agent storm", Type: ard.TypeAgentCard,
		URL: "http://storm.team-b/.well-known/agent-card.json", Description: "Warns of storms with rain.", Version: "2.1.0",
		Tags: []string{"weather", "alert"}, Capabilities: []string{"main-storm"}, RepresentativeQueries: []string{"Is a storm near?", "Does the work"},
		Metadata: map[string]any{"namespace": "team-b", "name": "storm", "ready": true, "remote": false, "streaming": false},
	}, {
		Identifier: "urn:air:agents.example.com:team-b:tax", DisplayName: "Agent tax", Type: ard.TypeAgentCard,
		URL: "http://tax.team-b/.well-known/agent-card.json", Description: "Computes taxes.", Version: "2.1.0",
		Tags: []string{"finance"}, Capabilities: []string{"main-tax"}, RepresentativeQueries: []string{"Does the work", "Main"},
		Metadata: map[string]any{"namespace": "team-b", "name": "tax", "ready": true, "remote": false, "streaming": false},
	}}
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
	hidden, absent := w.get(t, "home", "/ard/catalogs/team-b"), w.get(t, "home", "/ard/catalogs/team-x")
	if a, b := strings.ReplaceAll(bodyOf(t, hidden), "team-b", "team-x"), bodyOf(t, absent); hidden.StatusCode != http.StatusNotFound || a != b {
		t.Errorf("a hidden namespace = %d %s, an absent one = %s", hidden.StatusCode, a, b)
	}
}

// All pages of a catalog together have each agent once.
func TestARDCatalogPages(t *testing.T) {
	var entries []*index.Entry
	for i := range 2*catalogPage + 1 {
		entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-a", Name: fmt.Sprintf("agent-%03d", i)}, "Works.", []string{"x"}, nil))
	}
	w := newWorld(t, snapshotOf(entries...))
	seen := map[string]bool{}
	for target := "/ard/catalogs/team-a"; target != ""; {
		page := decodeAs[ard.Manifest](t, bodyOf(t, w.get(t, "admin", target)))
		target = ""
		for i := range page.Entries {
			e := &page.Entries[i]
			if seen[e.Identifier] {
				t.Errorf("%s appears twice", e.Identifier)
			}
			seen[e.Identifier] = true
			if e.Type == ard.TypeCatalog {
				target = strings.TrimPrefix(e.URL, "http://registry.test")
			}
		}
	}
	if want := len(entries) + 2; len(seen) != want {
		t.Errorf("the pages have %d entries, want %d", len(seen), want)
	}
}

func TestARDSearch(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	for name, test := range map[string]struct {
		token, body string
		want        []string
	}{
		"ranked":                        {"dev", `{"query":{"text":"storm warning with rain"}}`, []string{"team-b:storm"}},
		"everything that is visible":    {"admin", `{"query":{"text":"rain"}}`, []string{"team-a:rain", "team-z:secret", "team-b:storm"}},
		"by tag, one of several":        {"admin", `{"query":{"text":"rain","filter":{"tags":["alert","nothing"]}}}`, []string{"team-b:storm"}},
		"by a text instead of a list":   {"admin", `{"query":{"text":"rain","filter":{"tags":"hidden"}}}`, []string{"team-z:secret"}},
		"by metadata":                   {"admin", `{"query":{"text":"rain","filter":{"metadata.namespace":"team-a","metadata.ready":"true"}}}`, []string{"team-a:rain"}},
		"by type, in any case":          {"dev", `{"query":{"text":"storm","filter":{"type":["Application/A2A-agent-card+json; v=1"]}}}`, []string{"team-b:storm"}},
		"by publisher":                  {"dev", `{"query":{"text":"storm","filter":{"publisher":"Agents.Example.com"}}}`, []string{"team-b:storm"}},
		"no other type":                 {"admin", `{"query":{"text":"rain","filter":{"type":["application/mcp-server-card+json"]}}}`, []string{}},
		"no other publisher":            {"admin", `{"query":{"text":"rain","filter":{"publisher":"acme.com"}}}`, []string{}},
		"no peers":                      {"dev", `{"query":{"text":"storm"},"federation":"referrals"}`, []string{"team-b:storm"}},
		"a caller who may see nothing":  {"none", `{"query":{"text":"rain"}}`, []string{}},
		"words that no agent has":       {"admin", `{"query":{"text":"blockchain"}}`, []string{}},
		"a page size above the maximum": {"dev", `{"query":{"text":"storm"},"pageSize":1000}`, []string{"team-b:storm"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := w.post(t, test.token, "/ard/search", test.body)
			if code != http.StatusOK {
				t.Fatalf("POST = %d %s", code, body)
			}
			got := decodeAs[ard.SearchResponse](t, body)
			if diff := cmp.Diff(test.want, resultIdentifiers(got.Results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			for _, result := range got.Results {
				if result.Source != "http://registry.test/ard/" || result.Score < 1 || result.Score > 100 {
					t.Errorf("result %+v", result)
				}
			}
		})
	}
}

// Every match is on exactly one page. This includes searches with pages of one result, and pages that are empty because a
// filter removed their results.
func TestARDSearchPages(t *testing.T) {
	var entries []*index.Entry
	var want []string
	for i := range scanLimit + 500 {
		tag := "common"
		if i%400 == 7 {
			tag = "rare"
			want = append(want, fmt.Sprintf("team-a:agent-%04d", i))
		}
		entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-a", Name: fmt.Sprintf("agent-%04d", i)}, "Works with rain.", []string{tag}, nil))
	}
	w := newWorld(t, snapshotOf(entries...))
	for _, size := range []int{1, 3, 100} {
		var got []string
		for token := ""; ; {
			code, body := w.post(t, "admin", "/ard/search",
				fmt.Sprintf(`{"query":{"text":"rain","filter":{"tags":"rare"}},"pageSize":%d,"pageToken":%q}`, size, token))
			if code != http.StatusOK {
				t.Fatalf("POST = %d %s", code, body)
			}
			page := decodeAs[ard.SearchResponse](t, body)
			got = append(got, resultIdentifiers(page.Results)...)
			if token = page.PageToken; token == "" {
				break
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", size, diff)
		}
	}
}

func TestARDExplore(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	for name, test := range map[string]struct {
		token, body string
		want        map[string]ard.FacetResult
	}{
		"all visible agents": {"dev", `{"resultType":{"facets":[{"field":"tags"},{"field":"type"}]}}`, map[string]ard.FacetResult{
			"tags": {Buckets: []ard.Bucket{{Value: "alert", Count: 1}, {Value: "finance", Count: 1}, {Value: "weather", Count: 1}}},
			"type": {Buckets: []ard.Bucket{{Value: ard.TypeAgentCard, Count: 2}}},
		}},
		"with a text and a limit": {"admin", `{"query":{"text":"rain"},"resultType":{"facets":[{"field":"tags","limit":1}]}}`, map[string]ard.FacetResult{
			"tags": {Buckets: []ard.Bucket{{Value: "weather", Count: 2}}, OtherCount: 2},
		}},
		"with a filter and a least count": {
			"admin", `{"query":{"filter":{"metadata.namespace":["team-a","team-b"]}},"resultType":{"facets":[{"field":"metadata.namespace","minCount":2}]}}`,
			map[string]ard.FacetResult{"metadata.namespace": {Buckets: []ard.Bucket{{Value: "team-b", Count: 2}}}},
		},
		"of another type": {"admin", `{"query":{"filter":{"type":"text/html"}},"resultType":{"facets":[{"field":"publisher"}]}}`, map[string]ard.FacetResult{
			"publisher": {Buckets: []ard.Bucket{}},
		}},
		"of a caller who may see nothing": {"none", `{"resultType":{"facets":[{"field":"publisher"}]}}`, map[string]ard.FacetResult{
			"publisher": {Buckets: []ard.Bucket{}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := w.post(t, test.token, "/ard/explore", test.body)
			if code != http.StatusOK {
				t.Fatalf("POST = %d %s", code, body)
			}
			if diff := cmp.Diff(test.want, decodeAs[ard.ExploreResponse](t, body).Facets); diff != "" {
				t.Errorf("facets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARDList(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	for query, want := range map[string][]string{
		"": {"team-a:rain", "team-b:storm", "team-b:tax", "team-z:secret"},
		"filter=" + url.QueryEscape(`tags = 'alert,finance'`):                              {"team-b:storm", "team-b:tax"},
		"filter=" + url.QueryEscape(`publisherId = 'agents.example.com' AND tags=weather`): {"team-a:rain", "team-b:storm"},
		"filter=" + url.QueryEscape(`updatedAfter > '2026-01-31'`):                         {},
		"pageSize=1": {"team-a:rain", "team-b:storm", "team-b:tax", "team-z:secret"},
	} {
		var got []string
		for token := ""; ; {
			response := w.get(t, "admin", "/ard/agents?"+query+"&pageToken="+token)
			page := decodeAs[ard.ListResponse](t, bodyOf(t, response))
			got = append(got, identifiers(page.Items)...)
			if token = page.PageToken; token == "" {
				break
			}
		}
		if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" {
			t.Errorf("GET /ard/agents?%s (-want +got):\n%s", query, diff)
		}
	}
	got := decodeAs[ard.Entry](t, bodyOf(t, w.get(t, "dev", "/ard/agents/urn:air:agents.example.com:team-b:tax")))
	if got.DisplayName != "Agent tax" {
		t.Errorf("agent = %+v", got)
	}
	hidden, absent := w.get(t, "dev", "/ard/agents/urn:air:agents.example.com:team-z:secret"), w.get(t, "dev", "/ard/agents/urn:air:agents.example.com:team-z:other")
	if a, b := bodyOf(t, hidden), bodyOf(t, absent); hidden.StatusCode != http.StatusNotFound || a != b {
		t.Errorf("a hidden agent = %d %s, an absent one = %s", hidden.StatusCode, a, b)
	}
}

func TestARDErrors(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	get := func(target string) func(*testing.T) (int, string) {
		return func(t *testing.T) (int, string) {
			t.Helper()
			response := w.get(t, "admin", target)
			return response.StatusCode, bodyOf(t, response)
		}
	}
	post := func(target, body string) func(*testing.T) (int, string) {
		return func(t *testing.T) (int, string) { t.Helper(); return w.post(t, "admin", target, body) }
	}
	for name, test := range map[string]struct {
		call    func(*testing.T) (int, string)
		code    int
		message string
	}{
		"no body":                                {post("/ard/search", ""), 400, "body"},
		"no object":                              {post("/ard/search", "[]"), 400, "body"},
		"two objects":                            {post("/ard/search", `{"query":{"text":"x"}}{}`), 400, "one JSON object"},
		"no text":                                {post("/ard/search", `{"query":{}}`), 400, "query.text"},
		"text without a word":                    {post("/ard/search", `{"query":{"text":"?!"}}`), 400, "query.text"},
		"long text":                              {post("/ard/search", `{"query":{"text":"`+strings.Repeat("x", 513)+`"}}`), 400, "query.text"},
		"unknown member":                         {post("/ard/search", `{"query":{"text":"x"},"limit":3}`), 400, "limit"},
		"text of a wrong type":                   {post("/ard/search", `{"query":{"text":3}}`), 400, "query.text"},
		"unknown filter":                         {post("/ard/search", `{"query":{"text":"x","filter":{"trustManifest.identity":"x"}}}`), 400, "use capabilities"},
		"filter without a value":                 {post("/ard/search", `{"query":{"text":"x","filter":{"tags":[]}}}`), 400, "tags"},
		"filter of a wrong type":                 {post("/ard/search", `{"query":{"text":"x","filter":{"tags":{"a":1}}}}`), 400, "query.filter"},
		"federation":                             {post("/ard/search", `{"query":{"text":"x"},"federation":"all"}`), 400, "auto, referrals or none"},
		"page size":                              {post("/ard/search", `{"query":{"text":"x"},"pageSize":0}`), 400, "pageSize"},
		"page token":                             {post("/ard/search", `{"query":{"text":"x"},"pageToken":"no"}`), 400, "pageToken"},
		"large body":                             {post("/ard/search", `{"query":{"text":"`+strings.Repeat("x", 64<<10)+`"}}`), 400, "64 KiB"},
		"query string":                           {post("/ard/search?x=1", `{"query":{"text":"x"}}`), 400, "no parameters"},
		"no facets":                              {post("/ard/explore", `{}`), 400, "resultType.facets"},
		"unknown facet":                          {post("/ard/explore", `{"resultType":{"facets":[{"field":"price"}]}}`), 400, "price"},
		"facet limit":                            {post("/ard/explore", `{"resultType":{"facets":[{"field":"type","limit":0}]}}`), 400, "limit"},
		"repeated member":                        {post("/ard/search", `{"query":{"text":"x"},"pageSize":1,"pageSize":2}`), 400, "pageSize: is repeated"},
		"repeated inner member":                  {post("/ard/search", `{"query":{"text":"x","text":"y"}}`), 400, "query.text: is repeated"},
		"repeated filter":                        {post("/ard/search", `{"query":{"text":"x","filter":{"tags":"a","tags":"b"}}}`), 400, "query.filter.tags: is repeated"},
		"member in another case":                 {post("/ard/search", `{"query":{"text":"x"},"PageSize":1}`), 400, "PageSize: is not a member"},
		"repeated in other case":                 {post("/ard/search", `{"query":{"text":"x","Text":"y"}}`), 400, "query.Text: is not a member"},
		"no UTF-8":                               {post("/ard/search", "{\"query\":{\"text\":\"\xff\"}}"), 400, "UTF-8"},
		"repeated after no UTF-8":                {post("/ard/search", "{\"query\":{\"text\":\"\xff\"},\"pageSize\":1,\"pageSize\":2}"), 400, "UTF-8"},
		"hostile member":                         {post("/ard/search", `{"query":{"text":"x"},"`+strings.Repeat("x", 60<<10)+`":1}`), 400, "xxx…: is not a member"},
		"page size beyond the range of integers": {post("/ard/search", `{"query":{"text":"x"},"pageSize":1e99}`), 400, "pageSize"},
		"facet limit of a text": {func(t *testing.T) (int, string) {
			t.Helper()
			return w.post(t, "dev", "/ard/explore", `{"resultType":{"facets":[{"field":"type","limit":"1"}]}}`)
		}, 400, "resultType.facets.0.limit"},
		"empty filter value":      {post("/ard/search", `{"query":{"text":"x","filter":{"tags":""}}}`), 400, "query.filter.tags: is empty"},
		"long filter value":       {post("/ard/search", `{"query":{"text":"x","filter":{"tags":"`+strings.Repeat("x", 513)+`"}}}`), 400, "query.filter.tags"},
		"long page token":         {post("/ard/search", `{"query":{"text":"x"},"pageToken":"f.`+strings.Repeat("e", 9<<10)+`"}`), 400, "pageToken"},
		"repeated parameter":      {get("/ard/agents?pageSize=1&pageSize=2"), 400, "pageSize: is repeated"},
		"page token of a list":    {get("/ard/agents?pageToken=" + strings.Repeat("x", 4<<10)), 400, "pageToken"},
		"repeated page token":     {get("/ard/catalogs/team-a?pageToken=a&pageToken=b"), 400, "pageToken"},
		"empty page size":         {get("/ard/agents?pageSize="), 400, "pageSize"},
		"empty list filter":       {get("/ard/agents?filter="), 400, "filter"},
		"list parameter of 20 KB": {get("/ard/agents?" + strings.Repeat("x", 20<<10) + "=1"), 400, "xxx…: is not a parameter"},
		"manifest parameter":      {get(ard.ManifestPath + "?x=1"), 400, "no parameters"},
		"agent parameter":         {get("/ard/agents/urn:air:agents.example.com:team-a:rain?x=1"), 400, "no parameters"},
		"token of another build":  {get("/ard/agents?pageToken=MnRlYW0vYQ"), 400, "pageToken"},
		"list parameter":          {get("/ard/agents?limit=3"), 400, "pageSize"},
		"list order":              {get("/ard/agents?orderBy=score"), 400, "orderBy"},
		"list page size":          {get("/ard/agents?pageSize=ten"), 400, "pageSize"},
		"list filter":             {get("/ard/agents?filter=weather"), 400, "filter"},
		"list filter field":       {get("/ard/agents?filter=price+%3D+3"), 400, "price"},
		"list time":               {get("/ard/agents?filter=updatedAfter+%3E+yesterday"), 400, "updatedAfter"},
		"catalog parameter":       {get("/ard/catalogs/team-a?x=1"), 400, "pageToken only"},
		"catalog of no namespace": {get("/ard/catalogs/Team_A"), 404, "Team_A"},
		"identifier of no agent":  {get("/ard/agents/urn:air:acme.com:a:b"), 404, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := test.call(t)
			got := decodeAs[struct{ ErrorCode, Message string }](t, body)
			if want := map[int]string{400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}[test.code]; code != test.code || got.ErrorCode != want || !strings.Contains(got.Message, test.message) {
				t.Errorf("%d %s, want %d %s with %q", code, body, test.code, want, test.message)
			}
		})
	}
}

func TestARDRefusesInvalidTokens(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	code, body := w.post(t, "unknown", "/ard/search", `{"query":{"text":"rain"}}`)
	if code != http.StatusUnauthorized || !strings.Contains(body, `"UNAUTHENTICATED"`) {
		t.Errorf("with an unknown token: %d %s", code, body)
	}
	response := w.get(t, "unknown", ard.ManifestPath)
	if response.StatusCode != http.StatusUnauthorized || !strings.Contains(response.Header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("with an unknown token: %d, %v", response.StatusCode, response.Header)
	}
	w.broken = errors.New("the API server is down")
	if code, body := w.post(t, "admin", "/ard/search", `{"query":{"text":"rain"}}`); code != http.StatusServiceUnavailable || !strings.Contains(body, `"UNAVAILABLE"`) {
		t.Errorf("without an API server: %d %s", code, body)
	}
}

// A page ends with the entry that reaches a number of bytes (scanBytes, maxCatalogPage). Its token leads to the rest.
func TestARDPagesHaveABoundInBytes(t *testing.T) {
	var entries []*index.Entry
	tag := strings.Repeat("\x01", 100<<10) // 600 KiB of JSON
	for i := range 12 {
		entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-a", Name: fmt.Sprintf("agent-%02d", i)}, "Forecasts rain.", []string{tag}, nil))
	}
	w := newWorld(t, snapshotOf(entries...))
	const most = maxCatalogPage + 700<<10
	check := func(path, body string, found int, more bool) {
		t.Helper()
		if len(body) > most || found == 0 || found == len(entries) || !more {
			t.Errorf("%s: %d bytes with %d agents and a next page: %t; want at most %d bytes, and a next page", path, len(body), found, more, most)
		}
	}
	code, body := w.post(t, "admin", "/ard/search", `{"query":{"text":"rain"},"pageSize":100}`)
	search := decodeAs[ard.SearchResponse](t, body)
	check("/ard/search", body, len(search.Results), code == http.StatusOK && search.PageToken != "")
	body = bodyOf(t, w.get(t, "admin", "/ard/agents?pageSize=100"))
	list := decodeAs[ard.ListResponse](t, body)
	check("/ard/agents", body, len(list.Items), list.PageToken != "")
	listed := len(list.Items)
	for list.PageToken != "" {
		list = decodeAs[ard.ListResponse](t, bodyOf(t, w.get(t, "admin", "/ard/agents?pageSize=100&pageToken="+list.PageToken)))
		listed += len(list.Items)
	}
	if listed != len(entries) {
		t.Errorf("the pages of the list have %d agents, want %d", listed, len(entries))
	}
	body = bodyOf(t, w.get(t, "admin", "/ard/catalogs/team-a"))
	catalog := decodeAs[ard.Manifest](t, body)
	check("/ard/catalogs/team-a", body, len(catalog.Entries)-1, catalog.Entries[len(catalog.Entries)-1].Type == ard.TypeCatalog)
	if used := w.api.searchLimits.responses.Used(); used != 0 {
		t.Errorf("%d bytes stay charged", used)
	}
}

// A search, a list and an exploration of large agents, none of which a filter accepts, read a part of them at a time. Other
// requests run in between, and a request ends when its client leaves.
func TestARDRequestsReadABoundedPartOfTheAgents(t *testing.T) {
	var entries []*index.Entry
	examples := make([]string, 400)
	for i := range examples {
		examples[i] = strings.Repeat("x", 512)
	}
	for i := range 40 {
		entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-a", Name: fmt.Sprintf("agent-%02d", i)}, "Forecasts rain.", nil, examples))
	}
	w := newWorld(t, snapshotOf(entries...))
	total := 0
	for _, e := range entries {
		total += len(e.Body())
	}
	least := total / (scanBytes + len(entries[0].Body()))
	for name, next := range map[string]func(token string) string{
		"search": func(token string) string {
			_, body := w.post(t, "admin", "/ard/search", fmt.Sprintf(`{"query":{"text":"rain","filter":{"tags":"none"}},"pageToken":%q}`, token))
			return decodeAs[ard.SearchResponse](t, body).PageToken
		},
		"list": func(token string) string {
			return decodeAs[ard.ListResponse](t, bodyOf(t, w.get(t, "admin", "/ard/agents?filter=tags%3Dnone&pageToken="+url.QueryEscape(token)))).PageToken
		},
	} {
		pages := 1
		for token := next(""); token != ""; token = next(token) {
			pages++
		}
		if pages < least || pages > 2*least {
			t.Errorf("%s: %d MB of agents are read on %d pages, want from %d to %d", name, total>>20, pages, least, 2*least)
		}
	}
	securitypage.Attempts(t, "T-SEARCH", len(entries))
	for target, body := range map[string]string{
		"/ard/search":               `{"query":{"text":"rain","filter":{"tags":"none"}}}`,
		"/ard/explore":              `{"query":{"filter":{"tags":"none"}},"resultType":{"facets":[{"field":"tags"}]}}`,
		"/ard/agents?filter=tags=x": "",
	} {
		method := http.MethodPost
		if body == "" {
			method = http.MethodGet
		}
		checks := 0
		ctx := &hookedContext{t.Context(), func() error {
			checks++
			if checks > 6 {
				return context.Canceled
			}
			return nil
		}}
		r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer admin")
		recorder := httptest.NewRecorder()
		w.unvalidated.ServeHTTP(recorder, r)
		if recorder.Body.Len() > 0 || checks > 10 {
			t.Errorf("%s of a client that has left: %.200s after %d checks", target, recorder.Body, checks)
		}
	}
}

// An exploration without a token does not delay searches without a token.
func TestExplorationsDelayNoSearches(t *testing.T) {
	public := index.Facts{Key: index.Key{Namespace: "team-a", Name: "rain"}, Visibility: access.VisibilityPublic}
	w := newWorld(t, snapshotOf(weatherAgentWith(t, public, "Forecasts rain.", nil, nil)))
	asked := 0
	ctx := &hookedContext{t.Context(), func() error {
		asked++
		if code, body := w.post(t, "", "/ard/search", `{"query":{"text":"rain"}}`); code != http.StatusOK {
			t.Errorf("a search during an exploration = %d %s", code, body)
		}
		return nil
	}}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/ard/explore", strings.NewReader(`{"query":{},"resultType":{"facets":[{"field":"tags"}]}}`))
	w.unvalidated.ServeHTTP(httptest.NewRecorder(), r)
	if asked == 0 {
		t.Error("the exploration has read no agent")
	}
}

// An exploration reads a part of the agents of a namespace that has very large ones, and all of the others.
func TestExplorationReadsAShareOfEachNamespace(t *testing.T) {
	examples := make([]string, 1700)
	for i := range examples {
		examples[i] = strings.Repeat("x", 512)
	}
	large := weatherAgent(t, index.Key{Namespace: "team-b", Name: "large"}, "Forecasts rain.", nil, examples)
	fit := (exploreBytes + len(large.Body()) - 1) / len(large.Body())
	entries := []*index.Entry{weatherAgent(t, index.Key{Namespace: "team-a", Name: "first"}, "Forecasts rain.", nil, nil)}
	for i := range fit + 3 {
		copied := *large
		copied.Key.Name = fmt.Sprintf("large-%02d", i)
		entries = append(entries, &copied)
	}
	entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-c", Name: "last"}, "Forecasts rain.", nil, nil))
	w := newWorld(t, snapshotOf(entries...))
	_, body := w.post(t, "admin", "/ard/explore", `{"resultType":{"facets":[{"field":"metadata.namespace"}]}}`)
	want := ard.FacetResult{Buckets: []ard.Bucket{{Value: "team-b", Count: fit}, {Value: "team-a", Count: 1}, {Value: "team-c", Count: 1}}}
	if diff := cmp.Diff(want, decodeAs[ard.ExploreResponse](t, body).Facets["metadata.namespace"]); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

// hookedContext has the error that err returns.
type hookedContext struct {
	context.Context //nolint:containedctx // it is a context
	err             func() error
}

func (c *hookedContext) Err() error { return c.err() }

// A card of characters that JSON in HTML escapes needs the memory that is reserved for it, also as the answer of an agent.
func TestCardsAreNotEscapedForHTML(t *testing.T) {
	text := strings.Repeat("<", 10_000)
	e := weatherAgent(t, index.Key{Namespace: "team-a", Name: "rain"}, text, []string{"weather"}, nil)
	if size := len(e.Body()); size > 2*len(text) {
		t.Errorf("the entry has %d bytes", size)
	}
	w := newWorld(t, snapshotOf(e))
	for name, body := range map[string]string{
		"the card":       bodyOf(t, w.get(t, "admin", "/ard/cards/team-a/rain")),
		"the list":       bodyOf(t, w.get(t, "admin", "/v1/agents")),
		"a list of ARD":  bodyOf(t, w.get(t, "admin", "/ard/agents")),
		"a found agent":  sent(w.send10(t, "admin", `{"text":"rain"}`, "")),
		"an asked card":  sent(w.send10(t, "admin", `{"text":"team-a/rain"}`, getCard)),
		"the first card": bodyOf(t, w.get(t, "admin", "/v1/agents/team-a/rain/card")),
	} {
		if !strings.Contains(body, text) || len(body) > 3*len(text) {
			t.Errorf("%s has %d bytes: %.300s", name, len(body), body)
		}
	}
}

func sent(_ int, body string) string { return body }

// The registry charges a response with at least the size of its JSON.
func TestARDResponsesAreChargedWithTheirSize(t *testing.T) {
	hard := "a<\"\\\u2028\x00\x7fé\U0001f600\xff\n"
	e := ard.Entry{
		Identifier: hard, DisplayName: hard, Type: hard, URL: hard, Description: hard, Tags: []string{hard, hard}, Capabilities: []string{hard},
		RepresentativeQueries: []string{hard}, Version: hard, UpdatedAt: hard,
		Metadata: map[string]any{"ready": true, hard: hard, "n": 1.7e308, "list": []any{hard, map[string]any{hard: nil}}},
	}
	facets := map[string]ard.FacetResult{hard: {Buckets: []ard.Bucket{{Value: hard, Count: math.MaxInt}}, OtherCount: math.MaxInt}}
	for _, result := range []any{
		&e,
		ard.Manifest{Host: ard.Host{DisplayName: hard, Identifier: hard}, Entries: []ard.Entry{e, e}},
		ard.ListResponse{Items: []ard.Entry{e, {}}, PageToken: hard},
		ard.ExploreResponse{ResultType: "facets", Facets: facets},
		ard.SearchResponse{Results: []ard.Result{{Entry: e, Score: 100, Source: hard}}, Referrals: []ard.Entry{e}, PageToken: hard},
	} {
		body, err := plainjson.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if size := sizeOf(result); size < len(body) {
			t.Errorf("%T of %d bytes is charged with %d", result, len(body), size)
		}
	}
}

// A response waits for memory, while its slot is free for other requests and its caller is charged once. After the time-out, it is refused.
func TestResponsesWaitForMemory(t *testing.T) {
	isOK := func(status int, body string) bool {
		return status == http.StatusOK && !strings.Contains(body, "too many large responses")
	}
	for name, send := range map[string]func(t *testing.T, w *world) bool{
		"list": func(t *testing.T, w *world) bool { return w.get(t, "admin", "/ard/agents").StatusCode == http.StatusOK },
		"search": func(t *testing.T, w *world) bool {
			return isOK(w.post(t, "admin", "/ard/search", `{"query":{"text":"rain"}}`))
		},
		"card": func(t *testing.T, w *world) bool {
			return w.get(t, "admin", "/ard/cards/team-a/rain").StatusCode == http.StatusOK
		},
		"aggregate card": func(t *testing.T, w *world) bool {
			return w.get(t, "admin", "/extendedAgentCard").StatusCode == http.StatusOK
		},
		"get-card": func(t *testing.T, w *world) bool {
			return isOK(w.send10(t, "admin", `{"text":"team-a/rain"}`, getCard))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, isFreed := range []bool{false, true} {
					w := newWorldWith(t, weatherFleet(t), func(a *api) { a.searchLimits = newSearchLimits(testclock.NewFakePassiveClock(time.Unix(0, 0))) })
					limits := w.api.searchLimits
					admin, other := caller(t, "admin", nil), caller(t, "other", nil)
					began := limits.clock.Now()
					hasSearches := limits.callers.Bucket(principalOf(&admin), began).TakeN(began, searchRate.Burst-1)
					hasCards := limits.costly.Bucket(principalOf(&admin), began).TakeN(began, costlyRate.Burst-aggregateCost)
					limits.responses = limit.NewBudget(1<<10, searchTimeout)
					full, err := limits.reserve(t.Context(), principalOf(&other), 1<<10)
					if err != nil || !hasSearches || !hasCards {
						t.Fatal(err, hasSearches, hasCards)
					}
					time.AfterFunc(searchTimeout/2, func() {
						release, err := limits.slots.Acquire(t.Context(), shareOf(&other))
						if err != nil {
							t.Errorf("a slot while a response waits: %v", err)
							return
						}
						release()
						if isFreed {
							limits.responses.Set(1 << 20)
							full()
						}
					})
					began = time.Now()
					ok := send(t, w)
					want := searchTimeout
					if isFreed {
						want = searchTimeout / 2
					}
					if waited := time.Since(began); ok != isFreed || waited != want {
						t.Errorf("with memory that becomes free %t: %t after %s, want it after %s", isFreed, ok, waited, want)
					}
					full()
					if used := limits.responses.Used(); used != 0 {
						t.Errorf("%d bytes stay reserved", used)
					}
				}
			})
		})
	}
}

// Scripts of all origins can read what needs no token: documents, searches and errors, inside and outside of the cluster.
func TestScriptsReadPublicAgents(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	outside := w.api.outsideHandler(&ard.Publisher{Domain: "agents.example.com", BaseURL: "http://registry.test", Outside: true})
	send := func(handler http.Handler, method, target, body, token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		r.Header.Set("Origin", "https://page.example")
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, r)
		return recorder
	}
	for _, handler := range []http.Handler{w.unvalidated, outside} {
		for _, path := range []string{"/.well-known/ard.json", "/.well-known/ai-catalog.json", "/ard/search", "/ard/agents", "/ard/catalogs/team-a"} {
			got := send(handler, http.MethodOptions, path, "", "")
			if got.Code != http.StatusNoContent || got.Header().Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(got.Header().Get("Access-Control-Allow-Methods"), "POST") ||
				got.Header().Get("Access-Control-Allow-Headers") != "Content-Type" {
				t.Errorf("OPTIONS %s = %d %v", path, got.Code, got.Header())
			}
		}
		for target, want := range map[string]int{"GET /.well-known/ard.json": http.StatusOK, "POST /ard/search": http.StatusOK, "GET /ard/agents?x=1": http.StatusBadRequest} {
			method, path, _ := strings.Cut(target, " ")
			body := ""
			if method == http.MethodPost {
				body = `{"query":{"text":"rain"}}`
			}
			got := send(handler, method, path, body, "")
			if got.Code != want || got.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s = %d %s, headers %v", target, got.Code, got.Body, got.Header())
			}
		}
	}
	if got := send(w.unvalidated, http.MethodGet, "/ard/agents", "", "admin"); got.Code != http.StatusOK || got.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a response to a token = %d, headers %v", got.Code, got.Header())
	}
}

// The URL of the registry in its own manifest leads to a description of the registry.
func TestOwnEntryLeadsToADescription(t *testing.T) {
	w := newWorld(t, weatherFleet(t))
	for _, token := range []string{"", "admin"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ard/", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, r)
		var entry ard.Entry
		if err := json.Unmarshal(recorder.Body.Bytes(), &entry); err != nil || recorder.Code != http.StatusOK || entry.Type != ard.TypeRegistry || entry.URL != "http://registry.test/ard/" {
			t.Errorf("GET /ard/ = %d %s", recorder.Code, recorder.Body)
		}
	}
}

// The entry of an agent that cannot serve its card leads to the registry's copy, also without a token if the agent
// is public.
func TestEntriesOfAgentsWithoutAPodLeadToTheirCards(t *testing.T) {
	agent := func(name string, visibility access.Visibility, remote bool) *index.Entry {
		facts := index.Facts{Key: index.Key{Namespace: "team-a", Name: name}, URL: "http://" + name + ".team-a/", Visibility: visibility, Remote: remote}
		text := `{"version":"` + sidecarconfig.Version + `","card":{"name":"` + name + `","description":"Rain & <sun>.","version":"1"}}`
		e, err := index.NewEntry(facts, index.CardSource{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	w := newWorld(t, snapshotOf(
		agent("open", access.VisibilityPublic, false), agent("far", access.VisibilityPublic, true), agent("inner", access.VisibilityCluster, false),
	))
	for _, test := range []struct {
		token, name string
		status      int
	}{
		{"", "open", http.StatusOK},
		{"", "far", http.StatusOK},
		{"", "inner", http.StatusNotFound},
		{"admin", "inner", http.StatusOK},
		{"admin", "none", http.StatusNotFound},
	} {
		target := "/ard/cards/team-a/" + test.name
		if test.status == http.StatusOK {
			entry := decodeAs[ard.Entry](t, bodyOf(t, w.get(t, test.token, "/ard/agents/urn:air:agents.example.com:team-a:"+test.name)))
			if entry.URL != "http://registry.test"+target {
				t.Errorf("the entry of %s leads to %s", test.name, entry.URL)
			}
		}
		response := w.get(t, test.token, target)
		body := bodyOf(t, response)
		if response.StatusCode != test.status || test.status == http.StatusOK && !strings.Contains(body, `"name":"`+test.name+`"`) {
			t.Errorf("GET %s with token %q = %d %s", target, test.token, response.StatusCode, body)
		}
		if again := w.get(t, test.token, target, "If-None-Match", response.Header.Get("ETag")); test.status == http.StatusOK && again.StatusCode != http.StatusNotModified {
			t.Errorf("GET %s again = %d", target, again.StatusCode)
		}
	}
	if form := bodyOf(t, w.get(t, "", "/ard/cards/team-a/open", "A2A-Version", "1.0")); strings.Contains(form, "protocolVersion\":\"0.3") {
		t.Errorf("the card for A2A 1.0 has fields of 0.3: %s", form)
	}
	if forwarded := w.get(t, "admin", "/ard/cards/team-a/open", "A2A-Registry-Via", "other.example"); forwarded.StatusCode != http.StatusNotFound {
		t.Errorf("another registry gets the addresses in the cluster: %d", forwarded.StatusCode)
	}
	outside := httptest.NewRecorder()
	w.api.outsideHandler(&ard.Publisher{Domain: "agents.example.com", BaseURL: "http://registry.test", Outside: true}).
		ServeHTTP(outside, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ard/cards/team-a/open", nil))
	if outside.Code != http.StatusNotFound {
		t.Errorf("the catalog outside of the cluster has cards: %d", outside.Code)
	}
}
