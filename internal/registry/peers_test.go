// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/access"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
	"github.com/a2a-operator/a2a-operator/internal/registry/federation"
	"github.com/a2a-operator/a2a-operator/internal/registry/index"
)

// cluster is the registry of one of several clusters, with a server for its peers.
type cluster struct {
	*world
	*httptest.Server
	name string
	// searched counts the searches that arrived from other registries.
	searched atomic.Int64
	// peersFile is the path of the peers file.
	peersFile string
}

// newClusters returns a registry for each of fleets. peers has the names of each registry's peers.
// A registry sends the token "peer" to its peers.
func newClusters(t *testing.T, hops int, fleets map[string]*index.Snapshot, peers map[string][]string) map[string]*cluster {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("peer"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]*cluster{}
	for name := range fleets {
		c := &cluster{name: name, peersFile: filepath.Join(t.TempDir(), "peers.yaml")}
		c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.searched.Add(1)
			c.handler.ServeHTTP(w, r)
		}))
		t.Cleanup(c.Close)
		all[name] = c
	}
	for name, c := range all {
		text := fmt.Sprintf("maxHops: %d\npeers:\n", hops)
		for _, peer := range peers[name] {
			text += fmt.Sprintf("- {name: %s, url: '%s/ard', publisher: %s.example, mode: Forward, tokenFile: %s, timeout: 1s}\n", peer, all[peer].URL, peer, token)
		}
		if err := os.WriteFile(c.peersFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.world = newWorldWith(t, fleets[name], func(a *api) {
			a.publisher = &ard.Publisher{Domain: name + ".example", BaseURL: c.URL}
			a.federation = federation.New(federation.Options{File: c.peersFile, Publisher: a.publisher, Clock: clock.RealClock{}, Log: logr.Discard()})
		})
	}
	return all
}

// searchARD returns the response to a search of ARD by the administrator, and its header with
// the searched peers.
func (c *cluster) searchARD(t *testing.T, body string, header ...string) (response ard.SearchResponse, peers string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ard/search", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer admin")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	c.handler.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusOK {
		t.Fatalf("POST /ard/search = %d %s", recorder.Code, recorder.Body)
	}
	return decodeAs[ard.SearchResponse](t, recorder.Body.String()), recorder.Header().Get(federation.PeersHeader)
}

func fullIdentifiers(results []ard.Result) []string {
	ids := []string{}
	for i := range results {
		ids = append(ids, results[i].Identifier)
	}
	return slices.Sorted(slices.Values(ids))
}

// exportedAgent returns an agent that a search for rain finds. It is visible to peers and has
// an external URL.
func exportedAgent(t *testing.T, name string) *index.Entry {
	t.Helper()
	return weatherAgentWith(t, index.Facts{
		Key: index.Key{Namespace: "team-a", Name: name}, ExternalURL: "https://" + name + ".agents.example/", Visibility: access.VisibilityFederated,
	}, "Forecasts rain.", []string{"weather"}, nil)
}

// rain returns the snapshot of a cluster with one exported agent.
func rain(t *testing.T, name string) *index.Snapshot {
	t.Helper()
	return snapshotOf(exportedAgent(t, name))
}

const rainQuery = `{"query":{"text":"rain"}}`

// The owner of an agent cannot make the responses to other registries too large.
func TestAgentsWithLargeCardsAreFoundByOtherRegistries(t *testing.T) {
	var west []*index.Entry
	for i := range 12 {
		var tags []string
		for n := range 2000 {
			tags = append(tags, fmt.Sprintf("<<<<<<<< %d-%d", i, n))
		}
		west = append(west, weatherAgentWith(t, index.Facts{
			Key: index.Key{Namespace: "team-a", Name: fmt.Sprintf("large-%02d", i)}, ExternalURL: "https://agents.example/", Visibility: access.VisibilityFederated,
		}, "Forecasts rain. "+strings.Repeat("<", 8<<10), tags, nil))
	}
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": rain(t, "one"), "west": snapshotOf(west...)}, map[string][]string{"east": {"west"}})
	response, peers := all["east"].searchARD(t, `{"query":{"text":"rain"},"pageSize":100}`)
	if peers != "west;outcome=success;results=12" || len(response.Results) != 13 {
		t.Errorf("peers %q, %d results", peers, len(response.Results))
	}
	for i := range response.Results {
		if r := &response.Results[i]; strings.Contains(r.Identifier, "west") && (len(r.Tags) == 0 || !strings.HasPrefix(r.Description, "Forecasts rain.")) {
			t.Errorf("result %s has %d tags and the description %.20q", r.Identifier, len(r.Tags), r.Description)
		}
	}
}

// Each of two registries has the other as a peer. A search reaches each registry once.
func TestASearchOfTwoRegistriesThatNameEachOtherEnds(t *testing.T) {
	for hops := 1; hops <= 2; hops++ {
		all := newClusters(t, hops, map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two")}, map[string][]string{"east": {"west"}, "west": {"east"}})
		response, peers := all["east"].searchARD(t, rainQuery)
		if diff := cmp.Diff([]string{"urn:air:east.example:team-a:one", "urn:air:west.example:team-a:two"}, fullIdentifiers(response.Results)); diff != "" {
			t.Errorf("results with %d hops (-want +got):\n%s", hops, diff)
		}
		if peers != "west;outcome=success;results=1" || all["west"].searched.Load() != 1 || all["east"].searched.Load() != 0 {
			t.Errorf("with %d hops: peers %q, searches of west %d and of east %d", hops, peers, all["west"].searched.Load(), all["east"].searched.Load())
		}
	}
}

// A peer that stops delays a search by at most its timeout, and the response names the peer.
func TestASearchWithoutItsPeerNamesThePeer(t *testing.T) {
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two")}, map[string][]string{"east": {"west"}})
	all["west"].CloseClientConnections()
	all["west"].Close()
	response, peers := all["east"].searchARD(t, rainQuery)
	if diff := cmp.Diff([]string{"urn:air:east.example:team-a:one"}, fullIdentifiers(response.Results)); diff != "" || peers != "west;outcome=unreachable" {
		t.Errorf("peers %q, results (-want +got):\n%s", peers, diff)
	}
	states := decodeAs[struct{ Peers []federation.State }](t, bodyOf(t, all["east"].get(t, "home", "/v1/peers"))).Peers
	if len(states) != 1 || states[0].Name != "west" || states[0].State != "Unreachable" || states[0].Error == "" {
		t.Errorf("GET /v1/peers = %+v", states)
	}
}

func TestTheHopLimitBoundsAChainOfRegistries(t *testing.T) {
	fleets := map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two"), "north": rain(t, "three"), "south": rain(t, "four")}
	for _, test := range []struct {
		hops     int
		header   []string
		searched map[string]int64
	}{
		{1, nil, map[string]int64{"west": 1, "north": 0}},
		{2, nil, map[string]int64{"west": 1, "north": 1, "south": 0}},
		{2, []string{federation.HopsHeader, "1"}, map[string]int64{"west": 1, "north": 0}},
		{2, []string{federation.HopsHeader, "0"}, map[string]int64{"west": 0, "north": 0}},
	} {
		all := newClusters(t, test.hops, fleets, map[string][]string{"east": {"west"}, "west": {"north"}, "north": {"south"}, "south": {"east"}})
		all["east"].searchARD(t, rainQuery, test.header...)
		for name, want := range test.searched {
			if got := all[name].searched.Load(); got != want {
				t.Errorf("%d hops, header %v: %s got %d searches, want %d", test.hops, test.header, name, got, want)
			}
		}
	}
}

func TestSearchUsesTheRequestedFederation(t *testing.T) {
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two")}, map[string][]string{"east": {"west"}})
	east := all["east"]
	for federation, want := range map[string]int{"none": 1, "referrals": 1, "auto": 2} {
		response, _ := east.searchARD(t, `{"query":{"text":"rain"},"federation":"`+federation+`"}`)
		if len(response.Results) != want || (len(response.Referrals) == 1) != (federation == "referrals") {
			t.Errorf("federation %s: %d results, referrals %v", federation, len(response.Results), response.Referrals)
		}
	}
	var registries []string
	for _, e := range decodeAs[ard.Manifest](t, bodyOf(t, east.get(t, "none", ard.ManifestPath))).Entries {
		if e.Type == ard.TypeRegistry {
			registries = append(registries, e.Identifier+" "+e.URL)
		}
	}
	want := []string{"urn:air:east.example:_registry " + east.URL + "/ard/", "urn:air:west.example:_registry " + all["west"].URL + "/ard/"}
	if diff := cmp.Diff(want, registries); diff != "" {
		t.Errorf("registries of the manifest (-want +got):\n%s", diff)
	}
}

// All pages of merged results together have each agent of both clusters once.
func TestPagesOfTwoRegistriesLeadToEachAgentOnce(t *testing.T) {
	fleet := func(n int) *index.Snapshot {
		var entries []*index.Entry
		for i := range n {
			entries = append(entries, exportedAgent(t, fmt.Sprintf("agent-%02d", i)))
		}
		return snapshotOf(entries...)
	}
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": fleet(7), "west": fleet(12)}, map[string][]string{"east": {"west"}})
	var seen []string
	for token, pages := "", 0; pages == 0 || token != ""; pages++ {
		response, _ := all["east"].searchARD(t, fmt.Sprintf(`{"query":{"text":"rain"},"pageSize":4,"pageToken":%q}`, token))
		seen = append(seen, fullIdentifiers(response.Results)...)
		if token = response.PageToken; pages > 20 {
			t.Fatal("the pages do not end")
		}
	}
	slices.Sort(seen)
	if len(seen) != 19 || len(slices.Compact(seen)) != 19 {
		t.Errorf("the pages have %d results: %v", len(seen), seen)
	}
	for _, token := range []string{"f.x", "f.eyJsb2NhbCI6IngifQ"} {
		if status, body := all["east"].post(t, "admin", "/ard/search", `{"query":{"text":"rain"},"pageToken":"`+token+`"}`); status != http.StatusBadRequest || !strings.Contains(body, "pageToken") {
			t.Errorf("page token %s = %d %s", token, status, body)
		}
	}
}

func TestMistakesInTheRouteOfASearchNameTheHeader(t *testing.T) {
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two")}, map[string][]string{"east": {"west"}})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ard/search", strings.NewReader(rainQuery))
	r.Header.Set("Authorization", "Bearer admin")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(federation.ViaHeader, "no domain")
	recorder := httptest.NewRecorder()
	all["east"].handler.ServeHTTP(recorder, r)
	if recorder.Code != http.StatusBadRequest || !strings.Contains(recorder.Body.String(), federation.ViaHeader) {
		t.Errorf("POST /ard/search = %d %s", recorder.Code, recorder.Body)
	}
}

func TestPeersOfARegistryWithoutPeers(t *testing.T) {
	if got := bodyOf(t, newWorld(t, rain(t, "one")).get(t, "none", "/v1/peers")); got != "{\"peers\":[]}\n" {
		t.Errorf("GET /v1/peers = %s", got)
	}
}

// Another registry receives only agents with an external URL: public ones, and federated ones if
// its token has the right of a peer or shows it all agents. The responses contain no names of
// Services.
func TestOnlyExportedAgentsLeaveTheCluster(t *testing.T) {
	const external = "https://agents.example/"
	var entries []*index.Entry
	for name, facts := range map[string]index.Facts{
		"inside":    {Visibility: access.VisibilityCluster, ExternalURL: external + "inside"},
		"shared":    {Visibility: access.VisibilityFederated, ExternalURL: external + "shared/"},
		"unexposed": {Visibility: access.VisibilityFederated},
		"public":    {Visibility: access.VisibilityOutside, ExternalURL: external + "public"},
		"walled":    {Visibility: access.VisibilityPublic},
	} {
		facts.Key = index.Key{Namespace: "team-a", Name: name}
		entries = append(entries, weatherAgentWith(t, facts, "Forecasts rain.", []string{"weather"}, nil))
	}
	w := newWorld(t, snapshotOf(entries...))
	both := []string{"team-a:public " + external + "public/.well-known/agent-card.json", "team-a:shared " + external + "shared/.well-known/agent-card.json"}
	for _, sender := range []struct {
		token, via string
		want       []string
	}{
		{"peer", "east.example", both},
		{"peer", "", both}, // a registry that sends no ViaHeader, such as one of another vendor
		{"admin", "east.example", both},
		{"home", "east.example", both[:1]},
		{"none", "east.example", both[:1]},
		{"", "east.example", both[:1]},
	} {
		token, want := sender.token, sender.want
		for route, request := range map[string]*http.Request{
			"search":  httptest.NewRequest(http.MethodPost, "/ard/search", strings.NewReader(`{"query":{"text":"rain"},"federation":"none"}`)),
			"list":    httptest.NewRequest(http.MethodGet, "/ard/agents", nil),
			"catalog": httptest.NewRequest(http.MethodGet, "/ard/catalogs/team-a", nil),
		} {
			request.Header.Set("Content-Type", "application/json")
			if sender.via != "" {
				request.Header.Set(federation.ViaHeader, sender.via)
			}
			if token != "" {
				request.Header.Set("Authorization", "Bearer "+token)
			}
			recorder := httptest.NewRecorder()
			w.handler.ServeHTTP(recorder, request)
			response := decodeAs[struct{ Results, Items, Entries []ard.Entry }](t, recorder.Body.String())
			got := []string{}
			for _, e := range slices.Concat(response.Results, response.Items, response.Entries) {
				got = append(got, strings.TrimPrefix(e.Identifier, "urn:air:agents.example.com:")+" "+e.URL)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %q (-want +got):\n%s", route, token, diff)
			}
			if strings.Contains(recorder.Body.String(), ".team-a/") {
				t.Errorf("%s of %q has the name of a Service: %s", route, token, recorder.Body)
			}
		}
	}
}

// Agents that a peer does not receive count nothing of what its search reads.
func TestAgentsThatAPeerDoesNotReceiveEndNoPage(t *testing.T) {
	example := strings.Repeat("x", 512)
	var examples []string
	for range 400 {
		examples = append(examples, example)
	}
	var entries []*index.Entry
	for i := range 2 * scanBytes / (200 << 10) {
		facts := index.Facts{Key: index.Key{Namespace: "team-a", Name: fmt.Sprintf("inside-%d", i)}, Visibility: access.VisibilityFederated}
		entries = append(entries, weatherAgentWith(t, facts, "Forecasts rain.", nil, examples))
	}
	facts := index.Facts{Key: index.Key{Namespace: "team-z", Name: "outside"}, Visibility: access.VisibilityFederated, ExternalURL: "https://agents.example/outside"}
	entries = append(entries, weatherAgentWith(t, facts, "Forecasts the rain of a day, and of many others.", nil, nil))
	w := newWorld(t, snapshotOf(entries...))
	code, body := w.post(t, "peer", "/ard/search", `{"query":{"text":"rain"},"federation":"none"}`)
	response := decodeAs[ard.SearchResponse](t, body)
	if code != http.StatusOK || len(response.Results) != 1 || response.PageToken != "" {
		t.Errorf("a peer gets %d with %d results and the page token %q", code, len(response.Results), response.PageToken)
	}
}

// For a caller with the right of a peer, this registry sends no search with its own tokens, and
// returns neither the agents of its peers nor the peers. This does not depend on the headers of
// a forwarded query.
func TestAPeerFindsNoAgentsOfOtherPeers(t *testing.T) {
	var tokens []string
	north := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"results":[]}`))
	}))
	t.Cleanup(north.Close)
	dir := t.TempDir()
	token, peersFile := filepath.Join(dir, "token"), filepath.Join(dir, "peers.yaml")
	text := fmt.Sprintf("maxHops: 2\npeers: [{name: north, url: '%s/ard', publisher: north.example, mode: Forward, tokenFile: %s}]", north.URL, token)
	if err := errors.Join(os.WriteFile(token, []byte("secret"), 0o600), os.WriteFile(peersFile, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	w := newWorldWith(t, rain(t, "one"), func(a *api) {
		a.federation = federation.New(federation.Options{File: peersFile, Publisher: a.publisher, Clock: clock.RealClock{}, Log: logr.Discard()})
	})
	search := func(header ...string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/ard/search", strings.NewReader(rainQuery))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer peer")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		recorder := httptest.NewRecorder()
		w.handler.ServeHTTP(recorder, r)
		if recorder.Code != http.StatusOK || !strings.Contains(recorder.Body.String(), "team-a:one") {
			t.Errorf("POST /ard/search with %v = %d %s", header, recorder.Code, recorder.Body)
		}
	}
	search()
	if len(tokens) != 0 {
		t.Errorf("a search without headers goes to another peer with %q", tokens)
	}
	search(federation.HopsHeader, "1")
	search(federation.HopsHeader, "1", federation.ViaHeader, "east.example")
	if diff := cmp.Diff([]string{"", ""}, tokens); diff != "" {
		t.Errorf("tokens of the searches that another peer got (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/v1/peers", "/v1/peers/agents?q=rain", "/v1/agents?watch=true"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a watch would not end
		defer cancel()
		r, recorder := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer peer")
		w.handler.ServeHTTP(recorder, r)
		if recorder.Code != http.StatusForbidden {
			t.Errorf("GET %s = %d %s, want 403", path, recorder.Code, recorder.Body)
		}
	}
	if len(tokens) != 2 {
		t.Errorf("another peer got %d searches, want 2", len(tokens))
	}
}

// A client of one cluster finds an agent of another one, and calls it at its external URL.
func TestAnAgentOfAnotherClusterIsFoundAndCalled(t *testing.T) {
	var agent *httptest.Server
	agent = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rain/.well-known/agent-card.json" {
			_, _ = fmt.Fprintf(w, `{"name":"Rain","url":"%s/rain/"}`, agent.URL)
			return
		}
		_, _ = w.Write([]byte("It rains."))
	}))
	t.Cleanup(agent.Close)
	exported := weatherAgentWith(t, index.Facts{
		Key: index.Key{Namespace: "team-a", Name: "rain"}, ExternalURL: agent.URL + "/rain/", Visibility: access.VisibilityFederated,
	}, "Forecasts rain.", nil, nil)
	hidden := weatherAgentWith(t, index.Facts{Key: index.Key{Namespace: "team-a", Name: "secret"}, ExternalURL: agent.URL}, "Forecasts rain.", nil, nil)
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": snapshotOf(), "west": snapshotOf(exported, hidden)}, map[string][]string{"east": {"west"}})
	response, _ := all["east"].searchARD(t, rainQuery)
	if len(response.Results) != 1 || response.Results[0].Identifier != "urn:air:west.example:team-a:rain" || response.Results[0].Metadata["peer"] != "west" {
		t.Fatalf("results = %+v", response.Results)
	}
	get := func(method, url string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := agent.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return bodyOf(t, response)
	}
	found := decodeAs[struct{ URL string }](t, get(http.MethodGet, response.Results[0].URL))
	if got := get(http.MethodPost, found.URL); got != "It rains." {
		t.Errorf("the agent responds %q", got)
	}
}

// A client without a token finds the public agents of this cluster, and causes no request to
// a peer.
func TestASearchWithoutATokenStaysInTheCluster(t *testing.T) {
	public := weatherAgentWith(t, index.Facts{Key: index.Key{Namespace: "team-a", Name: "open"}, Visibility: access.VisibilityPublic}, "Forecasts rain.", nil, nil)
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": snapshotOf(public), "west": rain(t, "one")}, map[string][]string{"east": {"west"}})
	for _, federation := range []string{"auto", "referrals"} {
		status, body := all["east"].post(t, "", "/ard/search", `{"query":{"text":"rain"},"federation":"`+federation+`"}`)
		if status != http.StatusOK || strings.Contains(body, "west.example") || !strings.Contains(body, "urn:air:east.example:team-a:open") {
			t.Errorf("federation %s without a token = %d %s", federation, status, body)
		}
	}
	if got := all["west"].searched.Load(); got != 0 {
		t.Errorf("west got %d searches", got)
	}
}

func TestSearchOfThePeersReportsTheOutcomeOfEachPeer(t *testing.T) {
	all := newClusters(t, 1, map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two"), "north": rain(t, "three")}, map[string][]string{"east": {"west", "north"}})
	all["north"].Close()
	type found struct {
		Items []ard.Result
		Peers []federation.Report
	}
	got := decodeAs[found](t, bodyOf(t, all["east"].get(t, "none", "/v1/peers/agents?q=rain&limit=5")))
	if diff := cmp.Diff([]string{"urn:air:west.example:team-a:two"}, fullIdentifiers(got.Items)); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if len(got.Peers) != 2 || got.Peers[0] != (federation.Report{Peer: "west", Outcome: federation.Success, Results: 1}) || got.Peers[1].Outcome != federation.Unreachable || got.Peers[1].Message == "" {
		t.Errorf("peers = %+v", got.Peers)
	}
	for query, field := range map[string]string{"": "q", "q=": "q", "q=x&limit=101": "limit", "q=x&limit=x": "limit", "q=x&q=y": "q", "q=x&tag=y": "tag", "q=" + strings.Repeat("x", 513): "q"} {
		response := all["east"].get(t, "none", "/v1/peers/agents?"+query)
		if body := bodyOf(t, response); response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"field":"`+field+`"`) {
			t.Errorf("?%.20s = %d %s", query, response.StatusCode, body)
		}
	}
	if status := all["east"].get(t, "", "/v1/peers/agents?q=rain").StatusCode; status != http.StatusUnauthorized {
		t.Errorf("without a token = %d", status)
	}
	other := caller(t, "other", nil)
	all["east"].api.searchLimits.responses = limit.NewBudget(1<<10, time.Millisecond)
	full, err := all["east"].api.searchLimits.reserve(t.Context(), principalOf(&other), 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	if response := all["east"].get(t, "none", "/v1/peers/agents?q=rain"); response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" {
		t.Errorf("without memory = %d", response.StatusCode)
	}
	full()
	all["east"].api.searchLimits.responses = limit.NewBudget(1<<10, time.Minute)
	if full, err = all["east"].api.searchLimits.reserve(t.Context(), principalOf(&other), 1<<10); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(10*time.Millisecond, func() {
		all["east"].api.searchLimits.responses.Set(1 << 20)
		full()
	})
	if response := all["east"].get(t, "none", "/v1/peers/agents?q=rain"); response.StatusCode != http.StatusOK {
		t.Errorf("with memory after a wait = %d", response.StatusCode)
	}
	if got := bodyOf(t, newWorld(t, rain(t, "one")).get(t, "none", "/v1/peers/agents?q=rain")); got != "{\"items\":[],\"peers\":[]}\n" {
		t.Errorf("without peers = %s", got)
	}
}
