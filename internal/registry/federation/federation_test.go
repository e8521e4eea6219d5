// Copyright The a2a-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"github.com/a2a-operator/a2a-operator/internal/a2a"
	"github.com/a2a-operator/a2a-operator/internal/a2a/limit"
	"github.com/a2a-operator/a2a-operator/internal/registry/ard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakePeer is a registry whose responses a test writes.
type fakePeer struct {
	*httptest.Server
	name     string
	requests atomic.Int64
}

func newFakePeer(t *testing.T, name string, handler http.HandlerFunc) *fakePeer {
	t.Helper()
	p := &fakePeer{name: name}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.requests.Add(1)
		handler(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// line returns the entry of the peer in the peers file, with the fields in more.
func (p *fakePeer) line(more string) string {
	return fmt.Sprintf("{name: %s, url: '%s/ard', publisher: %s.example, mode: Forward%s}", p.name, p.URL, p.name, more)
}

// newFederation returns the federation of self.example with the peers in lines, the entries of a
// peers file.
func newFederation(t *testing.T, lines ...string) *Federation {
	t.Helper()
	return newFederationOf(t, "peers:\n- "+strings.Join(lines, "\n- "))
}

func newFederationOf(t *testing.T, text string) *Federation {
	t.Helper()
	f := New(Options{
		File: write(t, filepath.Join(t.TempDir(), "peers.yaml"), text), Publisher: &ard.Publisher{Domain: "self.example", BaseURL: "https://self.example"},
		ClusterDomain: "corp.internal", Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	t.Cleanup(func() { f.current.Swap(&peerSet{}).close(nil) })
	return f
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func search(text string, size int, token string) *ard.Search {
	return &ard.Search{Query: ard.Query{Text: text}, PageSize: &size, PageToken: token}
}

// entry returns a result of a peer.
func entry(identifier string) map[string]any {
	return map[string]any{
		"identifier": identifier, "displayName": "x", "type": ard.TypeAgentCard, "url": "https://agents.example/card.json", "score": 50, "source": "https://elsewhere.example/",
	}
}

// results is a handler that answers every search with entries, or with the first of them if the
// search asks for fewer.
func results(entries ...map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			PageSize int `json:"pageSize"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"results": append([]map[string]any{}, entries[:min(len(entries), request.PageSize)]...)})
	}
}

func local(ids ...string) LocalPage {
	var page LocalPage
	for _, id := range ids {
		page.Results = append(page.Results, ard.Result{Entry: ard.Entry{Identifier: id}, Score: 7, Source: "self"})
		page.Tokens = append(page.Tokens, "after-"+id)
	}
	return page
}

func ids(all []ard.Result) []string {
	names := []string{}
	for i := range all {
		names = append(names, all[i].Identifier)
	}
	return names
}

// free reserves the memory of a response.
func free(int) error { return nil }

func mustSearch(t *testing.T, f *Federation, q Query, page LocalPage) (ard.SearchResponse, []Report) {
	t.Helper()
	response, reports, err := f.Search(t.Context(), q, page, free)
	if err != nil {
		t.Fatal(err)
	}
	return response, reports
}

func TestSearchMergesByRankAndNamesTheOrigin(t *testing.T) {
	west := newFakePeer(t, "west", results(entry("urn:air:west.example:a:one"), entry("urn:AIR:West.Example:a:two"), entry("urn:air:stranger.example:three")))
	east := newFakePeer(t, "east", results(entry("urn:air:east.example:a:one")))
	f := newFederation(t, west.line(""), east.line(""))
	response, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local("urn:air:self.example:a:one", "urn:air:self.example:a:two"))
	want := []string{
		"urn:air:self.example:a:one", "urn:air:west.example:a:one", "urn:air:east.example:a:one",
		"urn:air:self.example:a:two", "urn:air:west.example:a:two", "urn:air:stranger.example:three",
	}
	if diff := cmp.Diff(want, ids(response.Results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for i, want := range []map[string]any{
		nil,
		{"peer": "west", "publisher": "west.example", "publisherVerified": true},
		{"peer": "east", "publisher": "east.example", "publisherVerified": true},
		nil,
		{"peer": "west", "publisher": "west.example", "publisherVerified": true},
		{"peer": "west", "publisher": "stranger.example", "publisherVerified": false},
	} {
		if diff := cmp.Diff(want, response.Results[i].Metadata); diff != "" {
			t.Errorf("metadata of result %d (-want +got):\n%s", i, diff)
		}
	}
	if got := response.Results[1]; got.Source != west.URL+"/ard/" || got.Score != 100 || response.Results[3].Score != 98 {
		t.Errorf("source %s, scores %d and %d", got.Source, got.Score, response.Results[3].Score)
	}
	if got, want := HeaderOf(reports), "west;outcome=success;results=3, east;outcome=success;results=1"; got != want {
		t.Errorf("%s = %q, want %q", PeersHeader, got, want)
	}
	if response.PageToken != "" {
		t.Errorf("the only page has the token %s", response.PageToken)
	}
}

// All pages together have each result once, whatever their size.
func TestPagesOfMergedResultsHaveEachResultOnce(t *testing.T) {
	entries := func(name string, n int) (all []map[string]any) {
		for i := range n {
			all = append(all, entry(fmt.Sprintf("urn:air:%s.example:a:n%d", name, i)))
		}
		return all
	}
	shadow := entry("urn:air:self.example:a:shadow")
	west := newFakePeer(t, "west", results(append([]map[string]any{shadow}, entries("west", 7)...)...))
	east := newFakePeer(t, "east", results(entries("east", 120)...))
	f := newFederation(t, west.line(""), east.line(""))
	all := []string{"l0", "l1", "l2", "l3", "l4"}
	for _, size := range []int{1, 3, 10, 100} {
		seen, pages := map[string]int{}, 0
		for token := ""; pages == 0 || token != ""; pages++ {
			from, ended, err := LocalToken(token)
			if err != nil || pages > 200 {
				t.Fatalf("page %d: %v", pages, err)
			}
			rest := all
			for i, id := range all {
				if from == "after-"+id {
					rest = all[i+1:]
				}
			}
			if ended {
				rest = nil
			}
			page := local(rest[:min(size, len(rest))]...)
			if size < len(rest) {
				page.Next = page.Tokens[size-1]
			}
			// Another caller requests each page, and the token buckets of the peers are full again,
			// so no rate limits the test.
			for _, p := range f.current.Load().peers {
				p.bucket.Set(peerRate, time.Now().Add(time.Hour))
			}
			response, reports := mustSearch(t, f, Query{Search: search("x", size, token), Caller: a2a.AccountingPrincipal{Principal: fmt.Sprint(size, pages)}}, page)
			for _, r := range reports {
				if r.Outcome != Success {
					t.Fatalf("page %d: %+v", pages, r)
				}
			}
			for _, id := range ids(response.Results) {
				seen[id]++
			}
			token = response.PageToken
		}
		if len(seen) != 5+7+maxDepth {
			t.Errorf("pages of %d have %d results, want %d", size, len(seen), 5+7+maxDepth)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("pages of %d have %s %d times", size, id, n)
			}
		}
	}
}

// A peer may end a page early, with a page token for the rest, which this registry then requests. If the peer does not return
// the rest, the results before it are used, and the search says so.
func TestPagesThatAPeerEndsEarlyAreFollowed(t *testing.T) {
	for name, test := range map[string]struct {
		pages, want int
		partial     bool
		rest        http.HandlerFunc
	}{
		"short pages":    {pages: 3, want: 5},
		"too many pages": {pages: maxPages + 2, want: 2*maxPages - 1, partial: true},
		"a failure": {pages: 3, want: 1, partial: true, rest: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		// The peer changes its mind about a result that it has given, and about results of others.
		"another mind": {pages: 3, want: 1, partial: true, rest: func(w http.ResponseWriter, _ *http.Request) {
			again := entry("urn:air:west.example:a:n0")
			again["displayName"] = "Another"
			again["url"] = "https://other.example/card.json"
			_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{again, entry("urn:air:self.example:a:n0")}, "pageToken": "x"})
		}},
		"too many bytes": {pages: 3, want: 1, partial: true, rest: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"results":[],"x":%q}`, strings.Repeat("x", maxResponse-100))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			west := newFakePeer(t, "west", func(w http.ResponseWriter, r *http.Request) {
				var request outgoing
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
					t.Error(err)
				}
				page := len(request.PageToken)
				if page > 0 && test.rest != nil {
					test.rest(w, r)
					return
				}
				response := map[string]any{"results": []any{entry(fmt.Sprintf("urn:air:west.example:a:n%d", page)), entry(fmt.Sprintf("urn:air:west.example:a:m%d", page))}}
				if page == 0 {
					response["results"] = []any{entry("urn:air:west.example:a:n0")}
				}
				if page+1 < test.pages {
					response["pageToken"] = strings.Repeat("x", page+1)
				}
				_ = json.NewEncoder(w).Encode(response)
			})
			f := newFederation(t, west.line(""))
			response, reports := mustSearch(t, f, Query{Search: search("x", 50, "")}, local())
			want := []Report{{Peer: "west", Outcome: Success, Results: test.want, Partial: test.partial}}
			if diff := cmp.Diff(want, reports); diff != "" || len(response.Results) != test.want || (response.PageToken != "") != test.partial {
				t.Errorf("%d results, page token %q, reports (-want +got):\n%s", len(response.Results), response.PageToken, diff)
			}
			if partial := strings.HasSuffix(HeaderOf(reports), ";partial"); partial != test.partial {
				t.Errorf("%s: %s", PeersHeader, HeaderOf(reports))
			}
			pages := 1
			for token := response.PageToken; token != ""; pages++ { // the pages end, although the peer never returns the rest
				response, _ = mustSearch(t, f, Query{Search: search("x", 50, token)}, local())
				token = response.PageToken
			}
			if pages > 3 {
				t.Errorf("the search has %d pages", pages)
			}
		})
	}
}

func TestPageTokensOfOthersAreRefused(t *testing.T) {
	for _, token := range []string{"f.", "f.!", "f.bnVsbA==", "f.eyJwZWVycyI6eyJ3ZXN0IjotMX19", "f." + strings.Repeat("A", maxPageToken)} {
		if _, _, err := LocalToken(token); err == nil && token != "f.bnVsbA==" {
			t.Errorf("token %.20s is accepted", token)
		}
	}
}

// The registry drops results of a peer that name agents of this registry or of another peer. It
// also drops results whose URL has a host inside this cluster, or a link-local, metadata or
// unspecified address.
func TestResultsThatAPeerMayNotGiveAreDropped(t *testing.T) {
	with := func(member string, value any) map[string]any {
		e := entry("urn:air:west.example:a:bad")
		e[member] = value
		return e
	}
	var bad []map[string]any
	for _, id := range []string{
		"urn:air:self.example:a:b", "URN:AIR:SELF.example:a:b", "urn:air:east.example:a:b", "urn:air:west.example", "urn:air:west.example:", "urn:x:west.example:a",
		"urn:air:west.example:a b", "", "urn:air:west.example:" + strings.Repeat("a", maxIdentifier),
	} {
		bad = append(bad, entry(id))
	}
	for _, url := range []string{
		"", "x", "ftp://a.example/", "https://169.254.169.254/latest", "https://[::ffff:169.254.169.254]/", "https://2852039166/", "https://0.0.0.0/",
		"https://db.shop.svc/", "https://db.shop.svc.cluster.local/", "https://db.shop.svc.cluster.local./", "https://db.shop.svc./", "https://db./", "https://db.shop.svc.corp.internal/", "https://db/", "https://u:p@a.example/", "https://[fd00:ec2::254]/", "https://10.0.0.7/", "https://[fd00::7]/", "https://100.64.0.7/",
	} {
		bad = append(bad, with("url", url))
	}
	bad = append(bad, with("type", "card"), with("displayName", ""), with("displayName", 5), with("tags", "x"), with("description", strings.Repeat("x", maxResult)))
	good := entry("urn:air:west.example:a:good")
	good["displayName"] = "\x1b[2Jgood\u202e"
	good["metadata"] = map[string]any{
		"peer": "trusted", "publisherVerified": true, "nested": map[string]any{"a": 1}, "list": []int{1}, "text": "t", "number": 1, "externalURL": "http://169.254.169.254/",
		"externalURL\u0001": "http://169.254.169.254/", "peer\u202e": "trusted",
	}
	west := newFakePeer(t, "west", results(append(bad, good, good)...))
	east := newFakePeer(t, "east", results())
	f := newFederation(t, west.line(""), east.line(""))
	response, reports := mustSearch(t, f, Query{Search: search("x", 100, "")}, local())
	want := []ard.Result{{
		Entry: ard.Entry{
			Identifier: "urn:air:west.example:a:good", DisplayName: "[2Jgood", Type: ard.TypeAgentCard, URL: "https://agents.example/card.json",
			Metadata: map[string]any{"peer": "west", "publisher": "west.example", "publisherVerified": true, "text": "t", "number": 1.0},
		},
		Score: response.Results[0].Score, Source: west.URL + "/ard/",
	}}
	if diff := cmp.Diff(want, response.Results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if reports[0].Results != 1 {
		t.Errorf("report %+v, want one result", reports[0])
	}
}

// A peer that sends false results, stalls, redirects or sends too much delays a search by at
// most its timeout, and the other peers' results are returned.
func TestAHostilePeerIsNamedAndCostsItsTimeoutAtMost(t *testing.T) {
	metadata := newFakePeer(t, "metadata", func(http.ResponseWriter, *http.Request) {})
	var sent atomic.Int64
	flood := func(w io.Writer, chunk []byte) {
		for sent.Store(0); sent.Load() < 64<<20; {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    Outcome
	}{
		"64 MB": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"results":[],"x":"`)
			flood(w, []byte(strings.Repeat("x", 32<<10)))
		}, ResponseTooLarge},
		"a gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_ = http.NewResponseController(w).Flush()
			z := gzip.NewWriter(w)
			flood(z, make([]byte, 32<<10))
		}, InvalidResponse},
		"a redirect to a metadata service": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, metadata.URL+"/latest/meta-data", http.StatusTemporaryRedirect)
		}, ServerError},
		"no end": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"results":[`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, Timeout},
		"one byte at a time": {func(w http.ResponseWriter, r *http.Request) {
			ticker := time.NewTicker(5 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-ticker.C:
					_, _ = io.WriteString(w, " ")
					_ = http.NewResponseController(w).Flush()
				}
			}
		}, Timeout},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, Timeout},
		"a broken stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"results":[`)
		}, Unreachable},
		"two answers": {func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"one", "two"} {
				_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{entry("urn:air:bad.example:a:" + name)}})
			}
		}, InvalidResponse},
		"a failure in the middle": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"results":[{"identifier":"urn:air:bad.example:a:one","error":`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, Unreachable},
		"no JSON":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, InvalidResponse},
		"no list":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"results":{}}`) }, InvalidResponse},
		"no member": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }, InvalidResponse},
		"deep JSON": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("[", maxResponse-1))
		}, InvalidResponse},
		"unauthorized":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, Unauthorized},
		"too many":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, Limited},
		"a refused query": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, Rejected},
		"a failure":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			bad, good := newFakePeer(t, "bad", test.handler), newFakePeer(t, "good", results(entry("urn:air:good.example:a:one")))
			timeout := "10s"
			if test.want == Timeout {
				timeout = "300ms"
			}
			f := newFederation(t, bad.line(", timeout: "+timeout), good.line(", timeout: 10s"))
			start := time.Now()
			response, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local("l"))
			if took := time.Since(start); test.want == Timeout && took > 5*time.Second {
				t.Errorf("the search took %s", took)
			}
			if diff := cmp.Diff([]string{"l", "urn:air:good.example:a:one"}, ids(response.Results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if reports[0].Outcome != test.want || reports[0].Message == "" || reports[1].Outcome != Success {
				t.Errorf("reports = %+v, want %s of the first peer", reports, test.want)
			}
			if test.want == ResponseTooLarge && !strings.Contains(reports[0].Message, "more than 1048576 bytes") {
				t.Errorf("report %+v does not name the limit", reports[0])
			}
			if state := f.States()[0]; test.want != Limited && test.want != Rejected && (state.State != unreachable || state.Error == "") {
				t.Errorf("state = %+v, want Unreachable", state)
			}
		})
	}
	if metadata.requests.Load() != 0 {
		t.Error("the registry followed a redirect")
	}
	if sent.Load() >= 64<<20 {
		t.Error("the registry read 64 MB")
	}
}

func TestTheCircuitOfAFailingPeerOpens(t *testing.T) {
	bad := newFakePeer(t, "bad", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	f := newFederation(t, bad.line(""))
	for i := range breakerFailures + 2 {
		want := ServerError
		if i >= breakerFailures {
			want = CircuitOpen
		}
		if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != want {
			t.Errorf("search %d: %+v, want %s", i, reports[0], want)
		}
	}
	if got := bad.requests.Load(); got != breakerFailures {
		t.Errorf("the peer got %d requests, want %d", got, breakerFailures)
	}
	if state := f.States()[0]; !state.CircuitOpen || state.State != unreachable {
		t.Errorf("state = %+v", state)
	}
}

// A search whose client leaves does not count as a failure of the peer.
func TestAClientThatLeavesDoesNotOpenTheCircuit(t *testing.T) {
	arrived := make(chan struct{})
	slow := newFakePeer(t, "slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	f := newFederation(t, slow.line(""))
	for range breakerFailures + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		if _, _, err := f.Search(ctx, Query{Search: search("x", 10, "")}, local(), free); err == nil {
			t.Error("the search of a client that left has a result")
		}
	}
	if state := f.States()[0]; state.CircuitOpen || state.State != unknown {
		t.Errorf("state = %+v", state)
	}
}

// A peer receives the query and the identity of this registry, and no data of the caller. With the
// query of a client, it receives the token that is configured for it; with a forwarded query, no
// token.
func TestRequestsToAPeerDoNotIdentifyTheCaller(t *testing.T) {
	var got *http.Request
	var body string
	peer := newFakePeer(t, "west", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got, body = r, string(text)
		_, _ = io.WriteString(w, `{"results":[]}`)
	})
	token := write(t, filepath.Join(t.TempDir(), "token"), "secret-of-west\n")
	f := newFederationOf(t, "maxHops: 2\npeers: ["+peer.line(", tokenFile: "+token)+"]")
	query := search("rain", 10, "")
	query.Query.Filter = ard.Filter{"tags": {"weather"}}
	mustSearch(t, f, Query{Search: query, Route: Route{}}, local())
	want := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}, "User-Agent": {"a2a-operator"},
		"Content-Length": got.Header["Content-Length"], "Authorization": {"Bearer secret-of-west"},
		http.CanonicalHeaderKey(ViaHeader): {"self.example"}, http.CanonicalHeaderKey(HopsHeader): {"1"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if want := `{"query":{"text":"rain","filter":{"tags":["weather"]}},"federation":"auto","pageSize":10}`; body != want {
		t.Errorf("body = %s, want %s", body, want)
	}
	mustSearch(t, f, Query{Search: query, Route: Route{Via: []string{"north.example"}, hops: new(1)}}, local())
	if got.Header.Get("Authorization") != "" || got.Header.Get(ViaHeader) != "north.example, self.example" || got.Header.Get(HopsHeader) != "0" || !strings.Contains(body, `"federation":"none"`) {
		t.Errorf("forwarded: header %v, body %s", got.Header, body)
	}
	// No query goes to a peer that it has passed, and none leaves this registry twice.
	for _, via := range []string{"west.example", "self.example"} {
		if n := f.Peers(Query{Search: query, Route: Route{Via: []string{via}, hops: new(1)}}); n != 0 {
			t.Errorf("a query that has passed %s goes to %d peers", via, n)
		}
	}
}

func TestAPeerWithoutItsTokenGetsNoRequest(t *testing.T) {
	peer := newFakePeer(t, "west", results(entry("urn:air:west.example:a:one")))
	token := filepath.Join(t.TempDir(), "token")
	f := newFederation(t, peer.line(", tokenFile: "+token))
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != NoToken {
		t.Errorf("report = %+v", reports[0])
	}
	write(t, token, "a\nb")
	f.reload()
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != NoToken || peer.requests.Load() != 0 {
		t.Errorf("with a token of two lines: report = %+v, %d requests", reports[0], peer.requests.Load())
	}
	write(t, token, "a")
	f.reload()
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local()); reports[0].Outcome != Success {
		t.Errorf("with a token: report = %+v", reports[0])
	}
}

func TestAChangedFileIsUsedAndAMistakeKeepsTheFormerPeers(t *testing.T) {
	west, east := newFakePeer(t, "west", results()), newFakePeer(t, "east", results())
	self := "{name: self, url: 'https://other.example/ard', publisher: Self.example, mode: Forward}"
	alias := "{name: alias, url: 'https://self.example/ard/', publisher: alias.example, mode: Forward}"
	f := newFederation(t, west.line(""), self, alias)
	names := func() (all []string) {
		for _, s := range f.States() {
			all = append(all, s.Name)
		}
		return all
	}
	if diff := cmp.Diff([]string{"west"}, names()); diff != "" {
		t.Fatalf("peers without this registry (-want +got):\n%s", diff)
	}
	mustSearch(t, f, Query{Search: search("x", 10, "")}, local())
	former := f.current.Load().peers[0]
	write(t, f.options.File, "peers: [{name: west}]")
	f.reload()
	if diff := cmp.Diff([]string{"west"}, names()); diff != "" {
		t.Errorf("peers after a mistake (-want +got):\n%s", diff)
	}
	write(t, f.options.File, "peers:\n- "+east.line("")+"\n- "+west.line(""))
	f.reload()
	if diff := cmp.Diff([]string{"east", "west"}, names()); diff != "" {
		t.Errorf("peers (-want +got):\n%s", diff)
	}
	if f.current.Load().peers[1] != former || f.States()[1].State != reachable {
		t.Error("an unchanged peer lost its connections and its state")
	}
}

func TestReferralsNameAllPeers(t *testing.T) {
	f := newFederation(t, "{name: west, url: 'https://west.example/api', publisher: west.example, mode: Referral}")
	got := f.Referrals(true)
	if len(got) != 1 || got[0].Identifier != "urn:air:west.example:_registry" || got[0].URL != "https://west.example/api/search" || got[0].Type != ard.TypeRegistry {
		t.Errorf("Referrals(true) = %+v", got)
	}
	if got := f.Referrals(false); got[0].URL != "https://west.example/api/" {
		t.Errorf("Referrals(false) = %+v", got)
	}
	if n := f.Peers(Query{Search: search("x", 1, "")}); n != 0 {
		t.Errorf("a search goes to %d peers", n)
	}
}

// The registry drops results that do not satisfy the filter of the query, which a peer may ignore.
func TestResultsThatDoNotSatisfyTheFilterAreDropped(t *testing.T) {
	tagged := func(id, tag string) map[string]any {
		e := entry(id)
		e["tags"] = []string{tag}
		return e
	}
	west := newFakePeer(t, "west", results(tagged("urn:air:west.example:a:one", "x"), tagged("urn:air:west.example:a:two", "y"), tagged("urn:air:stranger.example:a:three", "x")))
	f := newFederation(t, west.line(""))
	query := search("x", 10, "")
	query.Query.Filter = ard.Filter{"tags": {"x"}, "publisher": {"West.example"}}
	response, _ := mustSearch(t, f, Query{Search: query}, local())
	if diff := cmp.Diff([]string{"urn:air:west.example:a:one"}, ids(response.Results)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// A search of peers reserves memory before it sends a request. Without free memory, it sends none,
// and returns the local results and the outcome Limited.
func TestSearchesOfPeersAreBoundedInMemory(t *testing.T) {
	west := newFakePeer(t, "west", results(entry("urn:air:west.example:a:one")))
	f := newFederation(t, west.line(""))
	held := &limit.Reservation{}
	if !f.memory.TryGrow(held, a2a.AccountingPrincipal{Principal: "other"}, f.memory.Largest()) {
		t.Fatal("memory is reserved")
	}
	var further []*limit.Reservation
	for n := 0; ; n++ {
		further = append(further, &limit.Reservation{})
		if !f.memory.TryGrow(further[n], a2a.AccountingPrincipal{Principal: fmt.Sprint(n)}, searchMemory) {
			break
		}
	}
	if used := f.memory.Used(); used > maxMemory {
		t.Errorf("searches reserve %d bytes of %d", used, maxMemory)
	}
	response, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local("l"))
	if diff := cmp.Diff([]string{"l"}, ids(response.Results)); diff != "" || reports[0].Outcome != Limited || west.requests.Load() != 0 {
		t.Errorf("report %+v, %d requests, results (-want +got):\n%s", reports[0], west.requests.Load(), diff)
	}
	for _, each := range append(further, held) {
		each.Release()
	}
	if _, reports := mustSearch(t, f, Query{Search: search("x", 10, "")}, local("l")); reports[0].Outcome != Success {
		t.Errorf("report %+v", reports[0])
	}
	// The results of the peer have their memory until there is some for the response.
	errFull := errors.New("full")
	_, _, err := f.Search(t.Context(), Query{Search: search("x", 10, "")}, local("l"), func(size int) error {
		if size == 0 || f.memory.Used() == 0 {
			t.Errorf("for a response of %d bytes, the results of the peer have %d bytes", size, f.memory.Used())
		}
		return errFull
	})
	if !errors.Is(err, errFull) {
		t.Errorf("error without memory for the response = %v", err)
	}
	if f.memory.Used() != 0 {
		t.Error("a search that ended keeps memory")
	}
}
