// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

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
	// peersFile is read when the registry starts.
	peersFile string
}

// newClusters returns the registries of clusters in which each one names those of peers. A
// registry sends the token "admin".
func newClusters(t *testing.T, hops int, fleets map[string]*index.Snapshot, peers map[string][]string) map[string]*cluster {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("admin"), 0o600); err != nil {
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

// searchARD returns the response to a search of the administrator, and the header with its
// peers.
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

// rain is the fleet of a cluster with one agent that a search for rain finds.
func rain(t *testing.T, name string) *index.Snapshot {
	t.Helper()
	return snapshotOf(weatherAgent(t, index.Key{Namespace: "team-a", Name: name}, "Forecasts rain.", []string{"weather"}, nil))
}

const rainQuery = `{"query":{"text":"rain"}}`

// Each registry names the other: a search asks each of them once.
func TestASearchOfTwoRegistriesThatNameEachOtherEnds(t *testing.T) {
	for hops := 1; hops <= 3; hops++ {
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

// A peer that goes away costs its timeout, and the response names it.
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
	fleets := map[string]*index.Snapshot{"east": rain(t, "one"), "west": rain(t, "two"), "north": rain(t, "three")}
	for _, test := range []struct {
		hops     int
		header   []string
		searched map[string]int64
	}{
		{1, nil, map[string]int64{"west": 1, "north": 0}},
		{2, nil, map[string]int64{"west": 1, "north": 1}},
		{2, []string{federation.HopsHeader, "1"}, map[string]int64{"west": 1, "north": 0}},
		{2, []string{federation.HopsHeader, "0"}, map[string]int64{"west": 0, "north": 0}},
	} {
		all := newClusters(t, test.hops, fleets, map[string][]string{"east": {"west"}, "west": {"north"}, "north": {"east"}})
		all["east"].searchARD(t, rainQuery, test.header...)
		for name, want := range test.searched {
			if got := all[name].searched.Load(); got != want {
				t.Errorf("%d hops, header %v: %s got %d searches, want %d", test.hops, test.header, name, got, want)
			}
		}
	}
}

func TestFederationOfASearchIsWhatItAsksFor(t *testing.T) {
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

// Pages of merged results lead to each agent of both clusters once.
func TestPagesOfTwoRegistriesLeadToEachAgentOnce(t *testing.T) {
	fleet := func(n int) *index.Snapshot {
		var entries []*index.Entry
		for i := range n {
			entries = append(entries, weatherAgent(t, index.Key{Namespace: "team-a", Name: fmt.Sprintf("agent-%02d", i)}, "Forecasts rain.", nil, nil))
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
